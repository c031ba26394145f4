"""Bounds of open connections: they follow from how many files the process may have open.

A connection that cannot be accepted for want of a file would be refused in silence, and the store
needs files too. So a part of them is reserved, and no address may have all of the rest.
"""

from __future__ import annotations

import logging
import resource
from collections import Counter
from contextlib import suppress
from typing import NamedTuple

from tenuto.ports import Clock

log = logging.getLogger("tenuto.api")

_MOST_FILES = 1_048_576
"""More are not asked for, also where the system sets no limit."""
_LEAST_RESERVE, _MOST_RESERVE = 128, 16_384
_SAY_EVERY = 10.0
"""Seconds between log lines about refused connections."""


class ConnectionBounds(NamedTuple):
    """The most connections, for a number of files that may be open."""

    files: int
    total: int
    each: int
    """Of one address."""

    @property
    def described(self) -> str:
        return (
            f"at most {self.total:,} at once, {self.each:,} of one address, "
            f"since {self.files:,} files may be open"
        )


def raise_file_limit() -> None:
    """Raise the process's soft limit of open files to the hard one, where that is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _count(soft) < (wanted := hard_limit()):
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def hard_limit() -> int:
    """The most files that the process may have open, once it has raised its limit."""
    return _count(resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def connection_bounds() -> ConnectionBounds:
    """The bounds for the limit of open files that is in force."""
    return bounds_of(_count(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def bounds_of(files: int) -> ConnectionBounds:
    """A quarter of the files is reserved for the store, requests to others and tasks."""
    reserve = min(max(files // 4, _LEAST_RESERVE), _MOST_RESERVE, files // 2)
    total = files - reserve
    return ConnectionBounds(files, total, max(total // 2, 1))


def _count(limit: int) -> int:
    return _MOST_FILES if limit == resource.RLIM_INFINITY else min(limit, _MOST_FILES)


class Connections:
    """The open connections of a server, by address; an address without any is not kept."""

    def __init__(self, clock: Clock, bounds: ConnectionBounds) -> None:
        self.bounds = bounds
        self.open = 0
        self.refused = 0
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._said_at = -_SAY_EVERY
        self._unsaid = 0

    def begin(self, address: str) -> bool:
        """Whether there is room for another; then it counts until it has ended."""
        if self.open >= self.bounds.total or self._counts[address] >= self.bounds.each:
            self._refuse(address)
            return False
        self.open += 1
        self._counts[address] += 1
        return True

    def end(self, address: str) -> None:
        """A counted connection is closed."""
        self.open -= 1
        self._counts[address] -= 1
        if not self._counts[address]:
            del self._counts[address]

    def _refuse(self, address: str) -> None:
        self.refused += 1
        self._unsaid += 1
        if self._clock.ticks() - self._said_at < _SAY_EVERY:
            return
        log.warning(
            "connections: %d refused, the last one of %s: %d of %d are open, %d of %d of its own",
            *(self._unsaid, address, self.open, self.bounds.total),
            *(self._counts[address], self.bounds.each),
        )
        self._said_at, self._unsaid = self._clock.ticks(), 0
