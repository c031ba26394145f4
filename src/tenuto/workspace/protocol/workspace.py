"""The methods of a workspace, and the parts that it has for further kinds of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Given, Object
from tenuto.model.status import Status
from tenuto.workspace.protocol.access import Audit, Keys
from tenuto.workspace.protocol.approvals import Approvals
from tenuto.workspace.protocol.bulk import Bulk
from tenuto.workspace.protocol.calendars import Calendars
from tenuto.workspace.protocol.data import DataQueries, DataSources
from tenuto.workspace.protocol.dead_letters import DeadLetters
from tenuto.workspace.protocol.instance import Instance
from tenuto.workspace.protocol.limits import Limits
from tenuto.workspace.protocol.schedules import Schedules
from tenuto.workspace.protocol.secrets import Secrets
from tenuto.workspace.protocol.subscriptions import Subscriptions
from tenuto.workspace.protocol.task_definitions import TaskDefinitions
from tenuto.workspace.protocol.test_runs import TestRuns
from tenuto.workspace.protocol.webhooks import Webhooks
from tenuto.workspace.protocol.workers import Workers
from tenuto.workspace.values import (
    ANY_INSTANCE,
    DefinitionVersion,
    InstanceFilter,
    Page,
    Published,
    SavedWorkflow,
    Start,
    Summary,
)

if TYPE_CHECKING:
    from tenuto.python_form.workflow import WorkflowFunction


class Workspace(Protocol):
    """The methods that one principal of one tenant can call."""

    # -- definitions

    async def deploy(
        self, definition: Mapping[str, JSON] | str | Path | WorkflowFunction[..., Any]
    ) -> int:
        """Save a definition and return its version."""
        ...

    async def save(self, document: JSON) -> SavedWorkflow:
        """Save a definition and return its id and version; without an id it is a new one."""
        ...

    async def definition(self, id: str, version: int | None = None) -> DefinitionVersion:
        """A definition as it was saved; the newest version unless one is given. NotFound."""
        ...

    async def definition_ids(self) -> list[str]:
        """The ids of all definitions, in order."""
        ...

    async def definition_page(self, *, limit: int = 100, cursor: str | None = None) -> Page[Object]:
        """A page of definitions, ordered by id: `{id, version, name, description, createdAt}`."""
        ...

    async def newest_definitions(self, limit: int = 100) -> list[DefinitionVersion]:
        """The newest versions of definitions as they were saved, ordered by id."""
        ...

    async def remove_definition(self, id: str, *, force: bool = False) -> int:
        """Remove a definition; Conflict while instances of it run, unless `force` cancels them.

        Returns how many schedules start nothing any more.
        """
        ...

    # -- instances

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
    ) -> Instance:
        """Start an instance; when this returns, it is durable."""
        ...

    async def start_many(self, asked: Sequence[Start]) -> Sequence[Instance | TenutoError]:
        """Start up to 1,000 at once; a refused start gives an error at its place."""
        ...

    async def instance(self, id: str) -> Instance:
        """A reference to an instance; NotFound when there is none."""
        ...

    def at(self, id: str) -> Instance:
        """A reference to an instance, without a look-up; its methods raise NotFound."""
        ...

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
        """Instances, newest first; with `updated_from` or `updated_before` by time of change."""
        ...

    async def page(
        self,
        which: InstanceFilter = ANY_INSTANCE,
        *,
        variables: Mapping[str, Given] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Summary]:
        """A page of instances, newest first; `cursor` is the `next_cursor` of the page before."""
        ...

    async def details(self, ids: Sequence[str]) -> list[Object]:
        """Whole instances as JSON, in the order of `ids`; unknown ids are left out."""
        ...

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
        """Publish an event; when this returns it is durable and its targets are recorded."""
        ...

    async def publish_all(
        self, document: Given, *, dry_run: bool = False
    ) -> list[Published | TenutoError]:
        """Publish the events of a document: one, or an array of up to 1,000; a result each."""
        ...

    async def event(self, id: str) -> Object:
        """An event of the inbox with its deliveries and near misses; NotFound."""
        ...

    async def events(
        self, *, pattern: str | None = None, since: datetime | None = None, limit: int = 100
    ) -> list[Object]:
        """Events of the inbox, newest first; without `since` those of the last 24 hours."""
        ...

    async def event_page(
        self,
        *,
        pattern: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Object]:
        """A page of the inbox, newest first; without `since` those of the last 24 hours."""
        ...

    # -- parts: one for each further kind of record

    @property
    def webhooks(self) -> Webhooks:
        """Addresses that are notified of events."""
        ...

    @property
    def subscriptions(self) -> Subscriptions:
        """Addresses that are notified of events until they expire."""
        ...

    @property
    def dead_letters(self) -> DeadLetters:
        """Tasks whose failure nothing handled, poison tasks, and late results."""
        ...

    @property
    def task_definitions(self) -> TaskDefinitions:
        """Tasks that the tenant has declared."""
        ...

    @property
    def schedules(self) -> Schedules:
        """What is started at certain times."""
        ...

    @property
    def calendars(self) -> Calendars:
        """Business calendars: working time."""
        ...

    @property
    def approvals(self) -> Approvals:
        """Decisions that instances wait for."""
        ...

    @property
    def data_sources(self) -> DataSources:
        """Databases that data queries read."""
        ...

    @property
    def data_queries(self) -> DataQueries:
        """Statements that workflows run by their ids."""
        ...

    @property
    def secrets(self) -> Secrets:
        """Values that steps use and no record shows."""
        ...

    @property
    def limits(self) -> Limits:
        """How many instances run at once, and which wait for a slot."""
        ...

    @property
    def workers(self) -> Workers:
        """Workers that were seen within the last hour."""
        ...

    @property
    def bulk(self) -> Bulk:
        """Actions over many instances or dead letters."""
        ...

    @property
    def test_runs(self) -> TestRuns:
        """Runs of definitions that are not saved."""
        ...

    @property
    def keys(self) -> Keys:
        """The API keys of the tenant."""
        ...

    @property
    def audit(self) -> Audit:
        """The audit log of the tenant."""
        ...

    async def stats(self, hours: int = 24) -> Object:
        """Counts of instances by status, workflow and minute, and of waiting jobs and webhooks."""
        ...
