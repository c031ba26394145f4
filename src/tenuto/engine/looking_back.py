"""Offers a new wait the events that came before it: it is opened, and only then looks back.

The other half of `engine/postmaster.py`. Which event came before which wait is the store's order;
moments decide only how far a wait looks back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from operator import attrgetter

import msgspec

from tenuto.engine.intake import Intake
from tenuto.engine.recipients import place_of
from tenuto.engine.requests import Request
from tenuto.engine.together import Together
from tenuto.engine.wait_finder import is_fit
from tenuto.model.events import Event
from tenuto.model.inputs import EventMatched
from tenuto.store.columns import DEFAULT_TENANT
from tenuto.store.protocol import LookedBack, Store, WaitRow

PAGE = 500
_position = attrgetter("position")


class LookingBack:
    """Finds past events for new waits."""

    def __init__(self, store: Store, intake_of: Callable[[str], Intake]) -> None:
        self._store = store
        self._intake_of = intake_of
        self._newest = Together(partial(store.newest_events, DEFAULT_TENANT))

    async def arms_of(self, wait: WaitRow) -> list[WaitRow]:
        """All arms of a wait, of which one is known."""
        if not wait.arm:
            return [wait]
        stored = await self._store.waits(wait.instance_id)
        arms = [each for each in stored if place_of(each) == place_of(wait)]
        return sorted(arms, key=_position) or [wait]

    async def of(self, arms: Sequence[WaitRow]) -> bool:
        """Offer a new wait the events that came before it was committed, oldest first.

        Where it has several arms, the oldest that fits any of them, and of those the first listed.
        """
        wait = arms[0]
        intake = self._intake_of(wait.instance_id)
        async for event in self._past_events(arms):
            arm = next((each for each in arms if is_fit(each, event)), None)
            if arm is not None and await self._offer(intake, arm, event):
                return True
        await intake.looked_back(LookedBack(*place_of(wait), wait.attempt))
        return False

    async def _past_events(self, arms: Sequence[WaitRow]) -> AsyncIterator[Event]:
        """What the inbox has of all patterns that a wait is open for, oldest first."""
        wait = arms[0]
        names = {arm.pattern for arm in arms if not arm.is_wildcard}
        is_wild = any(arm.is_wildcard for arm in arms)
        if not is_wild and not await self._has_come(names, wait.since):
            return  # as most find that open a moment after their instance began
        patterns: Collection[str | None] = {None} if is_wild else names
        streams = [
            _Stream(self._store, wait.tenant, pattern, wait.since)
            for pattern in sorted(patterns, key=str)
        ]
        while True:
            heads = [head for stream in streams if (head := await stream.head()) is not None]
            if not heads:
                return
            number, event = min(heads, key=lambda head: (head[1].received_at, head[0]))
            for stream in streams:
                stream.drop(number)
            yield event

    async def _has_come(self, names: Collection[str], since: datetime) -> bool:
        """Whether the inbox has any event of these names that was received from `since` on."""
        newest = [await self._newest.ask(name) for name in names]
        return any(moment is not None and moment >= since for moment in newest)

    async def _offer(self, intake: Intake, wait: WaitRow, event: Event) -> bool:
        """Whether the wait is settled: it took the event, or is not open any more."""
        future = asyncio.get_running_loop().create_future()
        report = msgspec.structs.replace(report_of(wait, event), by_lookback=True)
        intake.report(Request(wait.instance_id, report, future=future))
        answer = await future
        return answer.rejection is None or answer.rejection.code != "TEN-3007"


class _Stream:
    """Past events of one pattern, or of all, page after page."""

    def __init__(self, store: Store, tenant: str, pattern: str | None, since: datetime) -> None:
        self._read = partial(store.events_since, tenant, pattern, since, limit=PAGE)
        self._page: deque[tuple[int, Event]] = deque()
        self._after = 0
        self._is_last = False

    async def head(self) -> tuple[int, Event] | None:
        """The oldest that was not dropped."""
        if not self._page and not self._is_last:
            self._page.extend(await self._read(after=self._after))
            self._is_last = len(self._page) < PAGE
            if self._page:
                self._after = self._page[-1][0]
        return self._page[0] if self._page else None

    def drop(self, number: int) -> None:
        if self._page and self._page[0][0] == number:
            self._page.popleft()


def report_of(wait: WaitRow, event: Event) -> EventMatched:
    return EventMatched(
        node=wait.node,
        iteration=wait.iteration,
        attempt=wait.attempt,
        event=event,
        arm=wait.arm,
    )
