"""Finds whom an event is for: waits that take it, instances that it cancels, and what it starts."""

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
    """Whom an event is for."""

    waits: list[WaitRow]
    """Which take it, each by the first of its arms that fits."""
    later: list[WaitRow]
    """Which opened after it was stored and will look back: they take the oldest that fits."""
    cancelling: list[WaitRow]
    """Triggers by which it cancels instances."""
    starts: Starts
    at: datetime
    """When all that was found."""

    @property
    def cancelled(self) -> int:
        """How many instances it cancels."""
        return len({wait.instance_id for wait in self.cancelling})


class Recipients:
    """Looks and changes nothing, so that a dry run finds what publishing finds."""

    def __init__(self, finder: WaitFinder, triggers: Triggers, clock: Clock) -> None:
        self._finder = finder
        self._triggers = triggers
        self._clock = clock

    async def of(self, number: int | None, event: Event) -> Targets:
        """Whom an event is for that was stored as `number`, or with None would be stored now."""
        return await self.among(await self._finder.fitting(event), number, event)

    def at_once(self, fitting: Sequence[WaitRow], number: int, event: Event) -> Targets | None:
        """The same as `among` where all are waits, as most are; else None."""
        found = _sorted_out(fitting, number, event)
        if found.cancelling or found.starting:
            return None
        return Targets(found.waits, found.later, [], Starts([], []), self._clock.now())

    async def among(self, fitting: Sequence[WaitRow], number: int | None, event: Event) -> Targets:
        """Whom of all that it fits it is for."""
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
            pass  # it came before there was anything to cancel, or to start
        elif not wait.looked_back and wait.since <= event.received_at:
            # Whoever opened it looks back, or whoever inherits it. Else it has seen this one.
            found.later.append(wait)
    return found


def key_of(wait: WaitRow) -> WaitKey:
    return WaitKey(wait.instance_id, wait.node, wait.iteration, wait.arm)


def place_of(wait: WaitRow) -> tuple[str, str, str]:
    """What all arms of a wait share."""
    return wait.instance_id, wait.node, wait.iteration


def _first_arms(waits: Sequence[WaitRow]) -> list[WaitRow]:
    """Of the arms of one wait the first listed; triggers are sorted out later."""
    if len(waits) < 2:
        return list(waits)
    first: dict[WaitKey, WaitRow] = {}
    for wait in waits:
        is_arm = bool(wait.arm) and not wait.is_trigger and not wait.is_cancellation
        key = key_of(wait)._replace(arm="") if is_arm else key_of(wait)
        if key not in first or wait.position < first[key].position:
            first[key] = wait
    return list(first.values())
