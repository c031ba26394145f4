"""What a principal can do, as one protocol.

It has three back ends: an engine in this process (`Tenuto`, `EngineWorkspace`), a service over HTTP
(`Client`), and a store beside an engine (the command line). mypy and a test hold that their
names, parameters and results agree.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import UNSET, UnsetType

from tenuto.model.edited import EditedInput
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Given, Object
from tenuto.model.status import Status
from tenuto.model.task_definition import TaskDefinition
from tenuto.model.test_run import Mock
from tenuto.python_form.workflow import WorkflowFunction
from tenuto.workspace.values import (
    ANY_INSTANCE,
    BulkOperation,
    DeadLetterFilter,
    DeclaredTask,
    DefinitionVersion,
    InstanceFilter,
    Page,
    Published,
    SavedWorkflow,
    Start,
    Subscription,
    Summary,
    TestRun,
    Webhook,
)


class Workspace(Protocol):
    """What one principal of one tenant can do."""

    # -- definitions

    async def deploy(
        self, definition: Mapping[str, JSON] | str | Path | WorkflowFunction[..., Any]
    ) -> int:
        """Save a definition and return its version."""
        ...

    async def save(self, document: JSON) -> SavedWorkflow:
        """Save a definition and return its id and version."""
        ...

    async def definition(self, id: str, version: int | None = None) -> DefinitionVersion:
        """A definition as it was saved, without a version the newest; NotFound."""
        ...

    async def definition_ids(self) -> list[str]:
        """The ids of all definitions, in order."""
        ...

    async def remove_definition(self, id: str, *, force: bool = False) -> None:
        """Remove a definition; Conflict while instances of it run, unless `force` cancels them."""
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
        """Start up to 1,000 at once; a start that is refused is an error in its place."""
        ...

    async def instance(self, id: str) -> Instance:
        """A reference to an instance; NotFound when there is none."""
        ...

    def at(self, id: str) -> Instance:
        """A reference to an instance that is not looked up: its methods raise NotFound."""
        ...

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
        """Instances, newest first."""
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

    # -- the rest, by what it is about

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
        """`{ctx, system}`: what expressions see, and what the system noted beside it."""
        ...

    async def waits(self) -> list[JSON]:
        """Its open waits for events and decisions, oldest first, each with its `nearMisses`."""
        ...

    async def explain(self) -> Object:
        """Why it is not moving, as a tree of causes; of one that has ended, how."""
        ...

    async def widget(self, widget_type: str, config: Given) -> Object:
        """A value of it, shaped for a widget: `{instanceId, status, ready, data, error?}`."""
        ...

    async def history(self, after: int = 0) -> list[Object]:
        """Its log after the entry of number `after`, oldest first."""
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
        """End it, and undo what it has done unless that is to stay; repeating this is no error."""
        ...

    async def undo_plan(self, reason: str | None = None) -> Object:
        """What would be undone if it were cancelled now, in which order and with which input."""
        ...

    async def pause(self, reason: str | None = None, until: datetime | None = None) -> Status:
        """Dispatch nothing new, until resumed or until `until`."""
        ...

    async def resume(self) -> Status:
        """Go on after a pause."""
        ...

    async def retry(self, *, edited: EditedInput | None = None) -> Status:
        """Let a FAILED one go on: what failed, and what that withdrew, runs again.

        `edited` is what one of its tasks is given instead of what it failed with.
        """
        ...

    async def retry_compensation(
        self, step: str, iteration: str = "", *, input: JSON | UnsetType = UNSET
    ) -> Status:
        """Try a compensation again that was given up; the status stays what it is.

        `input` is what it is given instead of what it failed with.
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

        `by` is who decides, and `roles` in which roles; without them, the principal in its own.
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
        """Make a new instance of it, from `from_step` on; this one does not change."""
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
        """Notify `callback_url` of events that match one of `patterns`, and the rest."""
        ...

    async def get(self, id: str) -> Subscription:
        """A subscription, and the state of its deliveries; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Remove it; pending deliveries are dropped. NotFound."""
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
        """Run it again; the letter is gone then. Conflict where that is impossible.

        `input` is what the task is given instead of what it failed with.
        """
        ...

    async def discard(self, id: str) -> None:
        """Remove a dead letter; the instance stays as it is. NotFound."""
        ...

    async def list(self, limit: int = 100) -> list[Object]:
        """Dead letters, newest first."""
        ...


class TaskDefinitions(Protocol):
    """Tasks that the tenant has declared."""

    async def add(self, task: TaskDefinition) -> DeclaredTask:
        """Declare a task; Conflict where there is one of this id."""
        ...

    async def put(self, task: TaskDefinition) -> DeclaredTask:
        """Declare a task, or change it."""
        ...

    async def get(self, id: str) -> DeclaredTask:
        """A declared task; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Forget a declared task; NotFound."""
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
        """Declared tasks with ids after `after`, by their ids."""
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

        Without statuses in the filter, those are meant in which the action is possible. At most
        one operation is started under a `key`. InvalidInput for a filter that says nothing.
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
        """Stop a bulk operation; its completed actions stay. NotFound."""
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

        Steps without a mock give an empty object, or run where `allow_effects` says so.
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
        """Make a key; `key` in the result is the whole of it, and is shown this once."""
        ...

    async def revoke(self, id: str) -> None:
        """Revoke a key; NotFound."""
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

        `known` is a line as it was noted before: its number, a colon, its hash.
        """
        ...
