"""The methods of a principal, as one protocol.

It has three back ends: an engine in this process (`Tenuto`, `EngineWorkspace`), a service over HTTP
(`Client`), and a store on which other processes may run engines (the command line). mypy and a test
check that their names, parameters and results agree. An error at the end of a docstring, as in
"…; NotFound", is the error that the method raises.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import UNSET, UnsetType

from tenuto.model.edited import EditedInput
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Given, Object
from tenuto.model.status import Status
from tenuto.model.task_definition import TaskDefinition
from tenuto.model.test_run import Mock
from tenuto.workspace.data_values import (
    DataQueryUses,
    DataSourceUses,
    QueryRun,
    SavedDataQuery,
    SavedDataSource,
    SourceTest,
)
from tenuto.workspace.limit_values import QueuedInstance, SetLimits
from tenuto.workspace.schedule_values import (
    ANY_SCHEDULE,
    CalendarDay,
    CalendarUses,
    ImportedDates,
    PreviewedTick,
    SavedCalendar,
    SavedSchedule,
    ScheduleFilter,
    SchedulePreview,
    TickRecord,
    WorkingSpan,
)
from tenuto.workspace.secret_values import Secret
from tenuto.workspace.values import (
    ALL_DEAD_LETTERS,
    ANY_APPROVAL,
    ANY_INSTANCE,
    ApprovalFilter,
    BulkOperation,
    DeadLetterFilter,
    DeadLetterGroups,
    DeclaredTask,
    DefinitionVersion,
    InstanceFilter,
    ListedTask,
    OpenApproval,
    Page,
    PendingDelivery,
    Published,
    SavedWorkflow,
    Start,
    Subscription,
    Summary,
    TestRun,
    Webhook,
    WorkerStatus,
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


class Instance(Protocol):
    """One instance, by its id."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    async def status(self) -> Status:
        """Its status now."""
        ...

    async def state(self) -> Object:
        """Its input, variables, steps and open waits."""
        ...

    async def details(self) -> Object:
        """The whole instance as JSON."""
        ...

    async def context(self) -> Object:
        """`{ctx, system}`: the names that expressions see, and values that the engine noted."""
        ...

    async def waits(self) -> list[JSON]:
        """Its open waits for events and decisions, oldest first, each with its `nearMisses`."""
        ...

    async def explain(self) -> Object:
        """Why it makes no progress, as a tree of causes; once it has ended, how it ended."""
        ...

    async def widget(self, widget_type: str, config: Given) -> Object:
        """A context value, shaped for a widget: `{instanceId, status, ready, data, error?}`."""
        ...

    async def history(self, after: int = 0, *, last: int | None = None) -> list[Object]:
        """Its log after the entry of number `after`, oldest first; at most the `last` entries."""
        ...

    async def logs(
        self, step: str | None = None, *, iteration: str | None = None, attempt: int | None = None
    ) -> list[Object]:
        """The lines that its tasks logged and printed; those of a step, or of one attempt."""
        ...

    async def log_page(
        self,
        step: str | None = None,
        *,
        iteration: str | None = None,
        attempt: int | None = None,
        limit: int = 1_000,
        cursor: str | None = None,
    ) -> Page[Object]:
        """A page of these lines; `cursor` is the `next_cursor` of the page before."""
        ...

    def changes(self, after: int = 0) -> AsyncGenerator[None, None]:
        """Yields each time its log may have grown beyond the entry of number `after`.

        It does not end by itself. It may also yield when nothing has changed.
        """
        ...

    async def result(self, timeout: float | None = None) -> JSON:  # noqa: ASYNC109 - its public name
        """Wait for its end and return its output.

        Raises WorkflowFailed, WorkflowCancelled, or TimeoutError after `timeout` seconds.
        """
        ...

    async def cancel(self, reason: str | None = None, *, should_compensate: bool = True) -> Status:
        """Cancel it, and undo its completed steps if `should_compensate`; may be repeated."""
        ...

    async def undo_plan(self, reason: str | None = None) -> Object:
        """The steps that a cancellation would undo now, in order and with their inputs."""
        ...

    async def pause(self, reason: str | None = None, until: datetime | None = None) -> Status:
        """Dispatch nothing new, until resumed or until `until`."""
        ...

    async def resume(self) -> Status:
        """Continue after a pause."""
        ...

    async def skip_delay(self, step: str, iteration: str = "") -> Status:
        """End a delay of a test run now; Conflict where it is no test run, or in no delay."""
        ...

    async def retry(self, *, edited: EditedInput | None = None) -> Status:
        """Continue after FAILED: failed steps, and steps withdrawn because of them, run again.

        A quarantined instance is released instead, and goes on where it stood.

        `edited` is a new input for one of its tasks, instead of the one that it failed with.
        """
        ...

    async def retry_compensation(
        self, step: str, iteration: str = "", *, input: JSON | UnsetType = UNSET
    ) -> Status:
        """Retry a compensation that was given up; the status of the instance stays the same.

        `input` replaces the input that it failed with.
        """
        ...

    async def decide(
        self,
        step: str,
        decision: str,
        *,
        by: str | None = None,
        roles: Sequence[str] | None = None,
        form: JSON = None,
        iteration: str = "",
    ) -> Status:
        """Decide `"approved"` or `"rejected"` on the approval `step`.

        `by` is the person who decides, in `roles`; by default, the principal in its own roles.
        """
        ...

    async def rerun(
        self,
        from_step: str | None = None,
        *,
        input: JSON | UnsetType = UNSET,
        version: int | None = None,
        key: str | None = None,
    ) -> Instance:
        """Start a new instance like this one, from `from_step` on; this one does not change."""
        ...


