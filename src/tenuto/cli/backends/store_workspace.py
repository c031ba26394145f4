"""The workspace of the command line: a store on which other processes may run engines.

It reads and writes the records of the store itself, sends commands to the mailboxes of instances,
and opens a short-lived engine for everything else.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tenuto.cli.backends.by_engine import by_engine, starting
from tenuto.cli.backends.engine import LOCKED, engine
from tenuto.cli.backends.mailbox import NOT_SEEN_DONE
from tenuto.cli.backends.place import ACTOR, tenant_of
from tenuto.cli.backends.reader import Reader, make_room, require_there
from tenuto.cli.backends.recorded import recorded
from tenuto.cli.exits import Interrupted
from tenuto.cli.live_feed import interruptible
from tenuto.cli.served_address import with_address
from tenuto.cli.views.terminal import logs_on_stderr, say, say_indented
from tenuto.compose import is_postgres
from tenuto.model.errors import Overloaded, StoreUnavailable, TenutoError
from tenuto.model.json import Given
from tenuto.model.status import Status
from tenuto.store.protocol import Store
from tenuto.workspace.protocol import Workspace
from tenuto.workspace.stored_workspace import StoredWorkspace
from tenuto.workspace.values import Published, Start

if TYPE_CHECKING:
    from tenuto.access.audit import AuditLog
    from tenuto.app import Tenuto
    from tenuto.cli.backends.store_instance import StoreInstance
    from tenuto.cli.backends.store_parts import (
        StoreBulk,
        StoreCalendars,
        StoreDataQueries,
        StoreDataSources,
        StoreKeys,
        StoreLimits,
        StoreSchedules,
        StoreTaskDefinitions,
        StoreTestRuns,
    )
    from tenuto.cli.backends.store_records import (
        StoreDeadLetters,
        StoreSecrets,
        StoreSubscriptions,
        StoreWebhooks,
    )
    from tenuto.workspace.engine_workspace import EngineWorkspace
    from tenuto.workspace.events import Events

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds after which a store that has not taken an event counts as unavailable."""


_HOLDER: ContextVar[StoreWorkspace | None] = ContextVar("holder of the engine", default=None)
"""The workspace inside of whose engine this task runs."""


