"""The inputs of one turn, and how they are divided when the store refuses some of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from tenuto.engine.turns.requests import EventRequest, Request
from tenuto.store.parts.turns import EventResult, MatchWrite
from tenuto.store.parts.waits import LookedBack


class PendingMatch(NamedTuple):
    """The recipients of an event, on their way into the store."""

    match: MatchWrite
    settled: Callable[[Exception | None], None]
    """Called once they are durable, or with the error; no future for each, since a burst has
    thousands."""
    is_large: bool = False
    """Whether the event is large: a store may write it again with the note that it is matched."""


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
        """Answer those that wait for notes about matching."""
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
        """Refuse every input of the turn."""
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
