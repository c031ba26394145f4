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
from tenuto.engine.events.wait_finder import term_of
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.events import fits
from tenuto.expr import ExpressionError, Miss, split_condition
from tenuto.model.durations import iso
from tenuto.model.errors import TenutoError
from tenuto.model.events import Event
from tenuto.model.json import JSON
from tenuto.ports import Clock
from tenuto.store.parts.inbox import InboxEvent
from tenuto.store.parts.waits import WaitKey, WaitRow
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

    def __init__(self, store: Store, loader: Loader, clock: Clock) -> None:
        self._store = store
        self._loader = loader
        self._clock = clock

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
        for wait in shown:
            # If no part failed it is on its way, or another wait of the instance took it.
            near = (
                NearEvent(each.event, failed)
                for each in events[wait.pattern]
                if (failed := _failed(wait, each.number, each.event))
                and _is_near(wait, each, failed, created_at)
            )
            # Those with as many failed parts stay in their order: the newest first.
            found[key_of(wait)] = sorted(near, key=lambda each: len(each.failed))[:MOST_NEAR]
            await self._clock.sleep(0)  # yield to other tasks: each wait has a hundred conditions
        return found

    async def of_event(
        self, number: int | None, event: Event, reached: Collection[tuple[str, str, str]]
    ) -> list[NearWait]:
        """The near misses of an event, the nearest first, without the places that it reached."""
        waits = [wait for wait in await self._around(event) if place_of(wait) not in reached]
        states = await self._states(waits)
        missed: list[NearWait] = []
        for wait in waits:
            if _is_read_late(wait) and wait.instance_id not in states:
                continue
            near = NearWait(wait, _failed(wait, number, event, states))
            if near.failed:
                missed.append(near)
            await self._clock.sleep(0)  # yield to other tasks: each part is evaluated by itself
        return sorted(missed, key=lambda each: (len(each.failed), key_of(each.wait)))[:MOST_NEAR]

    async def _recent(self, tenant: str, pattern: str) -> list[InboxEvent]:
        since, seen = self._clock.now() - WITHIN, self._store.seen_by(tenant)
        if "*" not in pattern:
            return await seen.inbox.latest(tenant, pattern, since, limit=MOST_EVENTS)
        latest = await seen.inbox.latest(tenant, None, since, limit=MOST_READ)
        return [each for each in latest if fits(pattern, each.event.pattern)][:MOST_EVENTS]

    async def _around(self, event: Event) -> list[WaitRow]:
        """Waits that compare values of the event, then others of its pattern."""
        tenant = event.tenant
        seen = self._store.seen_by(tenant)
        terms = [
            term_of(term, event)
            for term in await seen.waits.terms(tenant, event.pattern)
            if fits(term.pattern, event.pattern)
        ][:MOST_WAITS]
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
    wait: WaitRow, found: InboxEvent, failed: Sequence[Miss], created_at: datetime
) -> bool:
    """Whether an event that a wait did not take may have been meant for it.

    An event from before the instance is near if its time alone was wrong. One that others took is
    near if it names this instance too, or a part of the condition cannot be evaluated: another
    order's payment is not.
    """
    if found.event.received_at < min(created_at, wait.since):
        return [each.expression for each in failed] == [_SINCE]
    is_taken = found.resumed or found.cancelled or found.started
    if not is_taken or any(each.error is not None for each in failed):
        return True
    if wait.correlation_id is not None and wait.correlation_id == found.event.correlation_id:
        return True
    if wait.condition is None or not wait.captures:
        return False
    captured = msgspec.json.decode(wait.captures)
    return split_condition(wait.condition).relates(found.event.as_value(), captured)


def _is_read_late(wait: WaitRow) -> bool:
    return wait.condition is not None and not wait.captures


def _failed(
    wait: WaitRow, number: int | None, event: Event, states: Mapping[str, Held] | None = None
) -> list[Miss]:
    """Why a wait did not take an event: correlation, condition, or an event that came early."""
    failed: list[Miss] = []
    expected = wait.correlation_id
    if expected is not None and expected != event.correlation_id:
        source = "event.correlationId === correlationId"
        failed.append(Miss(source, event.correlation_id, expected, operator="==="))
    if wait.condition is not None:
        failed += _false_parts(wait, wait.condition, event, states or {})
    looks_back = not wait.is_trigger and not wait.is_cancellation
    since = wait.since if looks_back else wait.opened_at
    came_first = number is not None and number <= wait.follows
    if came_first and not (looks_back and since <= event.received_at):
        received = iso(event.received_at)
        failed.append(Miss(_SINCE, received, iso(since), operator=">="))
    return failed


def _false_parts(
    wait: WaitRow, source: str, event: Event, states: Mapping[str, Held]
) -> list[Miss]:
    condition = split_condition(source)
    captured: list[JSON]
    if wait.captures:
        captured = msgspec.json.decode(wait.captures)
    else:
        held = states[wait.instance_id]
        captured = list(condition.capture(scope_of(held.plan, held.state)))
    value = event.as_value()
    try:
        if condition.matches(value, captured):
            return []
    except ExpressionError as error:
        # A part may be evaluated where the whole condition exceeded a limit.
        return condition.misses(value, captured) or [Miss(source, error=error.message)]
    return condition.misses(value, captured)
