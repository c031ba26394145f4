"""Counts requests by operation and status, and open connections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from tenuto.engine.meters import Histogram

Connection: TypeAlias = Literal["request", "socket", "stream"]

NOWHERE = "none"
"""The operation of a request with an unknown path, which must not become a label."""


class RequestCounts:
    """Counts of requests and connections of this process."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()
        """By operation and status."""
        self.seconds: dict[str, Histogram] = {}
        self.connected: Counter[Connection] = Counter()

    def answered(self, operation: str, status: int, seconds: float) -> None:
        self.answers[operation, status] += 1
        found = self.seconds.get(operation)
        if found is None:
            found = self.seconds[operation] = Histogram()
        found.add(seconds)

    @contextmanager
    def connection(self, kind: Connection) -> Iterator[None]:
        """Count a connection while inside."""
        self.connected[kind] += 1
        try:
            yield
        finally:
            self.connected[kind] -= 1
