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
        """Claim timers that are due, oldest first; also returns when the next one is due.

        A timer is returned at every call until a write clears it. If processes share the store, a
        timer that one of them has claimed is not given to another while the first one is alive.
        """

    async def of(self, instance_ids: Sequence[str]) -> list[TimerRow]:
        """All timers of these instances, ordered by instance and key; they are not claimed."""
