"""Offers a new wait the events that came before it: the wait is opened, and then looks back.

The counterpart of `engine/events/event_router.py`. The store's order decides which event came
before which wait, and which after the start of the instance. Moments count only where a wait limits
how far it looks back.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from functools import partial
from operator import attrgetter

import msgspec

from tenuto.engine.batcher import Batcher
from tenuto.engine.bounds import DEFAULT_BOUNDS
from tenuto.engine.events.look_back_index import first_matches, indexed_terms
from tenuto.engine.events.recipients import place_of
from tenuto.engine.events.slices import Slices
from tenuto.engine.events.wait_finder import is_fit
from tenuto.engine.turns.intake import Intake
from tenuto.engine.turns.requests import Answer, Request
from tenuto.model.events import Event
from tenuto.model.inputs import EventMatched
from tenuto.ports import CLOSE_ENOUGH
from tenuto.store.parts.inbox import PastEvents
from tenuto.store.parts.waits import LookedBack, WaitRow
from tenuto.store.protocol import Store

FIRST_PAGE = 32
"""The events of the first read: most waits take one of the first."""
MOST_MARKS = 4_096

_position = attrgetter("position")


class LookBack:
    """Finds past events for new waits."""

    def __init__(
        self,
        store: Store,
        intake_of: Callable[[str], Intake],
        slices: Slices,
        *,
        page: int = DEFAULT_BOUNDS.look_back_page,
    ) -> None:
        """`page`: the most events of one read."""
        self._store = store
        self._page = page
        self._slices = slices
        self._intake_of = intake_of
        self._leeway = CLOSE_ENOUGH if store.is_shared else timedelta()
        self._first_fits = Batcher(partial(first_matches, store))
        self._marks = _Marks()
        self.under_way: set[tuple[str, str, str]] = set()
        """The places of waits that are looking back now."""

    async def arms_of(self, wait: WaitRow) -> list[WaitRow]:
        """All arms of a wait, given one of them."""
        if not wait.arm:
            return [wait]
        stored = await self._store.waits.of(wait.instance_id)
        arms = [each for each in stored if place_of(each) == place_of(wait)]
        return sorted(arms, key=_position) or [wait]

    async def of(self, arms: Sequence[WaitRow]) -> bool:
        """Offer a new wait the events that came before it was committed, oldest first.

        With several arms it takes the oldest event that matches any, and of those arms the first
        listed.
        """
        place = place_of(arms[0])
        self.under_way.add(place)
        try:
            return await self._of(arms)
        finally:
            self.under_way.discard(place)

    async def _of(self, arms: Sequence[WaitRow]) -> bool:
        wait = arms[0]
        intake = self._intake_of(wait.instance_id)
        async for event in self._past_events(arms):
            arm = await self._first_fit(arms, event)
            if arm is not None and await self._offer(intake, arm, event):
                return True
        await intake.looked_back(LookedBack(*place_of(wait), wait.attempt))
        return False

    async def _first_fit(self, arms: Sequence[WaitRow], event: Event) -> WaitRow | None:
        """The first listed arm that an event matches."""
        for arm in arms:
            slices = self._slices.of(arm.tenant)
            await slices.turn()
            if is_fit(arm, event, slices.steps):
                return arm
        return None

    async def _past_events(self, arms: Sequence[WaitRow]) -> AsyncIterator[Event]:
        """The events of the inbox that any arm may take, in the store's order."""
        asked = dict.fromkeys(map(self._asked, arms))
        firsts = [0 if each.pattern is None else await self._first_fits.ask(each) for each in asked]
        # Most waits find none, since they open a moment after their instance began.
        streams = [
            _Stream(self._store, self._marks, each, first, most=self._page)
            for each, first in zip(asked, firsts, strict=True)
            if first is not None
        ]
        while True:
            heads = [head for stream in streams if (head := await stream.head()) is not None]
            if not heads:
                return
            number, event = min(heads, key=_number)
            for stream in streams:
                stream.drop(number)
            yield event

    def _asked(self, arm: WaitRow) -> PastEvents:
        return PastEvents(
            tenant=arm.tenant,
            pattern=None if arm.is_wildcard else arm.pattern,
            instance_id=arm.instance_id,
            since=arm.since,
            leeway=self._leeway,
            terms=indexed_terms(arm),
        )

    async def _offer(self, intake: Intake, wait: WaitRow, event: Event) -> bool:
        """Whether the wait is settled: it took its last event, or is not open any more."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        report = msgspec.structs.replace(report_of(wait, event), by_lookback=True)
        intake.report(Request(wait.instance_id, report, future=future))
        answer = await future
        if answer.rejection is not None:
            return answer.rejection.code != "TEN-3007"
        return not answer.listens


class _Marks:
    """The numbers up to which waits of instances have taken all past events.

    Without them a wait in a loop would read, in each iteration, all events of the iterations
    before.
    """

    def __init__(self) -> None:
        self._numbers: OrderedDict[PastEvents, int] = OrderedDict()

    def of(self, asked: PastEvents) -> int:
        return self._numbers.get(asked, 0)

    def put(self, asked: PastEvents, number: int) -> None:
        self._numbers[asked] = number
        self._numbers.move_to_end(asked)
        if len(self._numbers) > MOST_MARKS:
            self._numbers.popitem(last=False)


class _Stream:
    """Past events for one arm, page by page."""

    def __init__(
        self, store: Store, marks: _Marks, asked: PastEvents, first: int, *, most: int
    ) -> None:
        """No event before `first` matches; `most` are read at once."""
        self._store = store
        self._marks = marks
        self._asked = asked
        self._page: deque[tuple[int, Event]] = deque()
        self._after = max(marks.of(asked), first - 1)
        self._most = most
        self._size = min(FIRST_PAGE, most)
        self._is_marking = True
        self._is_last = False

    async def head(self) -> tuple[int, Event] | None:
        """The oldest event that was not dropped."""
        while not self._page and not self._is_last:
            page = await self._store.inbox.past(self._asked, after=self._after, limit=self._size)
            self._page.extend(page.items)
            self._after, self._is_last, self._size = page.after, page.is_last, self._most
            if self._is_marking:
                # An event that this wait does not take another may: nothing after it is passed
                # over.
                self._is_marking = not page.items
                self._marks.put(self._asked, page.items[0][0] - 1 if page.items else page.after)
        return self._page[0] if self._page else None

    def drop(self, number: int) -> None:
        if self._page and self._page[0][0] == number:
            self._page.popleft()


def _number(head: tuple[int, Event]) -> int:
    return head[0]


def report_of(wait: WaitRow, event: Event) -> EventMatched:
    """The input that offers an event to a wait."""
    return EventMatched(
        node=wait.node,
        iteration=wait.iteration,
        attempt=wait.attempt,
        event=event,
        arm=wait.arm,
    )
