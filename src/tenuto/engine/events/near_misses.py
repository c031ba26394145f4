"""Near misses: events that an open wait nearly took, and waits that an event nearly reached.

Both searches are bounded: some recent events of a wait's pattern, and some open waits and triggers
of an event's pattern. Each near miss has the false parts of its condition. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from tenuto.core.scope import scope_of
from tenuto.engine.events.recipients import key_of, place_of
from tenuto.engine.events.slices import Slices, TenantSlices
from tenuto.engine.events.wait_finder import BYTES_PER_STEP, STEPS_OF_A_WAIT, term_of
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.events import fits
from tenuto.expr import ExpressionError, Miss, SplitCondition, Steps, split_condition
from tenuto.model.durations import iso
from tenuto.model.errors import TenutoError
from tenuto.model.events import Event
from tenuto.model.json import JSON
from tenuto.ports import Clock
from tenuto.store.parts.inbox import InboxEvent
from tenuto.store.parts.waits import WaitKey, WaitRow, WaitTerm
from tenuto.store.protocol import Store

WITHIN = timedelta(hours=24)
MOST_EVENTS = 100
"""The most events of its pattern that are compared with a wait."""
MOST_READ = 1_000
"""The most events of any pattern that are read for a wildcard."""
MOST_WAITS = 100
"""The most waits and triggers that are compared with an event, and the most that are shown of one
instance."""
_SINCE = "event.receivedAt >= since"
MOST_STEPS = 500_000
"""The most steps of the conditions for one answer; what follows is not compared."""
MOST_NEAR = 20
"""The most near misses that are shown, the nearest ones."""


class NearEvent(NamedTuple):
    """An event that a wait did not take, and why."""

    event: Event
    failed: list[Miss]


class NearWait(NamedTuple):
    """A wait or trigger that did not take an event, and why."""

    wait: WaitRow
    failed: list[Miss]


class NearMisses:
    """Reads the inbox and the open waits."""

    def __init__(self, store: Store, loader: Loader, clock: Clock, slices: Slices) -> None:
        self._store = store
        self._loader = loader
        self._clock = clock
        self._slices = slices

    async def of_waits(
        self, tenant: str, waits: Sequence[WaitRow], created_at: datetime
    ) -> dict[WaitKey, list[NearEvent]]:
        """The events that some open waits of an instance nearly took, the nearest first."""
        shown = waits[:MOST_WAITS]
        events = {
            pattern: await self._recent(tenant, pattern)
            for pattern in dict.fromkeys(wait.pattern for wait in shown)
        }
        found: dict[WaitKey, list[NearEvent]] = {}
        work = _Work(self._slices.of(tenant, for_answer=True))
        for wait in shown:
            compared = _Compared(wait, work.steps)
            near: list[NearEvent] = []
            rest: list[NearEvent] = []
            for each in events[wait.pattern]:
                if work.is_over:
                    rest = [NearEvent(each.event, [_not_compared(wait)])]
                    break
                # If no part failed it is on its way, or another wait of the instance took it.
                failed = compared.failed(each.number, each.event)
                if failed and _is_near(compared, each, failed, created_at):
                    near.append(NearEvent(each.event, failed))
                await work.turn()
            # Those with as many failed parts stay in their order: the newest first.
            nearest = sorted(near, key=lambda each: len(each.failed))
            found[key_of(wait)] = nearest[: MOST_NEAR - len(rest)] + rest
        return found

    async def of_event(
        self, number: int | None, event: Event, reached: Collection[tuple[str, str, str]]
    ) -> list[NearWait]:
        """The near misses of an event, the nearest first, without the places that it reached."""
        work = _Work(self._slices.of(event.tenant, for_answer=True))
        around = await self._around(event, work)
        waits = [wait for wait in around if place_of(wait) not in reached]
        states = await self._states(waits)
        missed: list[NearWait] = []
        rest: list[NearWait] = []
        for wait in waits:
            if _is_read_late(wait) and wait.instance_id not in states:
                continue
            if work.is_over:
                rest = [NearWait(wait, [_not_compared(wait)])]
                break
            compared = _Compared(wait, work.steps, states)
            near = NearWait(wait, compared.failed(number, event))
            if near.failed:
                missed.append(near)
            await work.turn()
        nearest = sorted(missed, key=lambda each: (len(each.failed), key_of(each.wait)))
        return nearest[: MOST_NEAR - len(rest)] + rest

    async def _recent(self, tenant: str, pattern: str) -> list[InboxEvent]:
        since, seen = self._clock.now() - WITHIN, self._store.seen_by(tenant)
        if "*" not in pattern:
            return await seen.inbox.latest(tenant, pattern, since, limit=MOST_EVENTS)
        latest = await seen.inbox.latest(tenant, None, since, limit=MOST_READ)
        return [each for each in latest if fits(pattern, each.event.pattern)][:MOST_EVENTS]

    async def _around(self, event: Event, work: _Work) -> list[WaitRow]:
        """Waits that compare values of the event, then others of its pattern."""
        tenant = event.tenant
        seen = self._store.seen_by(tenant)
        known = await seen.waits.terms(tenant, event.pattern)
        fitting = [term for term in known if fits(term.pattern, event.pattern)][:MOST_WAITS]
        terms: list[WaitTerm] = []
        for term in fitting:
            terms.append(term_of(term, event, work.steps))
            await work.turn()
        if not terms:
            return []
        same = await seen.waits.matching(tenant, terms, limit=MOST_WAITS)
        room = max((MOST_WAITS - len(same)) // len(terms), 1)
        others = await seen.waits.near(tenant, terms, limit=room)
        around = {key_of(wait): wait for wait in (*same, *others)}
        return list(around.values())[:MOST_WAITS]

    async def _states(self, waits: Iterable[WaitRow]) -> dict[str, Held]:
        """The instances whose triggers are evaluated on their current state, where readable."""
        wanted = sorted({wait.instance_id for wait in waits if _is_read_late(wait)})
        loaded: Mapping[str, Held | TenutoError] = {}
        if wanted:
            loaded = await self._loader.load(wanted)
        return {id: held for id, held in loaded.items() if isinstance(held, Held)}


def _is_near(
    compared: _Compared, found: InboxEvent, failed: Sequence[Miss], created_at: datetime
) -> bool:
    """Whether an event that a wait did not take may have been meant for it.

    An event from before the instance is near if its time alone was wrong. One that others took is
    near if it names this instance too, or a part of the condition cannot be evaluated: another
    order's payment is not.
    """
    wait = compared.wait
    if found.event.received_at < min(created_at, wait.since):
        return [each.expression for each in failed] == [_SINCE]
    is_taken = found.resumed or found.cancelled or found.started
    if not is_taken or any(each.error is not None for each in failed):
        return True
    if wait.correlation_id is not None and wait.correlation_id == found.event.correlation_id:
        return True
    if wait.condition is None or not wait.captures:
        return False
    return compared.relates(wait.condition, found.event)


def _is_read_late(wait: WaitRow) -> bool:
    return wait.condition is not None and not wait.captures


class _Work:
    """Cuts the comparisons for one answer into slices, and ends them at a budget."""

    def __init__(self, slices: TenantSlices) -> None:
        self.steps = Steps()
        self._slices = slices
        self._told = 0

    @property
    def is_over(self) -> bool:
        return self.steps.taken >= MOST_STEPS

    async def turn(self) -> None:
        """Begin another slice, where one is done."""
        self._slices.steps.taken += self.steps.taken - self._told
        self._told = self.steps.taken
        await self._slices.turn()


class _Compared:
    """A wait whose condition is compared with events; what that takes is counted."""

    def __init__(
        self, wait: WaitRow, steps: Steps, states: Mapping[str, Held] | None = None
    ) -> None:
        self.wait = wait
        self._steps = steps
        self._states = states or {}
        self._captured: list[JSON] | None = None

    def failed(self, number: int | None, event: Event) -> list[Miss]:
        """Why a wait did not take an event: correlation, condition, or an event that came early."""
        wait = self.wait
        self._steps.taken += STEPS_OF_A_WAIT
        failed: list[Miss] = []
        expected = wait.correlation_id
        if expected is not None and expected != event.correlation_id:
            source = "event.correlationId === correlationId"
            failed.append(Miss(source, event.correlation_id, expected, operator="==="))
        if wait.condition is not None:
            failed += self._false_parts(wait.condition, event)
        looks_back = not wait.is_trigger and not wait.is_cancellation
        since = wait.since if looks_back else wait.opened_at
        came_first = number is not None and number <= wait.follows
        if came_first and not (looks_back and since <= event.received_at):
            received = iso(event.received_at)
            failed.append(Miss(_SINCE, received, iso(since), operator=">="))
        return failed

    def relates(self, source: str, event: Event) -> bool:
        """Whether an event has a value of the instance where the condition compares the two."""
        condition = split_condition(source)
        return condition.relates(event.as_value(), self._captures(condition), self._steps)

    def _false_parts(self, source: str, event: Event) -> list[Miss]:
        condition, steps = split_condition(source), self._steps
        captured = self._captures(condition)
        value = event.as_value()
        try:
            if condition.matches(value, captured, steps):
                return []
        except ExpressionError as error:
            # A part may be evaluated where the whole condition exceeded a limit.
            misses = condition.misses(value, captured, steps)
            return misses or [Miss(source, error=error.message)]
        return condition.misses(value, captured, steps)

    def _captures(self, condition: SplitCondition) -> list[JSON]:
        """The instance's side, read once for all events."""
        if self._captured is None:
            wait, steps = self.wait, self._steps
            if wait.captures:
                steps.taken += len(wait.captures) // BYTES_PER_STEP
                self._captured = msgspec.json.decode(wait.captures)
            else:
                held = self._states[wait.instance_id]
                scope = scope_of(held.plan, held.state, steps=steps)
                self._captured = list(condition.capture(scope))
        return self._captured


def _not_compared(wait: WaitRow) -> Miss:
    """Stands for all that follows: the budget of an answer is used up."""
    because = f"not compared, nor what follows: that took more than {MOST_STEPS:,} steps"
    return Miss(wait.condition or _SINCE, error=because)
