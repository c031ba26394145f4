"""Open waits, over tables in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from operator import attrgetter

from tenuto.store.columns import WaitColumns, wait_columns, wait_row
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import MemoryDisk, pack, unpack
from tenuto.store.parts.waits import WaitKey, WaitRow, WaitTerm

_key = attrgetter("key")


class MemoryWaits(MemoryPart):
    """Open waits by their place, each place with its arms."""

    async def terms(self, tenant: str, pattern: str) -> list[WaitTerm]:
        return sorted(
            {
                WaitTerm(wait.pattern, wait.term_paths)
                for wait in self._rows()
                if wait.tenant == tenant and (wait.is_wildcard or wait.pattern == pattern)
            }
        )

    async def matching(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int, after: WaitKey | None = None
    ) -> list[WaitRow]:
        wanted = set(terms)
        found = (
            wait
            for wait in self._rows()
            if wait.tenant == tenant
            and (wait.pattern, wait.term_paths, wait.term_values) in wanted
            and (after is None or wait.key > after)
        )
        return [wait_row(wait) for wait in nsmallest(limit, found, key=_key)]

    async def near(self, tenant: str, terms: Sequence[WaitTerm], *, limit: int) -> list[WaitRow]:
        waits = [wait for wait in self._rows() if wait.tenant == tenant]
        near: list[WaitColumns] = []
        for pattern, term_paths in dict.fromkeys(term[:2] for term in terms):
            found = (
                each for each in waits if (each.pattern, each.term_paths) == (pattern, term_paths)
            )
            near += nsmallest(limit, found, key=lambda wait: (wait.term_values, wait.key))
        return [wait_row(wait) for wait in near]

    async def of(self, instance_id: str) -> list[WaitRow]:
        found = (wait for wait in self._rows() if wait.instance_id == instance_id)
        return [wait_row(wait) for wait in sorted(found, key=_key)]

    async def unlooked(self, limit: int) -> list[WaitRow]:
        found = (wait for wait in self._rows() if not wait.looked_back)
        return [wait_row(wait) for wait in nsmallest(limit, found, key=_key)]

    def _rows(self) -> Iterator[WaitColumns]:
        places = self._disk.waits.values()
        return (unpack(WaitColumns, row) for arms in places for row in arms.values())


def put_waits(disk: MemoryDisk, waits: Iterable[WaitRow]) -> None:
    """Open waits, each beside the others of its place."""
    for wait in waits:
        columns = wait_columns(wait, disk.newest_event)
        place = columns[:3]
        arms = disk.waits.get(place, {})
        disk.put(disk.waits, place, {**arms, wait.arm: pack(columns)})
