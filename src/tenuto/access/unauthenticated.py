"""Refusals of those who are not known: one at once, the rest of a minute as one number.

Anybody can be refused as often as they like. So that nobody fills the audit log with it, an address
has a line for its first refusal and one a minute for how many more there were.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock, Timer

log = logging.getLogger(__name__)

_MINUTE = 60.0
_MOST = 1_000
_OTHERS = "others"
"""In place of an address, once there are too many to count them apart."""


class UnauthenticatedRefusals:
    """Counts refusals by where they came from."""

    def __init__(
        self, clock: Clock, tell: Callable[[str, Mapping[str, object]], Awaitable[None]]
    ) -> None:
        """`tell` records an address and what became of its refusals."""
        self._clock = clock
        self._tell = tell
        self._more: dict[str, Counter[str]] = {}
        """By address: how often it was refused since its line, by the code of the refusal."""
        self._timer: Timer | None = None
        self._telling: asyncio.Task[None] | None = None

    def is_first(self, source: str, code: str) -> bool:
        """Whether this refusal has a line of its own; otherwise it is counted."""
        if source not in self._more and len(self._more) >= _MOST:
            source = _OTHERS
        counts = self._more.get(source)
        if counts is not None:
            counts[code] += 1
            return False
        self._more[source] = Counter()
        if self._timer is None:
            self._timer = self._clock.call_later(_MINUTE, self._begin)
        return True

    async def close(self) -> None:
        """Tell what was counted."""
        if self._timer is not None:
            self._timer.cancel()
        if self._telling is not None:
            await self._telling
        await self._tell_all()

    def _begin(self) -> None:
        self._timer = None
        self._telling = asyncio.ensure_future(self._tell_all())

    async def _tell_all(self) -> None:
        counted, self._more = self._more, {}
        for source, counts in counted.items():
            if not counts:
                continue
            details = {"count": counts.total(), "codes": dict(counts)}
            try:
                await self._tell(source, details)
            except StoreUnavailable:
                # Whoever records it tries again by itself.
                log.debug("refusals of %s are recorded later", source)
