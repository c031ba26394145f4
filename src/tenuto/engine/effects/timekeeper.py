"""Reports due timers: near ones from memory, the others from their rows."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from tenuto.core import Rejection
from tenuto.core.timer import NOT_DUE
from tenuto.engine.bounds import DEFAULT_BOUNDS
from tenuto.engine.loops import Loops
from tenuto.engine.turns.requests import Request
from tenuto.model.effects import SetTimer
from tenuto.model.errors import StoreUnavailable
from tenuto.model.inputs import TimerDue, TimerKey, TimerKind
from tenuto.model.policy import NEAR
from tenuto.ports import Clock
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.timers")

_MOST_UNKNOWN = 100
"""So many unknown kinds are logged."""


class Timekeeper:
    """One heap for near timers, one query for far ones."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        report: Callable[[Request], None],
        *,
        longest_nap: float = 30.0,
        batch: int = DEFAULT_BOUNDS.timer_batch,
    ) -> None:
        """The clock may be set, so a pause is never longer than `longest_nap` seconds.

        `batch`: the most due rows in hand at once.
        """
        self._store = store
        self._clock = clock
        self._report = report
        self._near: list[tuple[datetime, str, TimerKey]] = []
        self._armed: dict[tuple[str, TimerKey], datetime] = {}
        self._in_hand: set[tuple[str, TimerKey, datetime]] = set()
        """Far timers that were reported and whose rows are not cleared yet."""
        self._parked: set[tuple[str, TimerKey, datetime]] = set()
        """Far timers of instances that this program cannot read."""
        self._unknown: set[str] = set()
        """Kinds of timers that are unknown to this program, and were logged."""
        self._next_row: datetime | None = None
        self._must_look = True
        self._hint = asyncio.Event()
        """Set when the next pass may have to come sooner."""
        self._longest_nap = longest_nap
        self._is_stopped = False
        self._batch = batch

    def let_all_go(self) -> None:
        """Drop the timers in memory, which may be another process's now; read the rows again."""
        self._near.clear()
        self._armed.clear()
        self._in_hand.clear()
        self._parked.clear()
        self.look()

    def look(self) -> None:
        """Read the rows: other processes may have left some."""
        self._must_look = True
        self._hint.set()

    def set(self, instance_id: str, timer: SetTimer) -> None:
        """Arm a timer that was set."""
        if timer.due - timer.set_at <= NEAR:
            self._arm(instance_id, timer.key, timer.due)
        else:
            self._look_at(timer.due)

    def _look_at(self, moment: datetime) -> None:
        if self._next_row is None or moment < self._next_row:
            self._next_row = moment
            self._hint.set()

    def _arm(self, instance_id: str, key: TimerKey, due: datetime) -> None:
        self._armed[instance_id, key] = due
        heapq.heappush(self._near, (due, instance_id, key))
        if self._near[0][0] == due:
            self._hint.set()

    def clear(self, instance_id: str, key: TimerKey) -> None:
        """Forget a near timer."""
        self._armed.pop((instance_id, key), None)

    def forget(self, instance_id: str) -> None:
        """Forget all near timers of an instance."""
        for armed in [each for each in self._armed if each[0] == instance_id]:
            del self._armed[armed]

    def decided(self, instance_id: str, report: TimerDue, rejection: Rejection | None) -> None:
        """A reported timer was decided on; one that was not due after all is reported again."""
        was_a_row = self.let_go(instance_id, report)
        if rejection is None or rejection.code != NOT_DUE:
            return
        if was_a_row:
            self._must_look = True
        else:
            self._arm(instance_id, report.key, report.due)
        self._hint.set()

    def park(self, instance_id: str, report: TimerDue) -> None:
        """The instance does not exist, or cannot be read here: the row stays."""
        if self.let_go(instance_id, report):
            self._parked.add((instance_id, report.key, report.due))

    def unpark(self, instance_id: str) -> None:
        """The instance can be decided on again: report its due rows."""
        self._parked = {parked for parked in self._parked if parked[0] != instance_id}
        self.look()

    def let_go(self, instance_id: str, report: TimerDue) -> bool:
        """Remove a row from those in hand; returns whether it was one."""
        hand = (instance_id, report.key, report.due)
        if hand not in self._in_hand:
            return False
        if not self._has_room:
            self._hint.set()
        self._in_hand.discard(hand)
        return True

    def stop(self) -> None:
        """Report nothing more: what is due goes on in the next process."""
        self._is_stopped = True

    def start(self, loops: Loops) -> None:
        loops.run("timekeeper", self._tend, hint=self._hint)

    async def _tend(self) -> float:
        await self.run_once()
        return self._nap()

    async def run_once(self) -> int:
        """One pass; returns how many timers were reported."""
        if self._is_stopped:
            return 0
        now = self._clock.now()
        reported = self._report_near(now)
        if self._has_room and (
            self._must_look or (self._next_row is not None and self._next_row <= now)
        ):
            reported += await self._report_far(now)
        return reported

    @property
    def _has_room(self) -> bool:
        """Whether few enough rows are in hand to fetch more: a flood is read in batches."""
        return len(self._in_hand) < self._batch

    def _report_near(self, now: datetime) -> int:
        reported = 0
        while self._near and self._near[0][0] <= now:
            due, instance_id, key = heapq.heappop(self._near)
            if self._armed.get((instance_id, key)) == due:
                del self._armed[instance_id, key]
                self._report(Request(instance_id, TimerDue(key=key, due=due)))
                reported += 1
        return reported

    async def _report_far(self, now: datetime) -> int:
        # A timer that is set during the query may be missing from its result, so reset first.
        self._must_look, self._next_row = False, None
        try:
            limit = self._batch + len(self._in_hand) + len(self._parked)
            rows, following = await self._store.timers.due(now, limit)
        except StoreUnavailable:
            self._must_look = True
            raise
        if len(rows) < limit:
            # These are all due rows: a missing one was cleared by a program that can read it.
            self._parked &= {(row.instance_id, row.key, row.due) for row in rows}
        reported = 0
        for row in rows:
            hand = (row.instance_id, row.key, row.due)
            if hand not in self._in_hand and hand not in self._parked:
                self._in_hand.add(hand)
                self._note_if_unknown(row.instance_id, row.key)
                self._report(Request(row.instance_id, TimerDue(key=row.key, due=row.due)))
                reported += 1
        if following is not None:
            self._look_at(following)
        return reported

    def _note_if_unknown(self, instance_id: str, key: TimerKey) -> None:
        """Log the first timer of each kind that this program does not know."""
        kind = key.node.partition(":")[0] if key.kind is TimerKind.GO_ON else ""
        if kind and kind not in self._unknown and len(self._unknown) < _MOST_UNKNOWN:
            self._unknown.add(kind)
            log.warning(
                "instance=%s: timers of the kind %s are unknown here, and are left to a newer "
                "version of this program",
                instance_id,
                kind,
            )

    def _nap(self) -> float:
        """Seconds until the next timer; rounded up, since a timer never fires early."""
        if self._is_stopped:
            return self._longest_nap
        moments = [self._near[0][0]] if self._near else []
        if self._next_row is not None and self._has_room:
            moments.append(self._next_row)
        if not moments:
            return self._longest_nap
        wait = (min(moments) - self._clock.now()) / timedelta(seconds=1)
        return min(max(wait, 0.0), self._longest_nap)
