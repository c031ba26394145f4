"""Finds the waits that events fit: for those that come at the same time, with one question.

Like a turn, a look is for whatever came together while the last one was under way, so that a burst
of events asks little more than a single one, and nobody waits for others to come.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from tenuto.events import fits
from tenuto.expr import ExpressionError, event_term_values, split_condition
from tenuto.model.events import Event
from tenuto.model.json import JSON
from tenuto.store.protocol import Store, WaitKey, WaitRow, WaitTerm

log = logging.getLogger("tenuto.events")

MOST_EVENTS = 500
"""So many are looked up together."""
PAGE = 1_000

_encode = msgspec.json.Encoder().encode

Found = list[WaitRow]
_Question = tuple[Event, "asyncio.Future[Found]"]


class WaitFinder:
    """Whoever asks after an event is stored hears of every wait that was open before it asked."""

    def __init__(self, store: Store, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self._asked: list[_Question] = []
        self._look: asyncio.Task[None] | None = None

    async def fitting(self, event: Event) -> Found:
        """The open waits that an event fits, by key."""
        answer: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        self._asked.append((event, answer))
        if self._look is None or self._look.done():
            self._look = asyncio.ensure_future(self._look_for_all())
        return await answer

    async def _look_for_all(self) -> None:
        while self._asked:
            batch, self._asked = self._asked[:MOST_EVENTS], self._asked[MOST_EVENTS:]
            try:
                found = await self._find([event for event, _ in batch])
            except Exception as error:  # noqa: BLE001 - whoever asked knows what to do about it
                for _, answer in batch:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            for (_, answer), waits in zip(batch, found, strict=True):
                if not answer.done():
                    answer.set_result(waits)

    async def _find(self, events: Sequence[Event]) -> list[Found]:
        found: list[Found] = [[] for _ in events]
        interested = await self._by_term(events)
        after: WaitKey | None = None
        while interested:
            page = await self._store.waits_for(
                self._tenant, list(interested), limit=PAGE, after=after
            )
            for wait in page:
                term = WaitTerm(wait.pattern, wait.term_paths, wait.term_values)
                for index in interested[term]:
                    if is_fit(wait, events[index]):
                        found[index].append(wait)
            if len(page) < PAGE:
                break
            last = page[-1]
            after = WaitKey(last.instance_id, last.node, last.iteration, last.arm)
        return found

    async def _by_term(self, events: Sequence[Event]) -> Mapping[WaitTerm, list[int]]:
        """The places in the index where waits for these events are, and for which of them."""
        of_pattern = {
            pattern: await self._store.wait_terms(self._tenant, pattern)
            for pattern in dict.fromkeys(event.pattern for event in events)
        }
        interested: defaultdict[WaitTerm, list[int]] = defaultdict(list)
        for index, event in enumerate(events):
            value = event.as_value()
            for term in of_pattern[event.pattern]:
                if fits(term.pattern, event.pattern):
                    values = _term_values(term.term_paths, value)
                    interested[WaitTerm(term.pattern, term.term_paths, values)].append(index)
        return interested


def is_fit(wait: WaitRow, event: Event) -> bool:
    """Whether an event is one that a wait is open for, as far as its row tells."""
    if not fits(wait.pattern, event.pattern):
        return False
    if wait.correlation_id is not None and wait.correlation_id != event.correlation_id:
        return False
    if wait.condition is None or not wait.captures:
        # Without captures it is read in the instance as it is: that comes later.
        return True
    captured: list[JSON] = msgspec.json.decode(wait.captures)
    try:
        return split_condition(wait.condition).matches(event.as_value(), captured)
    except ExpressionError as error:
        log.debug("condition of %s/%s: %s", wait.instance_id, wait.node, error)
        return False


def _term_values(term_paths: str, event: Mapping[str, JSON]) -> str:
    if not term_paths:
        return ""
    paths: list[str] = msgspec.json.decode(term_paths)
    return _encode(event_term_values(event, paths)).decode()
