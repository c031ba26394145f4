"""Rates and debounces that instances wait for, as users see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from tenuto.model.durations import from_epoch_ms
from tenuto.model.slots import PACES
from tenuto.store.parts.slot_rows import PaceState, Slot
from tenuto.store.parts.slots import Slots
from tenuto.workspace.limit_values import FullLimit


async def paces_of(slots: Slots, waiting: Iterable[Slot]) -> dict[str, PaceState]:
    """By key, the rates and debounces that rows wait for."""
    keys = sorted({slot.blocked_on for slot in waiting if slot.blocked_on.startswith(PACES)})
    return await slots.paces(keys) if keys else {}


def paced(slot: Slot, paces: Mapping[str, PaceState], now: int) -> list[FullLimit]:
    """The rate or debounce that a row waits for; a debounce has no number."""
    state, rate = paces.get(slot.blocked_on), slot.rate
    if state is None:
        return []
    if rate is None or slot.blocked_on != rate.key:
        return [FullLimit(limit=slot.blocked_on, held=0)]
    return [FullLimit(limit=rate.key, held=state.begun(rate.per, now), max=rate.limit)]


def until(slot: Slot, paces: Mapping[str, PaceState]) -> datetime | None:
    """When one of those that wait with the row may begin."""
    state = paces.get(slot.blocked_on)
    at = None if state is None else state.next_at
    return None if at is None else from_epoch_ms(at)
