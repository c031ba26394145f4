"""Takes over the work of dead processes, as ordinary inputs.

The obligations of an instance follow from its log: its successor records open attempts as lost, and
performs outstanding effects. Everything else is a row that its own loop finds.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from tenuto.engine.bounds import DEFAULT_BOUNDS
from tenuto.engine.events.event_router import EventRouter, StoredEvent
from tenuto.engine.events.look_back import LookBack
from tenuto.engine.events.recipients import key_of, place_of
from tenuto.engine.turns.requests import Request, TakenOver
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.store.parts.turns import EventResult
from tenuto.store.parts.waits import WaitKey, WaitRow
from tenuto.store.protocol import Store

_SLICE = 100
"""While more inputs wait before the lanes, no further instance is taken up."""

log = logging.getLogger("tenuto.recovery")


class Takeover:
    """Takes over owned instances and due rows, never data that is merely stored."""

    def __init__(
        self,
        *,
        store: Store,
        router: EventRouter,
        look_back: LookBack,
        report: Callable[[Request], None],
        has_room: Callable[[], bool] = lambda: True,
        waiting: Callable[[], int] = lambda: 0,
        batch: int = DEFAULT_BOUNDS.recovery_batch,
    ) -> None:
        """`has_room`: whether more can be taken over now; `batch`: how many are claimed at once.

        `waiting`: how many promised inputs wait before the lanes.
        """
        self._store = store
        self._router = router
        self._past = look_back
        self._report = report
        self._has_room = has_room
        self._waiting = waiting
        self._batch = batch
        self._claimed: deque[str] = deque()
        """Instances that are owned by this process and not taken up yet, the oldest first."""

    async def take_over(self) -> int:
        """Claim the instances of dead processes; returns how many there were."""
        count = 0
        # A process without room also claims, for none: else each heartbeat would report them.
        while orphans := await self._store.members.claim_orphans(
            self._batch if self._has_room() else 0
        ):
            self._claimed.extend(orphan.instance_id for orphan in orphans)
            count += len(orphans)
        self.take_up()
        return count

    def take_up(self) -> bool:
        """Hand a slice of the claimed instances to their lanes; whether there are more.

        A slice is what is missing to a few waiting inputs: so recovery delays new work by little,
        however much there is to recover. An instance that something happens to before its turn is
        taken up then.
        """
        for _ in range(min(len(self._claimed), _SLICE - self._waiting())):
            self._report(Request(self._claimed.popleft(), TakenOver()))
        return bool(self._claimed)

    def let_all_go(self) -> None:
        """Forget the claimed instances, which may be another process's now."""
        self._claimed.clear()

    async def finish(self) -> None:
        """Match events, and let waits look back, that dead processes left, however many.

        Those that this process has in hand are passed over.
        """
        await self._finish_matching()
        await self._finish_looking_back()

    async def _finish_matching(self) -> None:
        left_alone: set[int] = set()
        while True:
            in_hand = set(self._router.unmatched)
            found = await self._store.inbox.unmatched(self._batch + len(left_alone) + len(in_hand))
            in_hand |= self._router.unmatched
            loop = asyncio.get_running_loop()
            stored = [
                StoredEvent(EventResult("stored", number=number), event, loop.create_future())
                for number, event in found
                if number not in left_alone and (event.tenant, event.id) not in in_hand
            ]
            if not stored:
                return
            try:
                # A crash in a burst leaves thousands: together they take one query and some turns.
                await self._router.match_together(stored)
            finally:
                left_alone |= set(_refused(stored))

    async def _finish_looking_back(self) -> None:
        left_alone: set[WaitKey] = set()
        while True:
            in_hand = set(self._past.under_way)
            found = await self._store.waits.unlooked(self._batch + len(left_alone) + len(in_hand))
            in_hand |= self._past.under_way
            new = [
                wait
                for wait in found
                if key_of(wait) not in left_alone and place_of(wait) not in in_hand
            ]
            waits = {place_of(wait): wait for wait in new}
            if not waits:
                return
            outcomes = await asyncio.gather(
                *(self._look_back(wait) for wait in waits.values()),
                return_exceptions=True,
            )
            for place, outcome in zip(waits, outcomes, strict=True):
                if isinstance(outcome, TenutoError) and not isinstance(outcome, StoreUnavailable):
                    log.error("wait=%s cannot look back: %s", place, outcome)
                    left_alone |= {key_of(wait) for wait in new if place_of(wait) == place}
                elif isinstance(outcome, BaseException):
                    raise outcome

    async def _look_back(self, wait: WaitRow) -> bool:
        return await self._past.of(await self._past.arms_of(wait))


def _refused(stored: Iterable[StoredEvent]) -> Iterator[int]:
    """The numbers of events that the store refuses: they must not block every process."""
    for each in stored:
        if not each.future.done():
            each.future.cancel()
        elif not each.future.cancelled() and (error := each.future.exception()) is not None:
            log.error("event=%s cannot be matched: %s", each.event.id, error)
            yield each.result.number
