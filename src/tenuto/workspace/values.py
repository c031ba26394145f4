"""The values that cross the workspace protocol; every back end takes and gives the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Generic, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from tenuto.engine.outbox.endpoints import Gap
from tenuto.model.errors import Problem
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.model.task_definition import TaskDefinition, TaskSettings

T = TypeVar("T")

MOST_ITEMS = 1_000
"""A page has no more."""

State: TypeAlias = Literal["active", "failing", "disabled", "unreadable"]
BulkTarget: TypeAlias = Literal["instances", "dead-letters", "ticks"]
BulkAction: TypeAlias = Literal["cancel", "pause", "resume", "retry", "discard", "backfill"]


class Page(Struct, Generic[T], frozen=True, kw_only=True, rename="camel"):
    """A part of a list."""

    items: list[T]
    next_cursor: str | None = None
    """Give it as `cursor` for the next page; None: this is the last one."""


def in_groups(ids: Sequence[str], size: int = 100) -> Iterator[Sequence[str]]:
    """Ids, as many together as the address of one request has."""
    for first in range(0, len(ids), size):
        yield ids[first : first + size]


# -- definitions


class SavedWorkflow(Struct, frozen=True, kw_only=True):
    """A definition that is saved."""

    id: str
    version: int
    problems: tuple[Problem, ...] = ()
    """Warnings: it is saved."""


class DefinitionVersion(Struct, frozen=True, kw_only=True, rename="camel"):
    """A version of a definition, as its author wrote it."""

    id: str
    version: int
    created_at: datetime
    definition: JSON


# -- instances


class Start(Struct, frozen=True, kw_only=True):
    """An instance that is asked for."""

    workflow: str
    input: JSON = None
    key: str | None = None
    correlation_id: str | None = None
    priority: int = 0
    deadline: datetime | None = None
    instance_id: str | None = None
    version: int | None = None
    traceparent: str | None = None
    """The trace that it belongs to (W3C)."""


class InstanceFilter(Struct, frozen=True, kw_only=True, rename="camel"):
    """Which instances; a field that is not given does not count."""

    ids: tuple[str, ...] = ()
    status: tuple[Status, ...] = ()
    workflow: str | None = msgspec.field(default=None, name="workflowId")
    correlation_id: str | None = None
    key: str | None = None
    """The idempotency key that an instance was started with."""
    current_step: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
    updated_from: datetime | None = None
    """This or `updated_before` lists them by time of change, the latest first."""
    updated_before: datetime | None = None
    waiting_for: str | None = None
    """The pattern of an event for which a step waits, as its wait was opened."""
    roots: bool = False
    """Without children of other instances."""
    parent_id: str | None = None
    text: str | None = None
    """In its workflow, correlation id, open steps, error or cancellation. A page that is searched
    for it ends after 10,000 instances, although there may be more."""


ANY_INSTANCE = InstanceFilter()


def statuses_of(status: Status | str | Iterable[Status | str]) -> tuple[Status, ...]:
    """One status or several, by their names."""
    names = (status,) if isinstance(status, str) else status
    return tuple(Status(name) for name in names)


class Summary(Struct, frozen=True, kw_only=True):
    """An instance as lists show it."""

    id: str
    workflow: str
    version: int
    status: Status
    created_at: datetime
    updated_at: datetime
    current_steps: tuple[str, ...]
    correlation_id: str | None
    last_error: Object | None
    output: JSON = None
    """Of a completed one."""
    cancellation: Object | None = None
    """Of a cancelled instance: who cancelled it, and why."""
    priority: int = 0
    deadline: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    parent_id: str | None = None
    """The instance that started it as a step."""
    root_id: str = ""
    """The first of its ancestors; its own id where it has none."""
    rerun_of: str | None = None
    """The instance that it repeats."""
    schedule: Object | None = None
    """`{id, nominal}`: the tick of a schedule that started it."""
    tenant: str = ""


# -- approvals


class ApprovalFilter(Struct, frozen=True, kw_only=True):
    """Which open approvals; all that is asked for has to be true."""

    is_mine: bool = False
    """Those on which the principal may decide."""
    is_overdue: bool = False
    """Those that were reminded of, or have escalated."""
    user: str | None = None
    """Those that name this user, as `users` of an approval does."""
    role: str | None = None
    """Those that name this role."""


ANY_APPROVAL = ApprovalFilter()


class OpenApproval(Struct, frozen=True, kw_only=True, rename="camel"):
    """A decision that an instance waits for."""

    instance_id: str
    workflow_id: str
    definition_version: int
    instance_status: Status
    """A paused instance takes a decision, too."""
    correlation_id: str | None
    step_id: str
    iteration: str
    users: list[str]
    """Who may decide: `key:<id>`, `<issuer>|<subject>`, or a subject of the provider."""
    roles: list[str]
    form_schema: JSON
    """Null also where it is larger than 20,000 bytes."""
    is_form_left_out: bool
    """Whether there is a form, and it is too large for a list."""
    opened_at: str | None
    due_at: str | None
    """When it times out; null: never."""
    reminders: int
    """How many reminders were sent."""
    escalated_at: str | None
    is_overdue: bool
    """Whether it was reminded of, or has escalated."""
    may_decide: bool
    """Whether the principal that asks may decide on it."""
    input: JSON
    """The input of the instance; null also where it is larger than 20,000 bytes."""


# -- events


class Published(Struct, frozen=True, kw_only=True):
    """What became of an event: it and its recipients are durable, and what it does to them follows.

    So a list may show what it starts, resumes or cancels a moment after the answer.
    """

    event_id: str
    duplicate: bool
    """Whether it was published before; the counts are those of the first time."""
    resumed: int
    """How many waits took it."""
    cancelled: int = 0
    """How many instances it cancels."""
    started: int = 0
    """How many instances it starts."""
    is_dry: bool = False
    """Whether nothing was stored."""
    targets: tuple[Object, ...] = ()
    """Of a dry run: what the event would reach. Each says `what` would be done, `resumed`,
    `cancelled`, `started` or `refused` with its `reason`, and where."""
    near_misses: tuple[Object, ...] = ()
    """Of a dry run: waits that it would nearly reach, with the false parts of their conditions."""
    hint: str | None = None
    """Of a dry run: the nearest names, where no definition or listener names the event."""


class Webhook(Struct, frozen=True, kw_only=True, rename="camel"):
    """An address that is notified of events, and the state of its deliveries."""

    id: str
    url: str
    patterns: tuple[str, ...]
    description: str | None
    state: State
    """`failing`: nothing has arrived since `failing_since`, and it is tried again; `disabled`:
    nothing is sent until it is enabled; `unreadable`: a newer program wrote it, or it is damaged,
    and this process sends it nothing."""
    pending: int
    """Events that are on their way."""
    oldest_pending: datetime | None
    delivered_at: datetime | None
    failing_since: datetime | None
    last_error: str | None
    disabled_at: datetime | None
    gaps: tuple[Gap, ...]
    """Times of which it was sent nothing."""
    created_at: datetime
    secret: str | None = None
    """Signs the requests; shown once, in what adding it returns."""


class PendingDelivery(Struct, frozen=True, kw_only=True, rename="camel"):
    """An event on its way to a webhook or a subscription."""

    event_id: str
    created_at: datetime
    attempts: int
    """How often it has failed."""
    due_at: datetime
    """When it is tried next."""


class Subscription(Webhook, frozen=True, kw_only=True, rename="camel"):
    """An address that is notified of events until it expires."""

    url: str = msgspec.field(name="callbackUrl")
    subscriber_id: str
    filter: str | None
    correlation_id: str | None
    expiration_time: datetime | None
    expired: bool = False
    """Whether new events are no longer matched; only those from before are still sent."""


# -- tasks


class DeclaredTask(
    TaskDefinition, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=False
):
    """A task as the tenant declared it, and its version."""

    version: int
    created_at: datetime
    updated_at: datetime


class KnownTask(
    TaskDefinition, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=False
):
    """A task that is declared, run by the process that answers, or taken by connected workers."""

    is_declared: bool
    """Whether the tenant or a worker has declared it; else the other fields are those of code."""
    runs: tuple[Literal["process", "worker", "push"], ...]
    """Where its attempts run now: in the process that answers, in connected workers, or at its
    address; empty: nowhere."""
    workers: int
    """Connected workers that take it, as far as is known."""
    in_force: TaskSettings
    """For steps that set nothing: of the declaration, else of workers, else of this process."""
    version: int
    """0: it is not declared."""


class ListedTask(KnownTask, frozen=True, kw_only=True, rename="camel"):
    """A known task, and when it was declared."""

    created_at: datetime | None
    updated_at: datetime | None


class WorkerStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """A worker that has claimed tasks within the last hour."""

    worker_id: str
    task_ids: list[str] | None
    """The tasks that it takes; None: any. The first 8,000 bytes of their ids."""
    tasks_left_out: int = 0
    """How many more tasks it takes."""
    since: datetime
    """When it connected."""
    last_seen: datetime
    """Its last claim or heartbeat, to ten seconds."""
    running: int
    """The tasks that it holds now."""
    is_connected: bool
    """Whether it was seen within the last minute."""


# -- bulk operations


class DeadLetterFilter(Struct, frozen=True, kw_only=True, rename="camel"):
    """Which dead letters; a field that is not given does not count."""

    ids: tuple[str, ...] = ()
    kind: str | None = None
    task_id: str | None = None
    workflow: str | None = msgspec.field(default=None, name="workflowId")
    step_id: str | None = None
    code: str | None = None
    """Of the error; an empty text: those without one."""
    instance_id: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None

    @property
    def is_narrower_than_a_store(self) -> bool:
        """Whether it says something that stores do not compare."""
        beside = (self.step_id, self.instance_id, self.created_from, self.created_before)
        return any(each is not None for each in beside)

    @property
    def is_by_cause(self) -> bool:
        """Whether it says something that programs before this one do not compare."""
        by_cause = (self.workflow, self.step_id, self.code, self.instance_id)
        return any(each is not None for each in by_cause)


ALL_DEAD_LETTERS = DeadLetterFilter()


class DeadLetterGroup(Struct, frozen=True, kw_only=True, rename="camel"):
    """Dead letters of one cause: a code of an error, at a step of a workflow."""

    kind: str
    code: str | None
    """None: the error has none, or there is no error."""
    workflow_id: str | None
    """None: their instances were erased."""
    step_id: str
    task_id: str | None
    message: str | None
    """Of the newest."""
    count: int
    first_at: str
    last_at: str


class DeadLetterGroups(Struct, frozen=True, kw_only=True, rename="camel"):
    """Dead letters by cause, the most frequent first."""

    items: list[DeadLetterGroup]
    is_complete: bool
    """False where there are more than 2,000 letters, or 8 MB of them: the newest are counted."""


class BulkFailure(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why an action failed for one item."""

    id: str
    code: str
    message: str


class BulkOperation(Struct, frozen=True, kw_only=True, rename="camel"):
    """An action over many instances or dead letters, and its progress."""

    id: str | None = None
    """None for a dry run."""
    target: BulkTarget
    action: BulkAction
    status: Literal["running", "done", "cancelled", "dry-run"]
    matched: int
    """How many were found so far, of a stopped one at least so many in all; of a dry run up to
    100,000."""
    done: int
    failed: int
    failures: tuple[BulkFailure, ...]
    """Of the first hundred."""
    created_at: datetime | None = None
    ended_at: datetime | None = None
    requested_by: str
    stopped_by: str | None = None
    """The principal that stopped it."""


# -- test runs


class TestRun(Struct, frozen=True, kw_only=True, rename="camel"):
    """A test run that has started."""

    __test__ = False  # pytest takes every `Test…` for its own

    instance_id: str
    status: Status
    not_run: list[str]
    """Steps that are neither mocked nor run: each gives an empty object."""