class Webhooks(Protocol):
    """Addresses that are notified of events."""

    async def add(
        self,
        url: str,
        patterns: str | Iterable[str],
        *,
        secret: str | None = None,
        description: str | None = None,
    ) -> Webhook:
        """Notify `url` of every event that matches one of `patterns`, from now on."""
        ...

    async def change(
        self,
        id: str,
        url: str,
        patterns: str | Iterable[str],
        *,
        secret: str | None = None,
        description: str | None = None,
    ) -> Webhook:
        """Change its address or patterns; its secret stays unless another is given. NotFound."""
        ...

    async def get(self, id: str) -> Webhook:
        """A webhook, and the state of its deliveries; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Remove it; pending deliveries are dropped. NotFound."""
        ...

    async def deliveries(
        self, id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Page[PendingDelivery]:
        """What is on its way to it, in the order in which it is tried; NotFound."""
        ...

    async def resend(self, id: str) -> int:
        """Try at once what was put off after failures; how many deliveries. NotFound."""
        ...

    async def enable(self, id: str) -> Webhook:
        """Notify it again, from now on; one that was not disabled stays as it is."""
        ...

    async def list(self) -> list[Webhook]:
        """Every webhook, oldest first."""
        ...


class Subscriptions(Protocol):
    """Addresses that are notified of events until they expire."""

    async def add(
        self,
        callback_url: str,
        patterns: str | Iterable[str],
        *,
        subscriber_id: str,
        filter: str | None = None,  # noqa: A002 - a word of the contract
        correlation_id: str | None = None,
        expiration_time: datetime | None = None,
        secret: str | None = None,
    ) -> Subscription:
        """Notify `callback_url` of events that match one of `patterns` and the filters."""
        ...

    async def get(self, id: str) -> Subscription:
        """A subscription, and the state of its deliveries; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Remove it; pending deliveries are dropped. NotFound."""
        ...

    async def deliveries(
        self, id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Page[PendingDelivery]:
        """What is on its way to it, in the order in which it is tried; NotFound."""
        ...

    async def resend(self, id: str) -> int:
        """Try at once what was put off after failures; how many deliveries. NotFound."""
        ...

    async def enable(self, id: str) -> Subscription:
        """Notify it again, from now on; one that was not disabled stays as it is."""
        ...

    async def list(self) -> list[Subscription]:
        """Every subscription, oldest first."""
        ...


class DeadLetters(Protocol):
    """Tasks whose failure nothing handled, poison tasks, and late results."""

    async def get(self, id: str) -> Object:
        """A dead letter with the `history` of its step; NotFound."""
        ...

    async def retry(self, id: str, *, input: JSON | UnsetType = UNSET) -> Status:
        """Retry its task or compensation, and remove the dead letter. Conflict if impossible.

        `input` replaces the input that the task failed with.
        """
        ...

    async def discard(self, id: str) -> None:
        """Remove a dead letter; the instance stays as it is. NotFound."""
        ...

    async def list(self, limit: int = 100) -> list[Object]:
        """Dead letters, newest first."""
        ...

    async def page(
        self,
        *,
        kind: str | None = None,
        task_id: str | None = None,
        workflow: str | None = None,
        step_id: str | None = None,
        code: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Object]:
        """A page of dead letters, newest first; `code` is that of their error."""
        ...

    async def groups(self, which: DeadLetterFilter = ALL_DEAD_LETTERS) -> DeadLetterGroups:
        """The newest dead letters that a filter finds, by cause; the most frequent first."""
        ...


class TaskDefinitions(Protocol):
    """Tasks that the tenant has declared."""

    async def add(self, task: TaskDefinition) -> DeclaredTask:
        """Declare a task; Conflict if the id is in use."""
        ...

    async def put(self, task: TaskDefinition) -> DeclaredTask:
        """Declare a task, or change it."""
        ...

    async def get(self, id: str) -> DeclaredTask:
        """A declared task; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Remove the declaration of a task; NotFound."""
        ...

    async def execute(
        self,
        id: str,
        input: Given = None,
        *,
        key: str | None = None,
        correlation_id: str | None = None,
    ) -> Instance:
        """Run a task on its own, as an instance of a workflow of one step; NotFound."""
        ...

    async def list(self, *, after: str = "", limit: int = 100) -> Sequence[DeclaredTask]:
        """Declared tasks with ids after `after`, ordered by id."""
        ...

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[ListedTask]:
        """A page of tasks that are declared, run by the process that answers, or taken by workers.

        Ordered by id.
        """
        ...


class Schedules(Protocol):
    """What is started at certain times: workflows, tasks and callbacks."""

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedSchedule:
        """Save a schedule, new or not; without an id it is a new one. InvalidInput.

        With `only_after` it is saved only while that is its version; Conflict.
        """
        ...

    async def get(self, id: str) -> SavedSchedule:
        """A schedule, and how it stands; NotFound."""
        ...

    async def page(
        self,
        which: ScheduleFilter = ANY_SCHEDULE,
        *,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[SavedSchedule]:
        """A page of schedules, ordered by id."""
        ...

    async def pause(self, id: str, note: str | None = None) -> SavedSchedule:
        """Pass over its ticks until it is resumed; NotFound."""
        ...

    async def resume(self, id: str) -> SavedSchedule:
        """Start its ticks again, from now on; NotFound."""
        ...

    async def trigger(self, id: str, at: datetime | None = None) -> TickRecord:
        """Start its target now, as the tick of the nominal time `at`, by default now; NotFound."""
        ...

    async def backfill(
        self,
        id: str,
        start: datetime,
        end: datetime,
        *,
        concurrency: int = 10,
        overlap: Literal["allow", "skip", "queue", "cancel-running"] = "allow",
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Start the ticks from `start` to `end` that were not started; NotFound.

        At most `concurrency` of its instances run at the same time. With `dry_run` the ticks are
        only counted.
        """
        ...

    async def preview(
        self, id: str, *, count: int = 10, after: datetime | None = None
    ) -> list[PreviewedTick]:
        """Its next ticks after a moment, by default now; NotFound."""
        ...

    async def preview_document(
        self, document: JSON, *, count: int = 10, after: datetime | None = None
    ) -> SchedulePreview:
        """The next ticks of a schedule that is not saved, and all its problems."""
        ...

    async def ticks(self, id: str, limit: int = 100) -> list[TickRecord]:
        """What became of its ticks, newest first; NotFound."""
        ...

    async def tick_page(
        self, id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Page[TickRecord]:
        """A page of its ticks, newest first; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Remove it; instances that it has started go on. NotFound."""
        ...

    async def list(
        self,
        *,
        status: str | None = None,
        workflow: str | None = None,
        calendar: str | None = None,
        limit: int = 100,
    ) -> list[SavedSchedule]:
        """Schedules, ordered by id."""
        ...


class Calendars(Protocol):
    """Business calendars: weekly hours, holidays and dates, in versions."""

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedCalendar:
        """Save a calendar, new or not; without an id it is a new one. InvalidInput.

        The same content again makes no new version. With `only_after` it is saved only while that
        is the newest version; Conflict.
        """
        ...

    async def get(self, id: str, version: int | None = None) -> SavedCalendar:
        """A calendar as it was saved; the newest version unless one is given. NotFound."""
        ...

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[SavedCalendar]:
        """A page of calendars, ordered by id."""
        ...

    async def uses(self, id: str) -> CalendarUses:
        """The schedules, calendars and workflows that name a calendar; NotFound."""
        ...

    async def days(self, id: str, first: date, last: date) -> list[CalendarDay]:
        """The days from `first` to `last`, both included, each with its hours; NotFound."""
        ...

    async def import_dates(self, id: str, text: str | bytes) -> ImportedDates:
        """Add the whole days of an iCalendar file to the dates of a calendar, as days off."""
        ...

    async def add(self, id: str, start: datetime, duration: str | int) -> WorkingSpan:
        """When a duration of working time is over that begins at `start`; NotFound.

        `PT4H` is working time, `P3D` working days; a number is milliseconds.
        """
        ...

    async def between(self, id: str, start: datetime, end: datetime) -> WorkingSpan:
        """The working time between two moments; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Remove a calendar; Conflict while something names it. NotFound."""
        ...

    async def list(self) -> list[SavedCalendar]:
        """Every calendar, ordered by id."""
        ...


class Approvals(Protocol):
    """Decisions that instances wait for."""

    async def page(
        self, which: ApprovalFilter = ANY_APPROVAL, *, limit: int = 100, cursor: str | None = None
    ) -> Page[OpenApproval]:
        """Open approvals: those of the newest instances first, of one instance the oldest first.

        A page may have fewer items than its limit, although there is another one.
        """
        ...


class DataSources(Protocol):
    """Databases that data queries read: PostgreSQL, MySQL, SQLite."""

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedDataSource:
        """Save a data source, new or not; without an id it is a new one. InvalidInput.

        The same content again makes no new version. With `only_after` it is saved only while that
        is its version; Conflict.
        """
        ...

    async def get(self, id: str) -> SavedDataSource:
        """A data source as it is saved; NotFound."""
        ...

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[SavedDataSource]:
        """A page of data sources, ordered by id."""
        ...

    async def uses(self, id: str) -> DataSourceUses:
        """The data queries that name a data source; NotFound."""
        ...

    async def test(self, id: str) -> SourceTest:
        """Connect to the database of a data source; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Remove a data source; Conflict while queries name it. NotFound."""
        ...

    async def list(self) -> list[SavedDataSource]:
        """Every data source, ordered by id."""
        ...


class DataQueries(Protocol):
    """Statements with named parameters, which workflows run by their ids."""

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedDataQuery:
        """Save a data query, new or not; without an id it is a new one. InvalidInput.

        The same content again makes no new version. With `only_after` it is saved only while that
        is its version; Conflict.
        """
        ...

    async def get(self, id: str) -> SavedDataQuery:
        """A data query as it is saved; NotFound."""
        ...

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[SavedDataQuery]:
        """A page of data queries, ordered by id."""
        ...

    async def uses(self, id: str) -> DataQueryUses:
        """The workflows that run a data query; NotFound."""
        ...

    async def run(self, id: str, args: Given = None) -> QueryRun:
        """Try a data query; NotFound. InvalidInput where the arguments do not fit."""
        ...

    async def remove(self, id: str) -> None:
        """Remove a data query; Conflict while workflows run it. NotFound."""
        ...

    async def list(self) -> list[SavedDataQuery]:
        """Every data query, ordered by id."""
        ...


class Secrets(Protocol):
    """Values that steps use and no record shows; no method gives one back."""

    async def put(
        self, name: str, value: str, *, destinations: Sequence[str] | None = None
    ) -> Secret:
        """Store a secret, new or not; attempts that start from now on get this value.

        `destinations` are the hosts and data sources that it may be sent to; without them it may
        stand in the input of every step. InvalidInput, without the value.
        """
        ...

    async def get(self, name: str) -> Secret:
        """A secret, without its value; NotFound."""
        ...

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[Secret]:
        """A page of secrets, without their values, ordered by name."""
        ...

    async def remove(self, name: str, *, force: bool = False) -> None:
        """Remove a secret; Conflict while something names it, unless `force`. NotFound.

        Attempts that start after that and need it fail with `UNKNOWN_SECRET`.
        """
        ...

    async def list(self) -> list[Secret]:
        """Every secret, without its value, ordered by name."""


class Limits(Protocol):
    """The limits that count instances of a tenant, and the queue of those that wait."""

    async def get(self) -> SetLimits:
        """The limits of the service and of the tenant."""
        ...

    async def set(self, document: JSON, *, only_after: int | None = None) -> SetLimits:
        """Replace the limits of the service and of the tenant; InvalidInput.

        Those that wait are looked at again at once. An instance that runs goes on, also above a
        limit that was lowered. With `only_after` only while that is the version; Conflict.
        """
        ...

    async def queue(
        self, *, workflow: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[QueuedInstance]:
        """A page of the instances that wait for slots, in their order."""
        ...

    async def promote(self, instance_id: str) -> None:
        """Let an instance go before those that were not promoted; Conflict: it does not wait."""
        ...

    async def hold(self, instance_id: str) -> None:
        """Keep an instance from being admitted; Conflict: it does not wait."""
        ...

    async def release(self, instance_id: str) -> None:
        """Let an instance wait again that was kept back; Conflict: there is none."""
        ...


class Workers(Protocol):
    """Workers that were seen within the last hour."""

    async def list(self, limit: int = 100) -> list[WorkerStatus]:
        """Workers, ordered by id."""
        ...

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[WorkerStatus]:
        """A page of workers, ordered by id."""
        ...


class Bulk(Protocol):
    """Actions over many instances or dead letters: durable, with progress."""

    async def start(
        self,
        action: Literal["cancel", "pause", "resume", "retry"],
        which: InstanceFilter,
        *,
        reason: str | None = None,
        should_compensate: bool = True,
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Act on all instances that the filter finds; with `dry_run` only count them.

        Without a status, the filter selects the instances to which the action can apply. At most
        one operation is started under a `key`. InvalidInput for an empty filter.
        """
        ...

    async def start_on_dead_letters(
        self,
        action: Literal["retry", "discard"],
        which: DeadLetterFilter,
        *,
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Act on all dead letters that the filter finds; with `dry_run` only count them."""
        ...

    async def get(self, id: str) -> BulkOperation:
        """A bulk operation and its progress; NotFound."""
        ...

    async def cancel(self, id: str) -> BulkOperation:
        """Stop a bulk operation; finished items are not reverted. NotFound."""
        ...

    async def list(self, limit: int = 100) -> list[BulkOperation]:
        """Bulk operations, newest first."""
        ...


class TestRuns(Protocol):
    """Runs of definitions that are not saved; no list shows them."""

    async def start(
        self,
        document: Mapping[str, JSON],
        input: Given = None,
        *,
        mocks: Mapping[str, Mock] | None = None,
        skip_delays: bool = False,
        allow_effects: bool = False,
    ) -> TestRun:
        """Run a definition that is not saved, with `mocks` by the ids of steps.

        A step without a mock gives an empty object, or runs if `allow_effects` is set.
        """
        ...

    async def publish(self, id: str, document: Given) -> list[Published | TenutoError]:
        """Publish events that this test run alone sees; NotFound."""
        ...

    async def stop(self, id: str) -> None:
        """End a test run and erase it; NotFound."""
        ...


class Keys(Protocol):
    """The API keys of the tenant."""

    async def create(
        self,
        name: str,
        *,
        role: str,
        scopes: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> Object:
        """Create a key; `key` in the result is the secret, and is shown only this once."""
        ...

    async def revoke(self, id: str) -> list[str]:
        """Revoke a key and those that were made by it; the ids of those. NotFound."""
        ...

    async def list(self) -> list[Object]:
        """Every key, also expired and revoked ones, oldest first."""
        ...


class Audit(Protocol):
    """The audit log of the tenant."""

    async def page(
        self,
        *,
        actor: str | None = None,
        action: str | None = None,
        target: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Object]:
        """Lines, newest first."""
        ...

    def export(self) -> AsyncIterator[str]:
        """Every line, oldest first: JSON, with its hash."""
        ...

    async def verify(self, known: str | None = None) -> Object:
        """Read the chain of hashes: `{tenant, lines, hash, problem}`.

        `known` is a line that the caller noted earlier, as `<number>:<hash>`.
        """
        ...
