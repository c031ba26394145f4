"""Counts requests by operation and status, and who is connected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from tenuto.engine.meters import Histogram

Connection: TypeAlias = Literal["request", "socket", "stream"]

NOWHERE = "none"
"""The operation of a request for which there is none: paths come from outside, and are no names."""


class RequestCounts:
    """What came in through the gate of this process."""

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
        """Somebody is there while inside."""
        self.connected[kind] += 1
        try:
            yield
        finally:
            self.connected[kind] -= 1
