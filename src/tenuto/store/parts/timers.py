"""Timers that are too far away to be kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from tenuto.model.inputs import TimerKey


class TimerRow(Struct, frozen=True, gc=False, kw_only=True):
    """A timer too far away to be kept in memory."""

    instance_id: str
    key: TimerKey
    due: datetime


class Timers(Protocol):
    """Timers that are rows."""

    async def due(self, now: datetime, limit: int) -> tuple[list[TimerRow], datetime | None]:
        """Timers that are due, oldest first, and when the next one after them is.

        A timer comes again until a write clears it. Where processes share the store, a timer that
        came to one of them does not come to another as long as the first lives.
        """

    async def of(self, instance_ids: Sequence[str]) -> list[TimerRow]:
        """All timers of these instances, ordered by instance and key; none of them is claimed."""
