"""Streams of the outbox that cannot be told, tried again ever less often while the others go on."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from tenuto.ports import Clock

log = logging.getLogger("tenuto.outbox")

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds until such a stream is tried again; twice as many each time."""


class _Setback(NamedTuple):
    times: int
    again_at: datetime
    reason: str


class ParkedStreams:
    """What this process could not tell: all of a stream, so that its order is kept.

    It is not written down: another process may be able to.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._setbacks: dict[str, _Setback] = {}

    @property
    def reasons(self) -> Mapping[str, str]:
        """Stream → what keeps it from being told."""
        found = {stream: setback.reason for stream, setback in self._setbacks.items()}
        return MappingProxyType(found)

    @property
    def next_try(self) -> datetime | None:
        """When the first of them is tried again."""
        return min((each.again_at for each in self._setbacks.values()), default=None)

    def put(self, stream: str, error: Exception) -> None:
        """Leave a stream alone for a while."""
        before = self._setbacks.get(stream)
        times = 1 if before is None else before.times + 1
        seconds = min(FIRST_PAUSE * 2.0 ** min(times - 1, 20), LONGEST_PAUSE)
        reason = f"{type(error).__name__}: {error}"
        again_at = self._clock.now() + timedelta(seconds=seconds)
        self._setbacks[stream] = _Setback(times, again_at, reason)
        log.error("what there is to tell of %s is set aside for %g s: %s", stream, seconds, reason)

    def resting(self) -> set[str]:
        """Those that are left alone now."""
        now = self._clock.now()
        return {stream for stream, each in self._setbacks.items() if each.again_at > now}

    def went(self, streams: Collection[str]) -> None:
        """These have been told, here or elsewhere."""
        for stream in streams:
            if self._setbacks.pop(stream, None) is not None:
                log.info("%s is told again", stream)
