"""The loop of schedules: fires those that are due, and closes ticks that have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from itertools import islice

from msgspec import UNSET

from tenuto.engine.definitions.calendars import Calendars
from tenuto.engine.schedules.firing import Firing
from tenuto.engine.schedules.in_parts import ids_of_workflow, in_parts, is_full
from tenuto.engine.schedules.meter import ScheduleMeter
from tenuto.engine.shared import Shared
from tenuto.engine.turns.draft import Draft
from tenuto.model.inputs import Started
from tenuto.ports import Timer
from tenuto.store.parts.schedules import ScheduleKey, ScheduleRow

_MOST_REASONS = 10_000
_TRIM_EVERY = 64
"""One in so many changes of a schedule deletes its oldest ticks."""
_CLOSE_AFTER = 1.0
"""Seconds until ticks are closed whose instances have ended, if nothing waits for them."""
_HELD_ELSEWHERE = 0.1
"""Seconds until schedules are looked at again that another process is about to fire."""
_PAGE = 500


class Passes:
    """Looks at the schedules that are due, and at those that a hint names."""

    def __init__(
        self,
        shared: Shared,
        *,
        calendars: Calendars,
        firing: Firing,
        meter: ScheduleMeter,
        reasons: dict[str, str],
    ) -> None:
        """`reasons`: why starts were refused, by instance; the newest ones are kept."""
        self._shared = shared
        self._store = shared.store
        self._clock = shared.clock
        self._settings = shared.settings
        self._calendars = calendars
        self._firing = firing
        self._meter = meter
        self._reasons = reasons
        self._hint = asyncio.Event()
        self._hinted: set[ScheduleKey] = set()
        """Schedules that are looked at with the next pass, due or not."""
        self._left: set[ScheduleKey] = set()
        """Some that are due, and that the next pass has to go on with: in a store that processes
        share they are still held for this one, and `due` leaves them out."""
        self._behind: ScheduleRow | None = None
        """Where the next pass begins: behind those that were left, which may be thousands."""
        self._ended: set[tuple[ScheduleKey, datetime]] = set()
        """Ticks whose instances have ended."""
        self._saved: set[tuple[str, str]] = set()
        """Workflows that were saved, for which schedules may wait."""
        self._closing: Timer | None = None

    def start(self) -> None:
        """Begin to fire."""
        self._shared.loops.run("schedules", self.run_once, hint=self._hint)

    def hint(self) -> None:
        """There may be something to do."""
        self._hint.set()

    def concluded(self, drafts: Sequence[Draft]) -> None:
        """Instances of schedules have ended, or starts were refused."""
        for draft in drafts:
            if draft.state.schedule is not None or draft.refused_start is not None:
                self._concluded(draft)

    def _concluded(self, draft: Draft) -> None:
        state = draft.state
        if draft.refused_start is not None:
            self._refused(draft)
        elif (
            state.schedule is not None
            and state.status.is_final
            and not draft.before.status.is_final
        ):
            key = ScheduleKey(draft.held.tenant, state.schedule.id)
            self._ended.add((key, state.schedule.nominal))
            if self._firing.may_have_queue(key):
                self._hinted.add(key)
                self._hint.set()
            elif self._closing is None:
                self._closing = self._clock.call_later(_CLOSE_AFTER, self._close)

    def saved_workflow(self, tenant: str, workflow_id: str) -> None:
        """A workflow was saved: schedules in error that start it are looked at at once."""
        self._saved.add((tenant, workflow_id))
        self._hint.set()

    async def run_once(self) -> float:
        """Do what is to do now; returns the seconds until there is more."""
        self._meter.passes += 1
        await self._close_ended()
        await self._look_at_saved()
        now = self._clock.now()
        bounds = self._settings.bounds
        most, most_bytes = bounds.schedules, bounds.schedule_pass_bytes
        behind, self._behind = self._behind, None
        due = await self._store.schedules.due(now, most, most_bytes=most_bytes, behind=behind)
        is_cut = len(due) >= most or is_full(due, most_bytes)
        last = due[-1] if is_cut else None
        hinted, self._hinted = self._hinted, set()
        left, self._left = self._left, set()
        try:
            others = (hinted | left) - {row.key for row in due}
            await self._advance(due, hinted, now)
            del due  # before further ones are read
            async for page in in_parts(self._store.schedules, others, bounds):
                # A change of a calendar moves what is due; these are read whenever they are due.
                await self._calendars.look()
                await self._advance(page, hinted, now)
        except BaseException:
            self._hinted |= hinted
            self._left |= left
            raise
        if self._left and last is not None and not self._store.is_shared:
            # A store that processes share leaves them out: they are held.
            self._behind = last
        if self._left or behind is not None or is_cut:
            return 0.0
        seconds = await self._until_next()
        return min(seconds, _HELD_ELSEWHERE) if self._hinted else seconds

    async def _advance(
        self, rows: Sequence[ScheduleRow], hinted: set[ScheduleKey], now: datetime
    ) -> None:
        if not rows:
            return
        lost, slow = await self._firing.advance(rows, now)
        # Who fired them may have looked before the end that this process has seen.
        self._hinted |= hinted & (lost | slow)
        # Not more than are read at once: of others the time ends for which they are held.
        self._left |= set(islice(slow, self._settings.bounds.schedules - len(self._left)))
        await self.trim([row for row in rows if row.key not in lost | slow])

    async def _until_next(self) -> float:
        next_due = await self._store.schedules.next_due()
        if next_due is None:
            return self._settings.longest_nap
        seconds = (next_due - self._clock.now()).total_seconds()
        if seconds <= 0:
            return _HELD_ELSEWHERE if self._store.is_shared else 0.0
        return min(self._settings.longest_nap, seconds)

    async def _close_ended(self) -> None:
        ended = sorted(self._ended)
        for first in range(0, len(ended), _PAGE):
            page = ended[first : first + _PAGE]
            await self._store.schedules.close(page)
            await self._look_at_queues({key for key, _ in page} - self._hinted)
            self._ended.difference_update(page)

    async def _look_at_queues(self, keys: set[ScheduleKey]) -> None:
        """Look at schedules whose ticks wait, as another process has decided."""
        if not self._store.is_shared:
            return
        for key, ticks in (await self._store.schedules.open_ticks(keys, _PAGE)).items():
            if any(each.outcome == "queued" for each in ticks):
                self._hinted.add(key)

    async def _look_at_saved(self) -> None:
        """Look at schedules in error whose workflows were saved."""
        while self._saved:
            tenant, workflow_id = min(self._saved)
            async for ids in ids_of_workflow(
                self._store.schedules, tenant, workflow_id, status="error"
            ):
                self._hinted |= {ScheduleKey(tenant, id) for id in ids}
            self._saved.discard((tenant, workflow_id))

    async def trim(self, rows: Sequence[ScheduleRow]) -> None:
        """Forget the oldest ticks of schedules that were changed, of one in so many of these."""
        idle, self._firing.idle = self._firing.idle, set()
        for key in sorted(idle | {row.key for row in rows if row.version % _TRIM_EVERY == 0}):
            await self._store.schedules.trim(key, self._settings.bounds.schedule_ticks)

    def _close(self) -> None:
        self._closing = None
        self._hint.set()

    def _refused(self, draft: Draft) -> None:
        assert draft.refused_start is not None
        for request in draft.requests:
            started = request.input
            if isinstance(started, Started) and started.schedule is not UNSET:
                cause = started.schedule
                self._reasons[draft.instance_id] = draft.refused_start.message
                if len(self._reasons) > _MOST_REASONS:
                    del self._reasons[next(iter(self._reasons))]
                self._hinted.add(ScheduleKey(cause.tenant, cause.id))
                self._hint.set()
