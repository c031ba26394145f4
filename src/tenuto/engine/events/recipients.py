"""Finds the recipients of an event: waits, instances that it cancels, and starts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tenuto.engine.events.triggers import Starts, Triggers
from tenuto.engine.events.wait_finder import WaitFinder
from tenuto.model.events import Event
from tenuto.ports import Clock
from tenuto.store.parts.waits import WaitKey, WaitRow


class Targets(NamedTuple):
    """The recipients of an event."""

    waits: list[WaitRow]
    """Waits that take it, each by its first matching arm."""
    later: list[WaitRow]
    """Waits that opened after it was stored and will look back: they take the oldest match."""
    cancelling: list[WaitRow]
    """Triggers by which it cancels instances."""
    starts: Starts
    at: datetime
    """When these were found."""

    @property
    def cancelled(self) -> int:
        """The number of instances that it cancels."""
        return len({wait.instance_id for wait in self.cancelling})


class Recipients:
    """Reads only, so that a dry run finds the same recipients as publishing."""

    def __init__(self, finder: WaitFinder, triggers: Triggers, clock: Clock) -> None:
        self._finder = finder
        self._triggers = triggers
        self._clock = clock

    async def of(self, number: int | None, event: Event) -> Targets:
        """The recipients of an event stored as `number`, or with None of one not stored yet."""
        return await self.among(await self._finder.fitting(event), number, event)

    def at_once(self, fitting: Sequence[WaitRow], number: int, event: Event) -> Targets | None:
        """The same as `among` for events that match waits only, as most do; else None."""
        found = _sorted_out(fitting, number, event)
        if found.cancelling or found.starting:
            return None
        return Targets(found.waits, found.later, [], Starts([], []), self._clock.now())

    async def among(self, fitting: Sequence[WaitRow], number: int | None, event: Event) -> Targets:
        """The recipients among all rows that an event matches."""
        waits, later, cancelling, starting = _sorted_out(fitting, number, event)
        now = self._clock.now()
        if cancelling:
            cancelling = await self._triggers.cancelled_by(event, cancelling)
        starts = Starts([], [])
        if starting:
            starts = await self._triggers.started_by(event, starting, now)
        return Targets(waits, later, cancelling, starts, now)


class _SortedOut(NamedTuple):
    waits: list[WaitRow]
    later: list[WaitRow]
    cancelling: list[WaitRow]
    starting: list[WaitRow]


def _sorted_out(fitting: Sequence[WaitRow], number: int | None, event: Event) -> _SortedOut:
    found = _SortedOut([], [], [], [])
    for wait in _first_arms(fitting):
        if number is None or wait.follows < number:
            if wait.is_trigger:
                found.starting.append(wait)
            elif wait.is_cancellation:
                found.cancelling.append(wait)
            else:
                found.waits.append(wait)
        elif wait.is_trigger or wait.is_cancellation:
            pass  # the event came before the instance or the definition
        elif not wait.looked_back and wait.since <= event.received_at:
            # The process that opened the wait, or its successor, looks back; else it has seen this
            # event.
            found.later.append(wait)
    return found


def key_of(wait: WaitRow) -> WaitKey:
    return WaitKey(wait.instance_id, wait.node, wait.iteration, wait.arm)


def place_of(wait: WaitRow) -> tuple[str, str, str]:
    """The key that all arms of a wait share."""
    return wait.instance_id, wait.node, wait.iteration


def _first_arms(waits: Sequence[WaitRow]) -> list[WaitRow]:
    """The first arm of each wait, in their listed order; triggers are handled later."""
    if len(waits) < 2:
        return list(waits)
    first: dict[WaitKey, WaitRow] = {}
    for wait in waits:
        is_arm = bool(wait.arm) and not wait.is_trigger and not wait.is_cancellation
        key = key_of(wait)._replace(arm="") if is_arm else key_of(wait)
        if key not in first or wait.position < first[key].position:
            first[key] = wait
    return list(first.values())
