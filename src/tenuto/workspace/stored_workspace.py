"""The workspace of one principal: what needs a store alone, for every back end that has one.

The command line loads this module for a list: parts are imported when they are used.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from tenuto.model.checks import aware, within
from tenuto.model.errors import not_there
from tenuto.model.json import Given, Object, as_json
from tenuto.model.status import Status
from tenuto.store.parts.definitions import DefinitionRow
from tenuto.store.parts.instances import InstanceQuery
from tenuto.workspace.instance_lists import instance_rows, schedules_of
from tenuto.workspace.source import Source
from tenuto.workspace.values import (
    ANY_INSTANCE,
    MOST_ITEMS,
    DefinitionVersion,
    InstanceFilter,
    Page,
    Summary,
    statuses_of,
)
from tenuto.workspace.views import summary_of

if TYPE_CHECKING:
    from tenuto.data.queries import QueryRunner
    from tenuto.workspace.approvals import TenantApprovals
    from tenuto.workspace.audit import TenantAudit
    from tenuto.workspace.data_sources import DataQueries, DataSources
    from tenuto.workspace.dead_letters import DeadLetters
    from tenuto.workspace.definitions import Definitions
    from tenuto.workspace.events import Events
    from tenuto.workspace.keys import TenantKeys
    from tenuto.workspace.secrets import TenantSecrets
    from tenuto.workspace.stored_calendars import StoredCalendars
    from tenuto.workspace.stored_instance import StoredInstance
    from tenuto.workspace.stored_limits import StoredLimits
    from tenuto.workspace.webhooks import Subscriptions, Webhooks
    from tenuto.workspace.workers import TenantWorkers

    _Listeners = TypeVar("_Listeners", bound=Webhooks | Subscriptions)


class StoredWorkspace(ABC):
    """What one principal of one tenant can do; records of another tenant are not there."""

    def __init__(self, source: Source, *, tenant: str, actor: str) -> None:
        """`actor` is the principal: commands are recorded in its name."""
        self.source = source
        self.tenant = tenant
        self.actor = actor

    # -- what a back end has of its own

    @abstractmethod
    def _own(self, id: str) -> StoredInstance:
        """An instance of this tenant; never for an id that came from outside."""

    @abstractmethod
    def _listeners_changed(self) -> None:
        """A webhook or a subscription was added, changed or enabled."""

    def _listener_hastened(self, id: str) -> None:  # noqa: ARG002 - for those that have an engine
        """Deliveries to a webhook or a subscription are due at once."""
        self._listeners_changed()

    def _adding_listeners(self) -> asyncio.Lock:
        """Held while one is counted and added, so that the quota holds."""
        return asyncio.Lock()

    # -- definitions

    @property
    def definitions(self) -> Definitions:
        """The definitions as the store has them."""
        from tenuto.workspace.definitions import Definitions

        return Definitions(self.source, self.tenant)

    async def definition(self, id: str, version: int | None = None) -> DefinitionVersion:
        """A definition as it was saved; the newest version unless one is given. NotFound."""
        return _version(await self.definitions.row(id, version))

    async def definition_ids(self) -> list[str]:
        """The ids of all definitions, in order."""
        return await self.definitions.ids()

    async def definition_page(self, *, limit: int = 100, cursor: str | None = None) -> Page[Object]:
        """A page of definitions, ordered by id: `{id, version, name, description, createdAt}`."""
        from tenuto.workspace.definitions import listed

        within(limit, "limit", 1, MOST_ITEMS)
        rows, next_cursor = await self.definitions.page(limit=limit, cursor=cursor)
        return Page(items=[*map(listed, rows)], next_cursor=next_cursor)

    async def newest_definitions(self, limit: int = 100) -> list[DefinitionVersion]:
        """The newest versions of definitions as they were saved, ordered by id."""
        found: list[DefinitionRow] = []
        has_more = True
        while has_more and len(found) < limit:
            # A page may end before its limit: large documents fill it.
            after = found[-1].id if found else ""
            rows, has_more = await self.definitions.newest(after=after, limit=limit - len(found))
            found += rows
        return list(map(_version, found))

    # -- instances

    async def instances(  # noqa: PLR0913 - one for each filter
        self,
        *,
        status: Status | str | Iterable[Status | str] = (),
        workflow: str | None = None,
        correlation_id: str | None = None,
        key: str | None = None,
        current_step: str | None = None,
        updated_from: datetime | None = None,
        updated_before: datetime | None = None,
        waiting_for: str | None = None,
        roots: bool = False,
        parent_id: str | None = None,
        variables: Mapping[str, Given] | None = None,
        limit: int = 100,
    ) -> list[Summary]:
        """Instances, newest first.

        `variables`: those that have these values, by names that the workflow lists in
        `options.searchable`; InvalidInput where it does not, or where no workflow is named.
        """
        which = InstanceFilter(
            status=statuses_of(status),
            workflow=workflow,
            correlation_id=correlation_id,
            key=key,
            current_step=current_step,
            updated_from=updated_from,
            updated_before=updated_before,
            waiting_for=waiting_for,
            roots=roots,
            parent_id=parent_id,
        )
        found: list[Summary] = []
        cursor: str | None = None
        while len(found) < limit:
            # A page may end before its limit: large rows fill it.
            page = await self._page(which, variables, limit - len(found), cursor)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    async def page(
        self,
        which: InstanceFilter = ANY_INSTANCE,
        *,
        variables: Mapping[str, Given] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Summary]:
        """A page of instances, newest first; `cursor` is the `next_cursor` of the page before.

        It has up to 1,000 of them. Test runs are listed only by their ids.
        """
        within(limit, "limit", 1, MOST_ITEMS)
        return await self._page(which, variables, limit, cursor)

    async def _page(
        self,
        which: InstanceFilter,
        variables: Mapping[str, Given] | None,
        limit: int,
        cursor: str | None = None,
    ) -> Page[Summary]:
        query = InstanceQuery(
            ids=tuple(which.ids),
            statuses=tuple(which.status),
            definition_id=which.workflow,
            correlation_id=which.correlation_id,
            current_step=which.current_step,
            created_from=aware(which.created_from, "createdFrom"),
            created_before=aware(which.created_before, "createdBefore"),
            updated_from=aware(which.updated_from, "updatedFrom"),
            updated_before=aware(which.updated_before, "updatedBefore"),
            waiting_for=which.waiting_for,
            roots=which.roots,
            parent_id=which.parent_id,
            limit=limit,
            after=cursor,
        )
        wanted = None if variables is None else cast("Object", as_json(dict(variables)))
        page = await instance_rows(
            self.source, self.tenant, query, wanted, key=which.key, text=which.text
        )
        ticks = await schedules_of(self.source, self.tenant, page.items)
        shown = [summary_of(row, ticks.get(row.id)) for row in page.items]
        return Page(items=shown, next_cursor=page.next_after)

    async def details(self, ids: Sequence[str]) -> list[Object]:
        """Whole instances as JSON, in the order of `ids`; unknown ids are left out."""
        from tenuto.workspace.whole_instances import every_whole

        return await every_whole(self.source, self.tenant, ids)

    async def _require(self, id: str) -> None:
        """NotFound unless there is such an instance."""
        query = InstanceQuery(ids=(id,), limit=1)
        if not (await instance_rows(self.source, self.tenant, query)).items:
            raise not_there(id)

    # -- events

    @property
    def inbox(self) -> Events:
        """The events of the tenant."""
        from tenuto.workspace.events import Events

        return Events(self.source, self.tenant)

    async def event(self, id: str) -> Object:
        """An event of the inbox; NotFound when there is none.

        `deliveries` has the instances that it woke, cancelled and started, those that refused it,
        and those for which it came too late; `nearMisses` the open waits that it nearly reached.
        """
        return await self.inbox.get(id)

    async def events(
        self, *, pattern: str | None = None, since: datetime | None = None, limit: int = 100
    ) -> list[Object]:
        """Events of the inbox, newest first; without `since` those of the last 24 hours."""
        return await self.inbox.list(pattern=pattern, since=since, limit=limit)

    async def event_page(
        self,
        *,
        pattern: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Object]:
        """A page of the inbox, newest first; without `since` those of the last 24 hours."""
        from tenuto.workspace.events import inbox_view

        within(limit, "limit", 1, MOST_ITEMS)
        found, next_cursor = await self.inbox.latest(
            pattern=pattern, since=since, limit=limit, cursor=cursor
        )
        return Page(items=[*map(inbox_view, found)], next_cursor=next_cursor)

    # -- parts: one for each further kind of record

    @property
    def webhooks(self) -> Webhooks:
        """Addresses that are notified of events: add, change, list, get, remove, enable."""
        from tenuto.workspace.webhooks import Webhooks

        return self._listeners(Webhooks)

    @property
    def subscriptions(self) -> Subscriptions:
        """Addresses that are notified of events until they expire."""
        from tenuto.workspace.webhooks import Subscriptions

        return self._listeners(Subscriptions)

    def _listeners(self, kind: type[_Listeners]) -> _Listeners:
        source = self.source
        allowances = source.settings.allowances(is_all=source.settings.private_webhooks)
        return kind(
            source.store,
            source.clock,
            source.ids,
            allowance=allowances.of(self.tenant),
            changed=self._listeners_changed,
            hastened=self._listener_hastened,
            tenant=self.tenant,
            quotas=source.settings.quotas,
            adding=self._adding_listeners(),
        )

    @property
    def dead_letters(self) -> DeadLetters:
        """Tasks whose failure nothing handled, poison tasks, and late results."""
        from tenuto.workspace.dead_letters import DeadLetters

        return DeadLetters(self.source.store, self.tenant, self._own)

    @property
    def calendars(self) -> StoredCalendars:
        """Business calendars, as the store has them: list, get, days, add."""
        from tenuto.workspace.stored_calendars import StoredCalendars

        return StoredCalendars(self.source, self.tenant)

    @property
    def data_sources(self) -> DataSources:
        """Databases that data queries read: save, list, get, uses, test, remove."""
        from tenuto.workspace.data_sources import DataSources

        return DataSources(self.source, self.tenant, self.actor, self._query_runner)

    @property
    def data_queries(self) -> DataQueries:
        """Statements that workflows run by their ids: save, list, get, uses, run, remove."""
        from tenuto.workspace.data_sources import DataQueries

        return DataQueries(self.source, self.tenant, self.actor, self._query_runner)

    def _query_runner(self) -> QueryRunner | None:
        """What runs data queries in this process; None: nothing does."""
        return None

    @property
    def secrets(self) -> TenantSecrets:
        """Values that steps use and no record shows: put, list, page, get, remove."""
        from tenuto.workspace.secrets import TenantSecrets

        return TenantSecrets(self.source, self.tenant, self.actor)

    @property
    def limits(self) -> StoredLimits:
        """How many instances run at once, and which wait, as the store has it: get, queue."""
        from tenuto.workspace.stored_limits import StoredLimits

        return StoredLimits(self.source, self.tenant)

    @property
    def workers(self) -> TenantWorkers:
        """Workers that were seen within the last hour: list, page."""
        from tenuto.workspace.workers import TenantWorkers

        source = self.source
        return TenantWorkers(source.store.seen_by(self.tenant), source.clock, self.tenant)

    @property
    def approvals(self) -> TenantApprovals:
        """Decisions that instances wait for: page."""
        from tenuto.workspace.approvals import TenantApprovals

        # A program that has the store may decide in the name of any person.
        return TenantApprovals(self.source, self.tenant, self.actor, (), is_trusted=True)

    @property
    def keys(self) -> TenantKeys:
        """The API keys of the tenant: create, list, revoke."""
        from tenuto.workspace.keys import TenantKeys

        source = self.source
        return TenantKeys(
            source.store,
            source.clock,
            source.ids,
            tenant=self.tenant,
            actor=self.actor,
            most=source.settings.quotas.keys,
        )

    @property
    def audit(self) -> TenantAudit:
        """The audit log of the tenant: page, export, verify."""
        from tenuto.workspace.audit import TenantAudit

        return TenantAudit(self.source.store.seen_by(self.tenant).audit, self.tenant)

    async def stats(self, hours: int = 24) -> Object:
        """Counts of the instances of the last `hours`, and of waiting jobs and webhooks."""
        from tenuto.workspace.stats import read_stats

        found: Object = msgspec.to_builtins(await read_stats(self.source, self.tenant, hours))
        return found


def _version(row: DefinitionRow) -> DefinitionVersion:
    return DefinitionVersion(
        id=row.id,
        version=row.version,
        created_at=row.created_at,
        definition=msgspec.json.decode(row.content),
    )
