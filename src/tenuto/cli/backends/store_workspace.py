"""The workspace of the command line: a store on which other processes may run engines.

It reads the store itself, sends commands to the mailboxes of instances, and opens a short-lived
engine for everything else.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    redirect_stdout,
    suppress,
)
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tenuto.cli.backends.engine import LOCKED, engine, unlocked
from tenuto.cli.backends.mailbox import NOT_SEEN_DONE
from tenuto.cli.backends.place import ACTOR, tenant_of
from tenuto.cli.backends.reader import Reader, make_room, reading, require_there
from tenuto.cli.exits import Interrupted
from tenuto.cli.live_feed import interruptible
from tenuto.cli.views.terminal import logs_on_stderr, say, say_indented
from tenuto.compose import is_postgres
from tenuto.model.errors import Overloaded, StoreUnavailable, TenutoError, not_there
from tenuto.model.json import JSON, Given, Object, as_json
from tenuto.model.status import Status
from tenuto.ports import SystemClock, SystemIds
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
    from tenuto.app import Tenuto
    from tenuto.cli.backends.store_instance import StoreInstance
    from tenuto.cli.backends.store_records import (
        StoreAudit,
        StoreBulk,
        StoreDeadLetters,
        StoreKeys,
    )
    from tenuto.engine.events.event_intake import EventIntake
    from tenuto.model.events import Event
    from tenuto.python_form.workflow import WorkflowFunction
    from tenuto.workspace import protocol
    from tenuto.workspace.engine_workspace import EngineWorkspace
    from tenuto.workspace.webhooks import Subscriptions, Webhooks

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds after which a store that has not taken an event counts as unavailable."""


_HOLDER: ContextVar[StoreWorkspace | None] = ContextVar("holder of the engine", default=None)
"""The workspace inside of whose engine this task runs."""


