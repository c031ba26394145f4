"""What one turn takes on, and how it is taken apart when the store refuses something in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from tenuto.engine.turns.requests import EventRequest, Request
from tenuto.store.parts.turns import EventResult, MatchWrite
from tenuto.store.parts.waits import LookedBack


class PendingMatch(NamedTuple):
    """An event's targets, on their way into the store."""

    match: MatchWrite
    settled: Callable[[Exception | None], None]
    """Told once they are durable, or why they are not; at once, and not a future for each: a burst
    has thousands."""


class PendingLookBack(NamedTuple):
    """A look-back that found nothing, on its way into the store."""

    key: LookedBack
    future: asyncio.Future[None]


class Batch(NamedTuple):
    """Inputs for instances, events for the inbox, and notes about their matching."""

    requests: list[Request]
    events: list[EventRequest]
    matches: list[PendingMatch]
    looked_back: list[PendingLookBack]

    def noted(self) -> None:
        """Tell those who wait for a note about matching that it is durable."""
        for match in self.matches:
            match.settled(None)
        for pending in self.looked_back:
            if not pending.future.done():
                pending.future.set_result(None)

    @property
    def size(self) -> int:
        return sum(len(part) for part in self)

    def parts(self) -> list[Batch]:
        """Smaller batches: one for each kind, or two; inputs of one instance keep their order."""
        kinds = [
            Batch(self.requests, [], [], []),
            Batch([], self.events, [], []),
            Batch([], [], self.matches, []),
            Batch([], [], [], self.looked_back),
        ]
        several = [batch for batch in kinds if batch.size]
        if len(several) > 1:
            return several
        ordered = sorted(self.requests, key=lambda request: request.instance_id)
        middle = (self.size + 1) // 2
        return [
            Batch(ordered[part], self.events[part], self.matches[part], self.looked_back[part])
            for part in (slice(None, middle), slice(middle, None))
        ]

    def refuse(self, error: Exception) -> None:
        """Tell everybody who waits that nothing of this was taken."""
        for request in self.requests:
            request.refuse(error)
        futures: list[asyncio.Future[None] | asyncio.Future[EventResult]] = [
            *(pending.future for pending in self.events),
            *(pending.future for pending in self.looked_back),
        ]
        for future in futures:
            if not future.done():
                future.set_exception(error)
        for match in self.matches:
            match.settled(error)
