"""What users do with schedules: pause, resume, trigger, backfill and remove them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from tenuto.engine.definitions.calendars import Calendars
from tenuto.engine.document_bytes import DocumentBytes
from tenuto.engine.schedules.firing import Asked, Firing
from tenuto.engine.schedules.in_parts import ids_of_workflow, in_parts
from tenuto.engine.schedules.kept_back import kept_back
from tenuto.engine.schedules.lookup import MOST_TRIES, Lookup, busy, refuse_unless
from tenuto.engine.schedules.work import CONFIRM_AFTER, storable
from tenuto.engine.shared import Shared
from tenuto.schedules import newest_due, next_start
from tenuto.schedules.schedule import Overlap
from tenuto.store.parts.schedules import Fire, ScheduleKey, ScheduleRow, TickRow

_MILLISECOND = timedelta(milliseconds=1)


class Changes:
    """Changes schedules, each from the version that was read."""

    def __init__(
        self,
        shared: Shared,
        *,
        calendars: Calendars,
        firing: Firing,
        lookup: Lookup,
        documents: DocumentBytes,
        hint: Callable[[], None],
        trim: Callable[[Sequence[ScheduleRow]], Awaitable[None]],
    ) -> None:
        """`hint`: there may be something to do. `trim` forgets old ticks of schedules."""
        self._store = shared.store
        self._clock = shared.clock
        self._bounds = shared.settings.bounds
        self._calendars = calendars
        self._firing = firing
        self._lookup = lookup
        self._documents = documents
        self._hint = hint
        self._trim = trim

    async def pause(
        self,
        tenant: str,
        id: str,
        *,
        by: str | None,
        note: str | None = None,
        only_after: int | None = None,
    ) -> ScheduleRow:
        """Start no more ticks until it is resumed; NotFound."""

        def paused(row: ScheduleRow) -> Fire | None:
            if row.status in ("paused", "completed"):
                return None
            now = self._clock.now()
            return Fire(
                row=replace(
                    row,
                    status="paused",
                    note=None if note is None else storable(note),
                    problem=None,
                    tries=0,
                    next_tick=None,
                    next_at=now + CONFIRM_AFTER,
                    changed_at=now,
                    changed_by=by,
                )
            )

        return await self._change(tenant, id, paused, only_after)

    async def resume(
        self, tenant: str, id: str, *, by: str | None, only_after: int | None = None
    ) -> ScheduleRow:
        """Go on; ticks of the time in which it was paused are skipped. NotFound."""
        started = await self._lookup.started(tenant, id)

        def resumed(row: ScheduleRow) -> Fire | None:
            if row.status != "paused":
                return None
            now = self._clock.now()
            schedule = self._lookup.of(row)
            ticks: tuple[TickRow, ...] = ()
            handled, next_tick = row.handled, None
            calendars = self._calendars.known(tenant)
            is_there = schedule is not None and (
                schedule.calendar is None or schedule.calendar in calendars
            )
            if schedule is not None and is_there:
                calendar = None if schedule.calendar is None else calendars[schedule.calendar]
                handled = max(handled, newest_due(schedule, calendar, now) or handled)
                ticks = kept_back(row, schedule, calendar, handled, now, started=started)
                following = next_start(schedule, calendar, handled)
                next_tick = None if following is None else following.at
            state = replace(
                row,
                status="active",
                note=None,
                handled=handled,
                next_tick=next_tick,
                next_at=now,
                changed_at=now,
                changed_by=by,
            )
            return Fire(row=state, ticks=ticks)

        return await self._change(tenant, id, resumed, only_after)

    async def remove(self, tenant: str, id: str) -> None:
        """Remove a schedule and its ticks; NotFound. Its instances stay."""
        row = await self._lookup.get(tenant, id)
        if await self._store.schedules.remove(tenant, id):
            self._documents.removed("schedule_bytes", tenant, len(row.content))

    async def trigger(
        self, tenant: str, id: str, *, by: str | None = None, at: datetime | None = None
    ) -> TickRow:
        """A tick now, or the tick of the nominal time `at`; NotFound.

        What runs already counts as at every tick. InvalidInput if the target does not exist. A tick
        that was started, or waits, is returned as it is.
        """
        _ = by  # who asks is in the audit log
        nominal = self._clock.now() if at is None else at
        if at is None and not nominal.microsecond:
            nominal += _MILLISECOND  # a moment that no expression names
        return await self._tick(tenant, id, Asked(nominal=nominal, mark="manual"))

    async def backfill_tick(
        self, tenant: str, id: str, nominal: datetime, *, overlap: Overlap | None = None
    ) -> TickRow:
        """The tick of a nominal time, which was missed or skipped; NotFound.

        One that was started, or waits, is returned as it is. What runs already does not count,
        unless `overlap` says so.
        """
        asked = Asked(nominal=nominal, mark="backfill", overlap=overlap or "allow")
        return await self._tick(tenant, id, asked)

    async def removed_workflow(self, tenant: str, workflow_id: str) -> int:
        """A workflow was hidden: its schedules stop until it is saved again. Returns how many."""
        stopped = 0
        async for ids in ids_of_workflow(self._store.schedules, tenant, workflow_id):
            keys = {ScheduleKey(tenant, id) for id in ids}
            async for page in in_parts(self._store.schedules, keys, self._bounds):
                stopped += await self._stop(page, f"there is no workflow {workflow_id}")
        return stopped

    async def _stop(self, rows: Sequence[ScheduleRow], problem: str) -> int:
        """No tick of these can succeed; returns how many started something before."""
        stopped = {row.key for row in rows if row.status in ("active", "error")}
        for _ in range(MOST_TRIES):
            next_at = self._clock.now() + CONFIRM_AFTER
            fires = [
                Fire(
                    row=replace(
                        row,
                        version=row.version + 1,
                        status="error",
                        problem=storable(problem),
                        tries=row.tries + 1,
                        next_tick=None,
                        next_at=next_at,
                    )
                )
                for row in rows
                if row.status in ("active", "error")
            ]
            lost = await self._store.schedules.fire(fires)
            if not lost:
                break
            # They were fired meanwhile.
            rows = await self._store.schedules.those(lost, self._bounds.schedule_pass_bytes)
        return len(stopped)

    async def _tick(self, tenant: str, id: str, asked: Asked) -> TickRow:
        for _ in range(MOST_TRIES):
            row = await self._lookup.get(tenant, id)
            there = await self._store.schedules.tick(tenant, id, asked.nominal)
            if there is not None and there.outcome in ("started", "queued"):
                return there
            if self._lookup.sound(row).calendar is not None:
                # After the row was read: one that another process changed since then has moved it.
                await self._calendars.look()
            fire = await self._firing.one(row, asked, self._clock.now())
            if not await self._firing.fire([fire]):
                self._hint()
                await self._trim([row])
                return next(
                    each
                    for each in fire.ticks
                    if each.nominal == asked.nominal and not each.is_range
                )
        raise busy(id)

    async def _change(
        self,
        tenant: str,
        id: str,
        change: Callable[[ScheduleRow], Fire | None],
        only_after: int | None,
    ) -> ScheduleRow:
        """Answer what is due, and then change a schedule."""
        for _ in range(MOST_TRIES):
            row = await self._lookup.get(tenant, id)
            refuse_unless(id, row.revision, only_after)
            row = await self._lookup.advanced(row)
            # After the row was read: one that another process changed since then has moved it.
            await self._calendars.look()
            fire = change(row)
            if fire is None:
                return row
            state = replace(fire.row, version=row.version + 1, revision=row.revision + 1)
            if not await self._store.schedules.fire([replace(fire, row=state)]):
                self._hint()
                return state
        raise busy(id)