@recorded(Workspace)
class StoreWorkspace(StoredWorkspace):
    """The workspace of one tenant, on a store that is named by its URL."""

    def __init__(self, url: str, *, allow_private: bool = False) -> None:
        self.url = url
        self.reader = Reader(url, allow_private=allow_private)
        super().__init__(self.reader, tenant=tenant_of(url), actor=ACTOR)
        self.is_worked_on = True
        """Whether a process runs the steps that follow from the last call."""
        self.reason: str | None = None
        """Why changes are made, for the audit log."""
        self._engine: EngineWorkspace | None = None
        self._one_engine = asyncio.Lock()

    @property
    def space(self) -> StoreWorkspace:
        """Itself, as its instances and parts have it."""
        return self

    def audit_log(self, store: Store) -> AuditLog:
        """What records changes; `store` is the one of an engine, or the one that is read."""
        from tenuto.access.audit import AuditLog

        return AuditLog(store.audit, self.reader.clock, self.reader.ids)

    # -- an engine for a moment

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
            with redirect_stdout(sys.stderr):
                async with engine(self.url, is_brief=True, is_guest=is_guest) as app:
                    self._engine = app.workspace(self.tenant, ACTOR)
                    try:
                        yield self._engine
                    finally:
                        self._engine = None

    async def in_bulk(self, start: Callable[[EngineWorkspace], Awaitable[T]]) -> T:
        """Start a bulk operation, and run it here unless a process works on the store."""
        # Only a database may have other processes: a file is locked by the one that has it.
        is_worked_on = is_postgres(self.url) and await self.reader.store.members.workers() > 0
        async with self.lent() as space:
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

    @asynccontextmanager
    async def lent(self, *, is_new: bool = False) -> AsyncIterator[EngineWorkspace]:
        """The same workspace with an engine; the default store is made if it `is_new`."""
        if is_new:
            make_room(self.url)
        else:
            await require_there(self.url)
        async with self.engine(is_guest=is_new) as space:
            yield space

    # -- definitions

    deploy = by_engine(Workspace.deploy, is_new=True)
    save = by_engine(Workspace.save, is_new=True)

    async def remove_definition(self, id: str, *, force: bool = False) -> int:
        """Remove a definition; Conflict while instances of it run, unless `force` cancels them."""
        if force:
            return await self.in_bulk(lambda space: space.remove_definition(id, force=True))
        async with self.lent() as space:
            return await space.remove_definition(id)

    # -- instances

    start = starting(Workspace.start)
    _start_many = by_engine(Workspace.start_many)

    async def start_many(self, asked: Sequence[Start]) -> list[StoreInstance | TenutoError]:
        """Start up to 1,000 at once; a refused start gives an error at its place."""
        self.is_worked_on = False
        return [
            each if isinstance(each, TenutoError) else self._own(each.id)
            for each in await self._start_many(asked)
        ]

    def at(self, id: str, *, is_known: bool = False) -> StoreInstance:
        """A reference to an instance, without a look-up; its methods raise NotFound."""
        from tenuto.cli.backends.store_instance import StoreInstance

        return StoreInstance(self, id, is_known=is_known)

    async def instance(self, id: str) -> StoreInstance:
        """A reference to an instance; NotFound when there is none."""
        await self._require(id)
        return self._own(id)

    def _own(self, id: str) -> StoreInstance:
        return self.at(id, is_known=True)

    def _listeners_changed(self) -> None:
        """An engine polls."""

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
        id = id or self.reader.ids.instance_id(self.reader.clock.now())

        def publish(inbox: Events) -> Coroutine[None, None, Published]:
            return inbox.publish(
                pattern,
                payload,
                id=id,
                correlation_id=correlation_id,
                timestamp=timestamp,
                dry_run=dry_run,
            )

        if dry_run:
            return await publish(self.inbox)

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
            return await self.inbox.publish_all(document, dry_run=True)
        unanswered = StoreUnavailable(
            "it is not known whether the events are stored: the store has not answered for "
            f"{PATIENCE:g} s",
            advice="Send the document again when the store is back: an event with an id acts once.",
        )
        return await self._published(
            lambda inbox: inbox.publish_all(document),
            lambda _: unanswered,
            "Then send the document again: an event with an id acts once.",
        )

    async def _published(
        self,
        publish: Callable[[Events], Coroutine[None, None, T]],
        unanswered: Callable[[Tenuto], StoreUnavailable],
        again: str,
    ) -> T:
        await require_there(self.url)
        try:
            async with self.alone():
                self.is_worked_on = True
                with redirect_stdout(sys.stderr), logs_on_stderr():
                    async with engine(self.url, is_guest=True) as app:
                        publishing = publish(app.workspace(self.tenant, ACTOR).inbox)
                        found = await _answered(publishing, partial(unanswered, app), again)
                        with suppress(StoreUnavailable):
                            is_shared = is_postgres(self.url)
                            self.is_worked_on = (
                                is_shared and await app.engine.store.members.workers() > 0
                            )
        except StoreUnavailable as error:
            if error.code != LOCKED:
                raise
            refused = StoreUnavailable(
                f"{error.message}; only that process can take events",
                code=LOCKED,
                advice="Publish from that process (app.publish), or stop it, send the event, and "
                "start it again: nothing is lost, and the process finds the event.",
            )
            raise with_address(refused, self.url, sys.argv[1:]) from None
        return found

    # -- parts: one for each further kind of record

    @property
    def keys(self) -> StoreKeys:
        """The API keys of the tenant."""
        from tenuto.cli.backends.store_parts import StoreKeys

        return StoreKeys(self)

    @property
    def webhooks(self) -> StoreWebhooks:
        """Addresses that are notified of events."""
        from tenuto.cli.backends.store_records import StoreWebhooks

        return self._listeners(StoreWebhooks).of(self)

    @property
    def subscriptions(self) -> StoreSubscriptions:
        """Addresses that are notified of events until they expire."""
        from tenuto.cli.backends.store_records import StoreSubscriptions

        return self._listeners(StoreSubscriptions).of(self)

    @property
    def dead_letters(self) -> StoreDeadLetters:
        """Tasks whose failure nothing handled, poison tasks, and late results."""
        from tenuto.cli.backends.store_records import StoreDeadLetters

        return StoreDeadLetters(self)

    @property
    def task_definitions(self) -> StoreTaskDefinitions:
        """Tasks that the tenant has declared."""
        from tenuto.cli.backends.store_parts import StoreTaskDefinitions

        return StoreTaskDefinitions(self)

    @property
    def schedules(self) -> StoreSchedules:
        """What is started at certain times."""
        from tenuto.cli.backends.store_parts import StoreSchedules

        return StoreSchedules(self)

    @property
    def secrets(self) -> StoreSecrets:
        """Values that steps use and no record shows."""
        from tenuto.cli.backends.store_records import StoreSecrets

        return StoreSecrets(self)

    @property
    def calendars(self) -> StoreCalendars:
        """Business calendars."""
        from tenuto.cli.backends.store_parts import StoreCalendars

        return StoreCalendars(self)

    @property
    def data_sources(self) -> StoreDataSources:
        """Databases that data queries read."""
        from tenuto.cli.backends.store_parts import StoreDataSources

        return StoreDataSources(self)

    @property
    def data_queries(self) -> StoreDataQueries:
        """Statements that workflows run by their ids."""
        from tenuto.cli.backends.store_parts import StoreDataQueries

        return StoreDataQueries(self)

    @property
    def limits(self) -> StoreLimits:
        """How many instances run at once, and which wait for a slot."""
        from tenuto.cli.backends.store_parts import StoreLimits

        return StoreLimits(self)

    @property
    def bulk(self) -> StoreBulk:
        """Actions over many instances or dead letters."""
        from tenuto.cli.backends.store_parts import StoreBulk

        return StoreBulk(self)

    @property
    def test_runs(self) -> StoreTestRuns:
        """Runs of definitions that are not saved."""
        from tenuto.cli.backends.store_parts import StoreTestRuns

        return StoreTestRuns(self)


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
