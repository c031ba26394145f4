"""Counts what SQLite does, so that a test can say what something costs without a clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw


class Work:
    """Steps of SQLite's virtual machine, and rows that were read by scanning a table."""

    def __init__(self) -> None:
        self.steps = 0
        self.scanned = 0
        self.costliest: dict[str, int] = {}
        """The steps of each statement, where it took the most of them."""

    def watch(self, connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._profile)

    def _profile(self, event: dict[str, object]) -> None:
        counters = event["stmt_status"]
        assert isinstance(counters, dict)
        steps, sql = counters["SQLITE_STMTSTATUS_VM_STEP"], str(event["sql"])
        self.steps += steps
        self.costliest[sql] = max(self.costliest.get(sql, 0), steps)
        self.scanned += counters["SQLITE_STMTSTATUS_FULLSCAN_STEP"]

    def take(self) -> tuple[int, int]:
        """What was counted since the last time."""
        counted = self.steps, self.scanned
        self.steps = self.scanned = 0
        return counted


@contextmanager
def counted_work() -> Iterator[Work]:
    """Counts for every connection that is opened in here."""
    work = Work()
    apsw.connection_hooks.append(work.watch)
    try:
        yield work
    finally:
        apsw.connection_hooks.remove(work.watch)
