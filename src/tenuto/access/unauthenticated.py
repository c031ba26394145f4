"""Refusals of unauthenticated clients: the first at once, the rest of a minute as a count.

Any client can be refused as often as it likes. So that it cannot fill the audit log, each address
has a line for its first refusal, and a line a minute for the number of further ones.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from tenuto.access.delayed_write import DelayedWrite
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock

log = logging.getLogger(__name__)

MOST_SOURCES = 1_000
_MINUTE = 60.0
_OTHERS = "others"
"""Stands for all further addresses, once there are too many to count them apart."""


class UnauthenticatedRefusals:
    """Counts refusals by the address that they came from."""

    def __init__(
        self,
        clock: Clock,
        record: Callable[[str, Mapping[str, object]], Awaitable[None]],
        most: int = MOST_SOURCES,
    ) -> None:
        """`record` writes the line of an address with its counts; `most` addresses at once."""
        self._record = record
        self._most = most
        self._more: dict[str, Counter[str]] = {}
        """By address: its refusals since its line, by their codes."""
        self._writing = DelayedWrite(clock, self._write)

    def is_first(self, source: str, code: str) -> bool:
        """Whether this refusal has a line of its own; otherwise it is counted."""
        if source not in self._more and len(self._more) >= self._most:
            source = _OTHERS
        counts = self._more.get(source)
        if counts is not None:
            counts[code] += 1
            return False
        self._more[source] = Counter()
        self._writing.ask(_MINUTE)
        return True

    async def close(self) -> None:
        """Record all counts."""
        await self._writing.close()

    async def _write(self) -> float | None:
        counted, self._more = self._more, {}
        for source, counts in counted.items():
            if not counts:
                continue
            details = {"count": counts.total(), "codes": dict(counts)}
            try:
                await self._record(source, details)
            except StoreUnavailable:
                # The audit log tries again by itself.
                log.debug("audit: refusals of source=%s are recorded later", source)
        # A refusal that came while the counts were written has begun a new minute.
        return _MINUTE if self._more else None
