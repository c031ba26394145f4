"""Streams of the outbox that cannot be delivered, retried with growing pauses."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from tenuto.ports import Clock

log = logging.getLogger("tenuto.outbox")

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds until a stream is retried; doubled each time."""


class _Setback(NamedTuple):
    times: int
    again_at: datetime
    reason: str


class ParkedStreams:
    """Whole streams, so that the order of each is kept.

    In memory only: another process may be able to deliver them.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._setbacks: dict[str, _Setback] = {}

    @property
    def reasons(self) -> Mapping[str, str]:
        """Stream → the reason why it is parked."""
        found = {stream: setback.reason for stream, setback in self._setbacks.items()}
        return MappingProxyType(found)

    @property
    def next_try(self) -> datetime | None:
        """When the first of them is retried."""
        return min((each.again_at for each in self._setbacks.values()), default=None)

    def put(self, stream: str, error: Exception) -> None:
        """Park a stream for a while."""
        before = self._setbacks.get(stream)
        times = 1 if before is None else before.times + 1
        seconds = min(FIRST_PAUSE * 2.0 ** min(times - 1, 20), LONGEST_PAUSE)
        reason = f"{type(error).__name__}: {error}"
        again_at = self._clock.now() + timedelta(seconds=seconds)
        self._setbacks[stream] = _Setback(times, again_at, reason)
        log.error("outbox: stream=%s is parked for %g s: %s", stream, seconds, reason)

    def resting(self) -> set[str]:
        """The streams that are parked now."""
        now = self._clock.now()
        return {stream for stream, each in self._setbacks.items() if each.again_at > now}

    def went(self, streams: Collection[str]) -> None:
        """These streams were delivered, here or elsewhere."""
        for stream in streams:
            if self._setbacks.pop(stream, None) is not None:
                log.info("outbox: stream=%s is delivered again", stream)
