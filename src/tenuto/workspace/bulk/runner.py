"""Runs bulk operations, also those that another process accepted."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial

import msgspec
from msgspec.structs import replace

from tenuto.engine.engine import Engine
from tenuto.engine.schedules.lookup import CountedTimes
from tenuto.engine.turns.draft import Draft
from tenuto.model.durations import iso, parse_moment
from tenuto.model.errors import Conflict, NotFound, Overloaded, StoreUnavailable, TenutoError
from tenuto.store.parts.bulk import BulkPlace, BulkRow
from tenuto.workspace.bulk.actions import act
from tenuto.workspace.bulk.record import record_end
from tenuto.workspace.bulk.request import MOST_FAILURES, BulkAsked, ItemFailure, Progress
from tenuto.workspace.bulk.selection import Selection

log = logging.getLogger("tenuto.bulk")

PAGE = 100
"""Items of one turn; then the next operation has its turn."""
AT_ONCE = 20
"""Items that are acted on together, between two writes of the progress."""
HELD_FOR = timedelta(seconds=60)
"""After so long without a write of the progress another process takes over."""
LOOK_EVERY = 5.0
"""Seconds between looks for operations that no process runs."""
LOOK_SOON = 1.0
"""Seconds between looks whether instances of a backfill have ended that other processes run."""
A_TURN = timedelta(milliseconds=50)
"""So long a backfill that waits for instances leaves the turns to others."""
MOST_COUNTED = 100_000
"""A dry run counts no further, and a backfill has no more ticks."""

_ALL = 10_000
_A_MOMENT = timedelta(milliseconds=1)
_asked = msgspec.json.Decoder(BulkAsked).decode
_progress = msgspec.json.Decoder(Progress).decode


class _TakenOver(Exception):
    """Another process has taken the operation over."""


class BulkRunner:
    """Accepts bulk operations and runs those of all tenants in turns, a page of each."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._hint = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._has_waiting = False
        """Whether the operation that had its turn last waits for instances to end."""
        self._stop_hearing: Callable[[], None] | None = None

    def start(self, *, takes_over: bool = False) -> None:
        """Run operations in the background, from now on; asking for one does the same.

        `takes_over`: nothing here has run any yet. Those that the last process of a store left,
        which no other process can have open, go on at once.
        """
        self._is_stopped = False
        if self._running is None:
            is_alone = takes_over and not self._engine.store.is_shared
            self._running = asyncio.ensure_future(self._run(is_alone=is_alone))

    async def stop(self) -> None:
        """Stop; other processes, or the next start, continue the operations."""
        self._is_stopped = True
        if self._stop_hearing is not None:
            self._stop_hearing()
            self._stop_hearing = None
        running, self._running = self._running, None
        if running is not None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def ask(self, tenant: str, asked: BulkAsked, key: str | None) -> BulkRow:
        """Accept an operation; when this returns it is durable. The same key finds the first.

        Conflict where the key was used for something else. QuotaExceeded.
        """
        engine = self._engine
        row = BulkRow(
            tenant=tenant,
            id=_id_of(key) if key is not None else engine.ids.instance_id(engine.clock.now()),
            content=msgspec.json.encode(asked),
            progress=msgspec.json.encode(Progress()),
            created_at=engine.clock.now(),
        )
        there = None if key is None else await engine.store.bulk.get(tenant, row.id)
        if there is None:
            there = await engine.usage.documents.keep(
                "bulk_bytes", tenant, len(row.content), partial(engine.store.bulk.put, row)
            )
        # Another principal may repeat it under the same key.
        read = read_row(there)
        if read is None or replace(read[0], by=asked.by, stopped_by=None) != asked:
            raise Conflict(f"{there.id} was asked for with other content", code="TEN-3073")
        if not self._is_stopped:
            self.start()
        self._hint.set()
        return there

    async def count(self, tenant: str, asked: BulkAsked, most: int = MOST_COUNTED) -> int:
        """How many the filter finds now, up to `most`."""
        engine = self._engine
        selection = Selection(engine, tenant, asked, engine.clock.now() + _A_MOMENT)
        return await _counted(selection, most=most)

    async def count_ticks(self, tenant: str, asked: BulkAsked, most: int) -> CountedTimes:
        """How many ticks a backfill is of, up to `most`, as far as a count goes."""
        engine = self._engine
        selection = Selection(engine, tenant, asked, engine.clock.now() + _A_MOMENT)
        return await selection.count_ticks(None, most)

    async def get(self, tenant: str, id: str) -> BulkRow:
        """An operation of a tenant; NotFound."""
        found = await self._engine.store.seen_by(tenant).bulk.get(tenant, id)
        if found is None:
            raise no_operation(id)
        return found

    async def page(self, tenant: str, limit: int, below: BulkPlace | None) -> list[BulkRow]:
        """The operations of a tenant, newest first."""
        return await self._engine.store.seen_by(tenant).bulk.page(tenant, limit, below=below)

    async def cancel(self, tenant: str, id: str, by: str) -> BulkRow:
        """Stop an operation; finished items are not reverted. NotFound."""
        content = _stopped(await self.get(tenant, id), by)
        found = await self._engine.store.bulk.stop(tenant, id, content)
        if found is None:
            raise no_operation(id)
        self._hint.set()
        return found

    # -- inner

    async def _run(self, *, is_alone: bool) -> None:
        clock = self._engine.clock
        while True:
            try:
                if is_alone:
                    now = clock.now()
                    await self._engine.store.bulk.claim(now + HELD_FOR, now - _A_MOMENT, _ALL)
                    is_alone = False
                worked = await self.run_once()
            except (StoreUnavailable, Overloaded) as error:
                log.warning("bulk operations continue later: %s", error)
                worked = False
            except Exception:
                log.exception("a bulk operation failed, and is tried again")
                worked = False
            if not worked:
                await clock.wait(self._hint, LOOK_SOON if self._has_waiting else LOOK_EVERY)
                self._hint.clear()
                if self._has_waiting:
                    await clock.sleep(A_TURN.total_seconds())

    async def run_once(self) -> bool:
        """Act on one page of the operation that has waited longest; whether there was one."""
        engine = self._engine
        now = engine.clock.now()
        claimed = await engine.store.bulk.claim(now, now + HELD_FOR, 1)
        for row in claimed:
            self._has_waiting = False
            try:
                await self._go_on(row)
            except (asyncio.CancelledError, StoreUnavailable, Overloaded):
                # The next process, this one too, need not wait until the hold is over.
                await self._let_go(row)
                raise
            except _TakenOver:
                log.info("another process runs the bulk operation %s", row.id)
        return bool(claimed)

    async def _go_on(self, row: BulkRow) -> None:
        read = read_row(row)
        if read is None:
            # It would be claimed again and again, and nothing could ever be done.
            await self._saved(row, self._ended(Progress(), "cancelled"), held_for=timedelta())
            return
        engine, (asked, progress) = self._engine, read
        is_repeat = bool(progress.pending)
        if not progress.pending and not progress.is_found and not row.is_stopped:
            before = row.created_at + _A_MOMENT
            selection = Selection(engine, row.tenant, asked, before)
            found = await selection.page(progress.cursor, PAGE)
            progress = replace(
                progress, pending=found.ids, cursor=found.cursor, is_found=found.cursor is None
            )
            row, progress = await self._saved(row, progress)
        while progress.pending and not row.is_stopped:
            room, progress = await self._room(row.tenant, asked, progress)
            if not room:
                # Others have their turn until an instance has ended.
                self._wait_for_ends()
                await self._saved(row, progress, held_for=A_TURN)
                return
            progress = await self._done(row.tenant, asked, progress, room, is_repeat=is_repeat)
            row, progress = await self._saved(row, progress)
        if row.is_stopped:
            unreached = await self._unreached(row, asked, progress)
            progress = replace(self._ended(progress, "cancelled"), unreached=unreached)
        elif progress.is_found:
            progress = self._ended(progress, "done")
        if progress.status != "running":
            # Durable before the end is: whatever happens, an operation that has ended has its line.
            await record_end(engine.store.audit, engine.clock, row, asked, progress)
        await self._saved(row, progress, held_for=timedelta())

    def _wait_for_ends(self) -> None:
        """Look again when an instance of a schedule has ended here."""
        self._has_waiting = True
        if self._stop_hearing is None:
            self._stop_hearing = self._engine.listen(self._heard)

    def _heard(self, draft: Draft) -> None:
        if draft.state.schedule is not None and draft.state.status.is_final:
            self._hint.set()

    async def _room(
        self, tenant: str, asked: BulkAsked, progress: Progress
    ) -> tuple[int, Progress]:
        """How many items may be acted on now, with what is known of those that still run."""
        if asked.concurrency is None or asked.which.schedule_id is None:
            return AT_ONCE, progress
        if len(progress.running) >= asked.concurrency:
            started = [parse_moment(each) for each in progress.running]
            still = await self._engine.schedules.running(tenant, asked.which.schedule_id, started)
            progress = replace(progress, running=tuple(map(iso, sorted(still))))
        return min(asked.concurrency - len(progress.running), AT_ONCE), progress

    async def _unreached(self, row: BulkRow, asked: BulkAsked, progress: Progress) -> int:
        """How many items a stopped operation leaves, at least.

        A count ends at `MOST_COUNTED` beyond its page, and one of ticks also at its budget.
        """
        if progress.is_found:
            return len(progress.pending)
        before = row.created_at + _A_MOMENT
        selection = Selection(self._engine, row.tenant, asked, before)
        return len(progress.pending) + await _counted(selection, progress.cursor)

    async def _saved(
        self, row: BulkRow, progress: Progress, *, held_for: timedelta = HELD_FOR
    ) -> tuple[BulkRow, Progress]:
        changed = replace(
            row,
            progress=msgspec.json.encode(progress),
            is_open=progress.status == "running",
        )
        until = self._engine.clock.now() + held_for
        saved = await self._engine.store.bulk.save(changed, until)
        if saved is None:
            raise _TakenOver
        return saved, progress

    async def _let_go(self, row: BulkRow) -> None:
        with suppress(TenutoError):
            there = await self._engine.store.bulk.get(row.tenant, row.id)
            if there is not None and there.token == row.token:
                await self._engine.store.bulk.save(there, self._engine.clock.now())

    async def _done(
        self, tenant: str, asked: BulkAsked, progress: Progress, room: int, *, is_repeat: bool
    ) -> Progress:
        now, later = progress.pending[:room], progress.pending[room:]
        acts = [act(self._engine, tenant, asked, id, is_repeat=is_repeat) for id in now]
        outcomes = await asyncio.gather(*acts, return_exceptions=True)
        # Only when none of them is under way may another process continue.
        failures: list[ItemFailure] = []
        for each in outcomes:
            if isinstance(each, BaseException):
                raise each
            if each is not None:
                failures.append(each)
        return replace(
            progress,
            pending=later,
            running=(*progress.running, *now) if asked.concurrency is not None else (),
            done=progress.done + len(outcomes) - len(failures),
            failed=progress.failed + len(failures),
            failures=(*progress.failures, *failures)[:MOST_FAILURES],
        )

    def _ended(self, progress: Progress, status: str) -> Progress:
        is_done = status == "done"
        return replace(
            progress,
            status="done" if is_done else "cancelled",
            pending=(),
            ended_at=self._engine.clock.now(),
        )