class StoreWorkspace:
    """The workspace of one tenant, on a store that is named by its URL."""

    def __init__(self, url: str, *, allow_private: bool = False) -> None:
        self.url = url
        self.tenant = tenant_of(url)
        self.is_worked_on = True
        """Whether a process runs the steps that follow from the last call."""
        self._allow_private = allow_private
        self._reading: AsyncExitStack | None = None
        self._reader: Reader | None = None
        self._opening = asyncio.Lock()
        self._engine: EngineWorkspace | None = None
        self._one_engine = asyncio.Lock()

    async def reader(self) -> Reader:
        """The store, opened for reading when it is first needed."""
        async with self._opening:
            if self._reader is None:
                async with AsyncExitStack() as stack:
                    self._reader = await stack.enter_async_context(reading(self.url))
                    self._reading = stack.pop_all()
            return self._reader

    async def close(self) -> None:
        """Close the reader; the next read opens another."""
        opened, self._reading, self._reader = self._reading, None, None
        if opened is not None:
            await opened.aclose()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Wait until no other call of this workspace has an engine: a file takes one at a time."""
        if _HOLDER.get() is self:
            yield
            return
        async with self._one_engine:
            before = _HOLDER.set(self)
            try:
                yield
            finally:
                _HOLDER.reset(before)

    @asynccontextmanager
    async def engine(self, *, is_guest: bool = False) -> AsyncIterator[EngineWorkspace]:
        """Open an engine for the length of the block; calls inside of the block share it."""
        async with self.alone():
            if self._engine is not None:
                yield self._engine
                return
            with redirect_stdout(sys.stderr), unlocked():
                async with engine(self.url, is_brief=True, is_guest=is_guest) as app:
                    self._engine = app.workspace(self.tenant, ACTOR)
                    try:
                        yield self._engine
                    finally:
                        self._engine = None

    async def in_bulk(self, start: Callable[[EngineWorkspace], Awaitable[T]]) -> T:
        """Start a bulk operation, and run it here unless a process works on the store."""
        # Only a database may have other processes: a file is locked by the one that has it.
        is_worked_on = (
            is_postgres(self.url) and await (await self.reader()).store.members.workers() > 0
        )
        async with self.engine() as space:
            made = await start(space)
            self.is_worked_on = is_worked_on
            if not is_worked_on:
                from tenuto.workspace.bulk import BulkRunner

                runner = BulkRunner(space.engine)
                # They are stored: the next process continues those that stop here.
                with suppress(StoreUnavailable, Overloaded):
                    while await runner.run_once():
                        pass
        return made

    def done(self, status: Status, *, by_others: bool) -> Status:
        """Note whether another process executed the command, and return the status."""
        self.is_worked_on = by_others
        return status

    # -- definitions

    async def deploy(
        self, definition: Mapping[str, JSON] | str | Path | WorkflowFunction[..., Any]
    ) -> int:
        """Save a definition and return its version; the default store is created if missing."""
        make_room(self.url)
        async with self.engine(is_guest=True) as space:
            return await space.deploy(definition)

    async def save(self, document: JSON) -> SavedWorkflow:
        """Save a definition and return its id and version; without an id it is a new one."""
        make_room(self.url)
        async with self.engine(is_guest=True) as space:
            return await space.save(document)

    async def definition(self, id: str, version: int | None = None) -> DefinitionVersion:
        """A definition as it was saved; the newest version unless one is given. NotFound."""
        async with self.engine(is_guest=True) as space:
            return await space.definition(id, version)

    async def definition_ids(self) -> list[str]:
        """The ids of all definitions, in order."""
        async with self.engine(is_guest=True) as space:
            return await space.definition_ids()

    async def remove_definition(self, id: str, *, force: bool = False) -> None:
        """Remove a definition; Conflict while instances of it run, unless `force` cancels them."""
        if force:
            await self.in_bulk(lambda space: space.remove_definition(id, force=True))
            return
        async with self.engine() as space:
            await space.remove_definition(id)

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
    ) -> StoreInstance:
        """Start an instance; a process that has the tasks runs its steps."""
        await require_there(self.url)
        self.is_worked_on = False
        async with self.engine() as space:
            started = await space.start(
                workflow,
                input,
                key=key,
                correlation_id=correlation_id,
                priority=priority,
                deadline=deadline,
                instance_id=instance_id,
                version=version,
            )
        return self.at(started.id)

    async def start_many(self, asked: Sequence[Start]) -> list[StoreInstance | TenutoError]:
        """Start up to 1,000 at once; a refused start gives an error at its place."""
        await require_there(self.url)
        self.is_worked_on = False
        async with self.engine() as space:
            started = await space.start_many(asked)
        return [each if isinstance(each, TenutoError) else self.at(each.id) for each in started]

    def at(self, id: str) -> StoreInstance:
        """A reference to an instance, without a look-up; its methods raise NotFound."""
        from tenuto.cli.backends.store_instance import StoreInstance

        return StoreInstance(self, id)

    async def instance(self, id: str) -> StoreInstance:
        """A reference to an instance; NotFound when there is none."""
        if not (await self.page(InstanceFilter(ids=(id,)), limit=1)).items:
            raise not_there(id)
        return self.at(id)

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
        names = (status,) if isinstance(status, str) else status
        which = InstanceFilter(
            status=tuple(Status(each) for each in names),
            workflow=workflow,
            correlation_id=correlation_id,
            current_step=current_step,
        )
        return (await self.page(which, variables=variables, limit=limit)).items

    async def page(
        self,
        which: InstanceFilter = ANY_INSTANCE,
        *,
        variables: Mapping[str, Given] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Summary]:
        """A page of instances, newest first."""
        reader = await self.reader()
        return await reader.page(which, variables=variables, limit=limit, cursor=cursor)

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
        """Store an event, and record the instances that it resumes, cancels and starts."""
        # The id is made here, so that an unanswered event can be sent again under the same id.
        id = id or SystemIds().instance_id(SystemClock().now())
        if dry_run:
            from tenuto.workspace.events import dry_published, made_event

            reader = await self.reader()
            event = made_event(
                self._intake(reader),
                pattern,
                payload,
                id=id,
                correlation_id=correlation_id,
                timestamp=timestamp,
            )
            return dry_published(event, await reader.inspector.dry_run(event))

        def publish(space: EngineWorkspace) -> Coroutine[None, None, Published]:
            return space.publish(
                pattern, payload, id=id, correlation_id=correlation_id, timestamp=timestamp
            )

        def unanswered(app: Tenuto) -> StoreUnavailable:
            return _unanswered(
                id, is_stored=(self.tenant, id) in app.engine.events.router.unmatched
            )

        return await self._published(
            publish, unanswered, f"Then send it again with --id {id}: it acts once."
        )

    async def publish_all(
        self, document: Given, *, dry_run: bool = False
    ) -> list[Published | TenutoError]:
        """Store the events of a document: one, or an array of up to 1,000; a result each."""
        if dry_run:
            reader = await self.reader()
            taken = self._intake(reader).events(as_json(document))
            return [await _dry_run(reader, each) for each in taken]
        unanswered = StoreUnavailable(
            "it is not known whether the events are stored: the store has not answered for "
            f"{PATIENCE:g} s",
            advice="Send the document again when the store is back: an event with an id acts once.",
        )
        return await self._published(
            lambda space: space.publish_all(document),
            lambda _: unanswered,
            "Then send the document again: an event with an id acts once.",
        )

    def _intake(self, reader: Reader) -> EventIntake:
        from tenuto.engine.events.event_intake import EventIntake
        from tenuto.model.policy import DEFAULT_LIMITS

        return EventIntake(reader.clock, SystemIds(), DEFAULT_LIMITS, self.tenant)

    async def _published(
        self,
        publish: Callable[[EngineWorkspace], Coroutine[None, None, T]],
        unanswered: Callable[[Tenuto], StoreUnavailable],
        again: str,
    ) -> T:
        await require_there(self.url)
        try:
            async with self.alone():
                self.is_worked_on = True
                with redirect_stdout(sys.stderr), logs_on_stderr():
                    async with engine(self.url, is_guest=True) as app:
                        publishing = publish(app.workspace(self.tenant, ACTOR))
                        found = await _answered(publishing, partial(unanswered, app), again)
                        with suppress(StoreUnavailable):
                            is_shared = is_postgres(self.url)
                            self.is_worked_on = (
                                is_shared and await app.engine.store.members.workers() > 0
                            )
        except StoreUnavailable as error:
            if error.code != LOCKED:
                raise
            raise StoreUnavailable(
                f"{error.message}; only that process can take events",
                code=LOCKED,
                advice="Publish from that process (app.publish), or stop it, send the event, and "
                "start it again: nothing is lost, and the process finds the event.",
            ) from None
        return found

    async def event(self, id: str) -> Object:
        """An event of the inbox with its deliveries and near misses; NotFound."""
        from tenuto.engine.events.event_views import event_view

        return event_view(await (await self.reader()).inspector.event(self.tenant, id))

    async def events(
        self, *, pattern: str | None = None, since: datetime | None = None, limit: int = 100
    ) -> list[Object]:
        """Events of the inbox, newest first; without `since` those of the last 24 hours."""
        async with self.engine(is_guest=True) as space:
            return await space.events(pattern=pattern, since=since, limit=limit)

    # -- parts: one for each further kind of record

    @property
    def webhooks(self) -> protocol.Webhooks:
        """Addresses that are notified of events."""
        from tenuto.workspace.webhooks import Webhooks

        return cast("protocol.Webhooks", _Part(partial(self._listeners, Webhooks)))

    @property
    def subscriptions(self) -> protocol.Subscriptions:
        """Addresses that are notified of events until they expire."""
        from tenuto.workspace.webhooks import Subscriptions

        return cast("protocol.Subscriptions", _Part(partial(self._listeners, Subscriptions)))

    @property
    def dead_letters(self) -> StoreDeadLetters:
        """Tasks whose failure nothing handled, poison tasks, and late results."""
        from tenuto.cli.backends.store_records import StoreDeadLetters

        return StoreDeadLetters(self)

    @property
    def keys(self) -> StoreKeys:
        """The API keys of the tenant."""
        from tenuto.cli.backends.store_records import StoreKeys

        return StoreKeys(self)

    @property
    def audit(self) -> StoreAudit:
        """The audit log of the tenant."""
        from tenuto.cli.backends.store_records import StoreAudit

        return StoreAudit(self)

    @property
    def task_definitions(self) -> protocol.TaskDefinitions:
        """Tasks that the tenant has declared."""
        return cast("protocol.TaskDefinitions", _Part(partial(self._of_engine, "task_definitions")))

    @property
    def bulk(self) -> StoreBulk:
        """Actions over many instances or dead letters."""
        from tenuto.cli.backends.store_records import StoreBulk

        return StoreBulk(self)

    @property
    def test_runs(self) -> protocol.TestRuns:
        """Runs of definitions that are not saved."""
        return cast("protocol.TestRuns", _Part(partial(self._of_engine, "test_runs")))

    async def stats(self, hours: int = 24) -> Object:
        """Counts of instances by status, workflow and minute, and of waiting jobs and webhooks."""
        async with self.engine(is_guest=True) as space:
            return await space.stats(hours)

    @asynccontextmanager
    async def _listeners(
        self, kind: type[Webhooks | Subscriptions]
    ) -> AsyncIterator[Webhooks | Subscriptions]:
        reader = await self.reader()
        yield kind(
            reader.store,
            reader.clock,
            SystemIds(),
            may_be_private=self._allow_private,
            tenant=self.tenant,
        )

    @asynccontextmanager
    async def _of_engine(self, name: str) -> AsyncIterator[object]:
        await require_there(self.url)
        async with self.engine() as space:
            yield getattr(space, name)


class _Part:
    """A part of a workspace that is opened with each call of one of its methods."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[object]]) -> None:
        self._opened = opened

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*values: object, **named: object) -> Any:  # noqa: ANN401 - as the part says
            async with self._opened() as part:
                return await getattr(part, name)(*values, **named)

        return call


