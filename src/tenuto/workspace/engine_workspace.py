"""The workspace of one principal of one tenant over an engine in this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from tenuto.engine.engine import Engine
from tenuto.model.checks import aware
from tenuto.model.errors import TenutoError, not_there
from tenuto.model.json import JSON, Given, Object, as_json
from tenuto.model.status import Status
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.python_form.workflow import WorkflowFunction
from tenuto.store.parts.instances import InstanceQuery
from tenuto.workspace.audit import TenantAudit
from tenuto.workspace.bulk import BulkOperations, BulkRunner
from tenuto.workspace.dead_letters import DeadLetters
from tenuto.workspace.definitions import Definitions, Saved
from tenuto.workspace.documents import Deployer
from tenuto.workspace.events import Events
from tenuto.workspace.instance import EMBEDDED, WORKFLOW_REMOVED, InstanceRef
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.keys import TenantKeys
from tenuto.workspace.starting import Starting
from tenuto.workspace.stats import read_stats
from tenuto.workspace.task_definitions import TaskDefinitions
from tenuto.workspace.test_runs import TestRuns
from tenuto.workspace.values import (
    ANY_INSTANCE,
    DefinitionVersion,
    InstanceFilter,
    Page,
    Published,
    Start,
    Summary,
)
from tenuto.workspace.views import summary_of
from tenuto.workspace.webhooks import Subscriptions, Webhooks

_Listeners = TypeVar("_Listeners", Webhooks, Subscriptions)


class EngineWorkspace:
    """What one principal of one tenant can do; records of another tenant are not there."""

    def __init__(
        self,
        engine: Engine,
        bulk_runner: BulkRunner,
        *,
        tenant: str = DEFAULT_TENANT,
        actor: str = EMBEDDED,
    ) -> None:
        """`actor` is the principal: commands are recorded in its name."""
        self.engine = engine
        self.tasks = engine.registry
        self.tenant = tenant
        self.actor = actor
        self._bulk_runner = bulk_runner
        self._deployer = Deployer(self._saved_version)

    # -- definitions

    @property
    def definitions(self) -> Definitions:
        """The definitions as the store has them."""
        return Definitions(self.engine, self.tenant)

    async def deploy(
        self, definition: Mapping[str, JSON] | str | Path | WorkflowFunction[..., Any]
    ) -> int:
        """Save a definition and return its version.

        It is a dict, the path of a JSON file, or a workflow function, with which those are saved
        that it starts as steps. The same content again makes no new version. InvalidDefinition
        lists all problems.
        """
        return await self._deployer.deploy(definition)

    async def save(self, document: JSON) -> Saved:
        """Save a definition and return its id and version."""
        return await self.definitions.save(document)

    async def definition(self, id: str, version: int | None = None) -> DefinitionVersion:
        """A definition as it was saved; the newest version unless one is given. NotFound."""
        row = await self.definitions.row(id, version)
        return DefinitionVersion(
            id=row.id,
            version=row.version,
            created_at=row.created_at,
            definition=msgspec.json.decode(row.content),
        )

    async def definition_ids(self) -> list[str]:
        """The ids of all definitions, in order."""
        return await self.definitions.ids()

    async def remove_definition(self, id: str, *, force: bool = False) -> None:
        """Remove a definition; its instances keep their versions.

        Conflict while instances of it run, unless `force` cancels them: a bulk operation, which
        goes on after this returns.
        """
        if not force:
            await self.definitions.remove(id)
            return
        await self.definitions.withdraw(id)
        await self.bulk.start("cancel", InstanceFilter(workflow=id), reason=WORKFLOW_REMOVED)

    # -- instances

    @property
    def starting(self) -> Starting:
        """Starts of instances, with what became of each."""
        return Starting(self.engine, self.tenant, self.actor)

    async def start(
        self,
        workflow: str | WorkflowFunction[..., Any],
        input: Given = None,
        *,
        key: str | None = None,
        correlation_id: str | None = None,
        priority: int = 0,
        deadline: datetime | None = None,
        instance_id: str | None = None,
        version: int | None = None,
    ) -> InstanceRef:
        """Start an instance; when this returns, it is durable.

        A workflow function is deployed first, unless this workspace has done so; that version is
        started. The same `key` with the same content gives the instance that the first call made.
        """
        deployed = version
        if isinstance(workflow, WorkflowFunction):
            if version is None:
                deployed = await self._deployer.version_of(workflow)
            workflow = workflow.id
        asked = Start(
            workflow=workflow,
            input=as_json(input),
            key=key,
            correlation_id=correlation_id,
            priority=priority,
            deadline=deadline,
            instance_id=instance_id,
            version=version,
        )
        return self._own((await self.starting.begin(asked, version=deployed)).instance_id)

    async def start_many(self, asked: Sequence[Start]) -> list[InstanceRef | TenutoError]:
        """Start several at once; a refused start gives an error at its place."""
        return [
            each if isinstance(each, TenutoError) else self._own(each.instance_id)
            for each in await self.starting.begin_many(asked)
        ]

    async def instance(self, id: str) -> InstanceRef:
        """A reference to an instance; NotFound when there is none."""
        query = InstanceQuery(ids=(id,), limit=1)
        if not (await instance_rows(self.engine, self.tenant, query)).items:
            raise not_there(id)
        return self._own(id)

    def at(self, id: str, *, by: str | None = None) -> InstanceRef:
        """A reference to an instance, without a look-up; its methods raise NotFound.

        `by` is in whose name commands are recorded, where that is not the principal.
        """
        return InstanceRef(self.engine, id, tenant=self.tenant, by=by or self.actor)

    async def instances(
        self,
        *,
        status: Status | str | Iterable[Status | str] = (),
        workflow: str | None = None,
        correlation_id: str | None = None,
        current_step: str | None = None,
        variables: Mapping[str, Given] | None = None,
        limit: int = 100,
    ) -> list[Summary]:
        """Instances, newest first.

        `variables`: those that have these values, by names that the workflow lists in
        `options.searchable`; InvalidInput where it does not, or where no workflow is named.
        """
        wanted = (status,) if isinstance(status, str) else tuple(status)
        which = InstanceFilter(
            status=tuple(Status(name) for name in wanted),
            workflow=workflow,
            correlation_id=correlation_id,
            current_step=current_step,
        )
        found: list[Summary] = []
        cursor: str | None = None
        while len(found) < limit:
            # A page may end before its limit: large rows fill it.
            left = limit - len(found)
            page = await self.page(which, variables=variables, limit=left, cursor=cursor)
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

        Test runs are listed only by their ids.
        """
        query = InstanceQuery(
            ids=tuple(which.ids),
            statuses=tuple(which.status),
            definition_id=which.workflow,
            correlation_id=which.correlation_id,
            current_step=which.current_step,
            created_from=aware(which.created_from, "createdFrom"),
            created_before=aware(which.created_before, "createdBefore"),
            limit=limit,
            after=cursor,
        )
        wanted = None if variables is None else cast("Object", dict(variables))
        page = await instance_rows(self.engine, self.tenant, query, wanted)
        return Page(items=[summary_of(row) for row in page.items], next_cursor=page.next_after)

    # -- events

    async def publish(
        self,
        pattern: str,
        payload: Given = None,
        *,
        id: str | None = None,
        correlation_id: str | None = None,
        timestamp: datetime | None = None,
        dry_run: bool = False,
    ) -> Published:
        """Publish an event; when this returns it is durable and its targets are recorded.

        With `dry_run` nothing is stored and nothing is notified: the result has what the event
        would reach now, and what it would nearly reach.
        """
        return await self.inbox.publish(
            pattern,
            payload,
            id=id,
            correlation_id=correlation_id,
            timestamp=timestamp,
            dry_run=dry_run,
        )

    async def publish_all(
        self, document: Given, *, dry_run: bool = False
    ) -> list[Published | TenutoError]:
        """Publish the events of a document: one, or an array of up to 1,000; a result each.

        They have Tenuto's own form, `{id?, pattern, payload?, correlationId?, timestamp?}`, or are
        CloudEvents in JSON. When this returns all are durable that were accepted; an event that is
        refused is an error in its place. InvalidInput when it is no such document.
        """
        return await self.inbox.publish_all(document, dry_run=dry_run)

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

    @property
    def inbox(self) -> Events:
        """The events of the tenant."""
        return Events(self.engine, self.tenant)

    # -- parts: one for each further kind of record

    @property
    def webhooks(self) -> Webhooks:
        """Addresses that are notified of events: add, change, list, get, remove, enable."""
        return self._listeners(Webhooks)

    @property
    def subscriptions(self) -> Subscriptions:
        """Addresses that are notified of events until they expire."""
        return self._listeners(Subscriptions)

    @property
    def dead_letters(self) -> DeadLetters:
        """Tasks whose failure nothing handled, poison tasks, and late results."""
        return DeadLetters(self.engine, self.tenant, self.actor)

    @property
    def task_definitions(self) -> TaskDefinitions:
        """Tasks that the tenant has declared: add, put, list, get, remove, execute."""
        return TaskDefinitions(self.engine, self.tenant, self.actor)

    @property
    def bulk(self) -> BulkOperations:
        """Actions over many instances or dead letters: start, list, get, cancel."""
        return BulkOperations(self._bulk_runner, self.tenant, self.actor)

    @property
    def test_runs(self) -> TestRuns:
        """Runs of definitions that are not saved: start, publish, stop."""
        return TestRuns(self.engine, self.tenant)

    @property
    def keys(self) -> TenantKeys:
        """The API keys of the tenant: create, list, revoke."""
        engine = self.engine
        return TenantKeys(
            engine.store, engine.clock, engine.ids, tenant=self.tenant, actor=self.actor
        )

    @property
    def audit(self) -> TenantAudit:
        """The audit log of the tenant: page, export, verify."""
        return TenantAudit(self.engine.store.seen_by(self.tenant).audit, self.tenant)

    async def stats(self, hours: int = 24) -> Object:
        """Counts of the instances of the last `hours`, and of waiting jobs and webhooks."""
        found: Object = msgspec.to_builtins(await read_stats(self.engine, self.tenant, hours))
        return found

    # -- inner

    async def _saved_version(self, document: JSON) -> int:
        return (await self.engine.plans.save(self.tenant, document)).version

    def _own(self, id: str) -> InstanceRef:
        """An instance of this tenant; never for an id that came from outside."""
        return InstanceRef(self.engine, id, tenant=self.tenant, by=self.actor, is_known=True)

    def _listeners(self, kind: type[_Listeners]) -> _Listeners:
        engine = self.engine
        return kind(
            engine.store,
            engine.clock,
            engine.ids,
            may_be_private=engine.settings.private_webhooks,
            changed=engine.outbox.hint,
            tenant=self.tenant,
        )