async def _counted(
    selection: Selection, cursor: str | None = None, *, most: int = MOST_COUNTED
) -> int:
    """How many items there are from a cursor on, up to `most`."""
    if selection.is_backfill:
        return (await selection.count_ticks(cursor, most)).found  # without listing them
    count = 0
    while True:
        found = await selection.page(cursor, 1_000)
        count, cursor = count + len(found.ids), found.cursor
        if cursor is None or count >= most:
            return min(count, most)


def _stopped(row: BulkRow, by: str) -> bytes:
    """The request, with the principal that stopped it first."""
    read = read_row(row)
    if read is None or read[0].stopped_by is not None or read[1].status != "running":
        return row.content
    return msgspec.json.encode(replace(read[0], stopped_by=by))


def _id_of(key: str) -> str:
    """The id of the operation of a key; unlike the key it always fits into a path."""
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def read_row(row: BulkRow) -> tuple[BulkAsked, Progress] | None:
    """The request and the progress of an operation; None, and a log line, if unreadable."""
    try:
        return _asked(row.content), _progress(row.progress)
    except msgspec.MsgspecError as error:
        log.warning("the bulk operation %s of %s cannot be read: %s", row.id, row.tenant, error)
        return None


def no_operation(id: str) -> NotFound:
    """The error for a bulk operation that does not exist."""
    return NotFound(f"there is no bulk operation {id}", code="TEN-3072")