async def _dry_run(reader: Reader, taken: Event | TenutoError) -> Published | TenutoError:
    if isinstance(taken, TenutoError):
        return taken
    from tenuto.workspace.events import dry_published

    try:
        return dry_published(taken, await reader.inspector.dry_run(taken))
    except StoreUnavailable:
        raise
    except TenutoError as error:
        return error


async def _answered(
    publish: Coroutine[None, None, T], unanswered: Callable[[], StoreUnavailable], again: str
) -> T:
    """The result of publishing; StoreUnavailable after PATIENCE, Interrupted after Ctrl-C."""
    with interruptible() as stopped:
        publishing = asyncio.ensure_future(publish)
        enough = asyncio.ensure_future(stopped.wait())
        try:
            done, _ = await asyncio.wait(
                {publishing, enough}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED
            )
            if publishing in done:
                return publishing.result()
            not_answered = unanswered()
        except StoreUnavailable as error:
            advice = f"{error.advice} {again}".lstrip()
            raise StoreUnavailable(error.message, code=error.code, advice=advice) from error
        finally:
            for task in (publishing, enough):
                task.cancel()
            await asyncio.gather(publishing, enough, return_exceptions=True)
    if enough not in done:
        raise not_answered
    say(f"stopped: {not_answered.message}", style="yellow")
    say_indented(not_answered.advice, 2)
    raise Interrupted


def _unanswered(id: str, *, is_stored: bool) -> StoreUnavailable:
    if is_stored:
        return StoreUnavailable(
            f"the event {id} is stored, but not yet matched: the store is unavailable",
            code=NOT_SEEN_DONE,
            advice="Waits that it matches get it once the store is back and a process works on it: "
            "there is no need to send it again.",
        )
    return StoreUnavailable(
        f"it is not known whether the event is stored: no answer from the store for {PATIENCE:g} s",
        advice=f"When the store is back, send the event again with --id {id}: it acts once.",
    )
