"""Finds the waits that events match: with one query for events that arrive at the same time."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias
from weakref import WeakValueDictionary

import msgspec

from tenuto.engine.batcher import Batcher
from tenuto.engine.events.slices import Slices, TenantSlices
from tenuto.events import fits
from tenuto.expr import ExpressionError, Steps, event_term_values, split_condition
from tenuto.model.events import Event
from tenuto.model.json import JSON
from tenuto.store.parts.waits import WaitKey, WaitRow, WaitTerm
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.events")

PAGE = 1_000
STEPS_OF_A_WAIT = 5
BYTES_PER_STEP = 128

_encode = msgspec.json.Encoder().encode

Found: TypeAlias = list[WaitRow]


class WaitFinder:
    """A query that begins after an event was stored finds every wait that was open before."""

    def __init__(self, store: Store, slices: Slices, *, for_answers: bool = False) -> None:
        """`for_answers`: nothing is matched, the tenant only asks what would be."""
        self._for_answers = for_answers
        self._store = store
        self._slices = slices
        self._together: WeakValueDictionary[str, Batcher[Event, Found]] = WeakValueDictionary()
        """Of each tenant: the costly conditions of one do not delay others."""

    async def fitting(self, event: Event) -> Found:
        """The open waits that an event matches, by key."""
        together = self._together.get(event.tenant)
        if together is None:
            together = self._together[event.tenant] = Batcher(self.fitting_each)
        return await together.ask(event)

    async def fitting_each(self, events: Sequence[Event]) -> list[Found]:
        """For each event the open waits of its tenant that it matches, by key."""
        found: list[Found] = [[] for _ in events]
        for tenant in dict.fromkeys(event.tenant for event in events):
            await self._find(tenant, events, found)
        return found

    async def _find(self, tenant: str, events: Sequence[Event], found: list[Found]) -> None:
        """Add the matches of one tenant's events, with one query for all."""
        slices = self._slices.of(tenant, for_answer=self._for_answers)
        interested = await self._by_term(tenant, events, slices)
        after: WaitKey | None = None
        while interested:
            page = await self._store.waits.matching(
                tenant, list(interested), limit=PAGE, after=after
            )
            for wait in page:
                term = WaitTerm(wait.pattern, wait.term_paths, wait.term_values)
                for index in interested[term]:
                    await slices.turn()
                    if is_fit(wait, events[index], slices.steps):
                        found[index].append(wait)
            if len(page) < PAGE:
                break
            last = page[-1]
            after = WaitKey(last.instance_id, last.node, last.iteration, last.arm)

    async def _by_term(
        self, tenant: str, events: Sequence[Event], slices: TenantSlices
    ) -> Mapping[WaitTerm, list[int]]:
        """The places in the index of waits for a tenant's events, and the events of each."""
        its_own = [(index, each) for index, each in enumerate(events) if each.tenant == tenant]
        of_pattern = {
            pattern: await self._store.waits.terms(tenant, pattern)
            for pattern in dict.fromkeys(event.pattern for _, event in its_own)
        }
        # The places for events of one name are computed once.
        places = {
            pattern: [(term, _paths(term)) for term in terms if fits(term.pattern, pattern)]
            for pattern, terms in of_pattern.items()
        }
        interested: defaultdict[WaitTerm, list[int]] = defaultdict(list)
        for index, event in its_own:
            value = event.as_value()
            for term, paths in places[event.pattern]:
                await slices.turn()
                values = _term_values(paths, value, slices.steps)
                interested[WaitTerm(term.pattern, term.term_paths, values)].append(index)
        return interested


def is_fit(wait: WaitRow, event: Event, steps: Steps) -> bool:
    """Whether an event matches a wait, as far as its row tells; the steps of it are counted."""
    steps.taken += STEPS_OF_A_WAIT
    if not fits(wait.pattern, event.pattern):
        return False
    if wait.correlation_id is not None and wait.correlation_id != event.correlation_id:
        return False
    if wait.condition is None or not wait.captures:
        # Without captures it is evaluated on the state of the instance, later.
        return True
    captured: list[JSON] = msgspec.json.decode(wait.captures)
    steps.taken += len(wait.captures) // BYTES_PER_STEP
    try:
        return split_condition(wait.condition).matches(event.as_value(), captured, steps)
    except ExpressionError as error:
        log.debug("condition of %s/%s: %s", wait.instance_id, wait.node, error)
        return False


def term_of(term: WaitTerm, event: Event, steps: Steps) -> WaitTerm:
    """Where in the index waits are that compare the same and find it in the event."""
    return term._replace(term_values=_term_values(_paths(term), event.as_value(), steps))


def _paths(term: WaitTerm) -> list[str]:
    """What waits under a term compare of an event."""
    paths: list[str] = msgspec.json.decode(term.term_paths) if term.term_paths else []
    return paths


def _term_values(paths: Sequence[str], event: Mapping[str, JSON], steps: Steps) -> str:
    steps.taken += len(paths)
    return _encode(event_term_values(event, paths, steps)).decode() if paths else ""
