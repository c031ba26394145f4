"""Marking an event as matched does not write its payload again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto.store.parts.turns import MatchWrite
from tenuto.store.sqlite.mark_space import mark_bytes
from tenuto.store.sqlite.store import SqliteStore
from tests.store.situations import ME, NOON, event, turn


@pytest.mark.asyncio
@pytest.mark.parametrize("count", [0, 1, 100, 30_000, 1_000_000])
async def test_the_mark_of_a_large_event_writes_a_few_pages(tmp_path: Path, count: int) -> None:
    store = SqliteStore(tmp_path / "a.db")
    await store.open(ME, NOON)
    large = event("e1", payload="x" * 900_000)
    await store.turns.commit(turn("t1", events=(large,)))
    before = store._file.writing.log_pages
    match = MatchWrite(
        event_id="e1",
        mail=(),
        deliveries=(),
        resumed=count,
        cancelled=count,
        started=count,
        matched_at=NOON,
    )
    await store.turns.commit(turn("t2", matches=(match,)))
    written = store._file.writing.log_pages - before
    [stored] = await store.inbox.latest("default", None, NOON, limit=9)
    await store.close(NOON, clean=True)
    assert (stored.event, stored.resumed, stored.started) == (large, count, count)
    assert 0 < written < 10


@pytest.mark.parametrize(
    ("number", "size"), [(0, 0), (1, 0), (2, 1), (127, 1), (128, 2), (2**31, 6), (2**47, 8)]
)
def test_the_bytes_of_a_mark_are_those_of_its_numbers(number: int, size: int) -> None:
    assert mark_bytes([number]) == size
