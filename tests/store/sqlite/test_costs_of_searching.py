"""Instances are found by their values at the cost of those that are found, whatever is stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tenuto.model.search_terms import SearchTerm
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.sqlite import Inline, SqliteStore
from tenuto.store.sqlite.instances import SqliteInstances
from tenuto.store.sqlite.session import Session
from tests.store.situations import ME, NOON, begin, found_by, moment, turn

RARE = SearchTerm("order", '"7"')
COMMON = SearchTerm("vip", "true")


@contextmanager
def counted(session: Session) -> Iterator[list[int]]:
    """What the database does for a while, in its own steps."""
    steps = [0]

    def step() -> bool:
        steps[0] += 1
        return False

    session.connection.set_progress_handler(step, 1)
    try:
        yield steps
    finally:
        session.connection.set_progress_handler(None)


async def costs(path: Path, others: int) -> list[int]:
    """Of one term, of two in either order, and of one with another filter."""
    store = SqliteStore(path, threads=Inline)
    await store.open(ME, NOON)
    writes = [
        replace(
            begin(f"i{number:05}", created_at=moment(number)),
            searchable=found_by(
                at=moment(number), order='"7"' if number < 3 else f'"{number + 7}"', vip="true"
            ),
        )
        for number in range(others + 3)
    ]
    await store.turns.commit(turn("t1", *writes))
    await store.close(NOON, clean=True)
    session = Session(str(path), "writer_settings", may_create=False)
    spent = []
    page: Any = SqliteInstances.page.__wrapped__  # type: ignore[attr-defined]
    for query in (
        InstanceQuery(definition_id="order", terms=(RARE,)),
        InstanceQuery(definition_id="order", terms=(RARE, COMMON)),
        InstanceQuery(definition_id="order", terms=(COMMON, RARE)),
        InstanceQuery(definition_id="order", terms=(RARE,), current_step="a"),
        InstanceQuery(definition_id="order", terms=(COMMON,), limit=3),
    ):
        with counted(session) as steps:
            assert len(page(None, session, query).items) == 3
        spent += steps
    session.close()
    return spent


@pytest.mark.asyncio
async def test_what_is_not_found_costs_nothing(tmp_path: Path) -> None:
    # So many that what is counted to find the rarest term is at its bound.
    few, many = await costs(tmp_path / "few", 1_000), await costs(tmp_path / "many", 3_000)
    assert all(more < less * 1.05 for less, more in zip(few, many, strict=True)), (few, many)
