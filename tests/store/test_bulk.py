"""Actions over many things: kept once, taken by one at a time, taken over after a silence."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.store.parts.bulk import BulkPlace, BulkRow
from tenuto.store.protocol import Store
from tests.store.situations import moment

pytestmark = pytest.mark.asyncio


def row(id: str = "b1", at: int = 0, tenant: str = "default") -> BulkRow:
    return BulkRow(tenant=tenant, id=id, content=b'{"x":1}', progress=b"{}", created_at=moment(at))


async def test_one_that_is_asked_for_twice_is_there_once(store: Store) -> None:
    assert await store.bulk.put(row()) == row()
    assert await store.bulk.put(replace(row(), content=b"other")) == row()
    assert await store.bulk.get("default", "b1") == row()
    assert await store.bulk.get("other", "b1") is None


async def test_those_of_a_tenant_are_listed_newest_first(store: Store) -> None:
    rows = [row(f"b{number}", number) for number in range(3)]
    for each in (*rows, row("theirs", 9, "other")):
        await store.bulk.put(each)
    assert await store.bulk.page("default", 9) == rows[::-1]
    assert await store.bulk.page("default", 2, below=BulkPlace(moment(2), "b2")) == rows[1::-1]
    assert await store.bulk.page("default", 1) == rows[2:]


async def test_one_is_held_until_it_lapses_and_who_held_it_writes_no_more(store: Store) -> None:
    await store.bulk.put(row())
    [first] = await store.bulk.claim(moment(0), moment(100), 9)
    assert first.token == 1
    assert await store.bulk.claim(moment(50), moment(150), 9) == []
    further = replace(first, progress=b'{"done":1}')
    assert await store.bulk.save(further, moment(120)) == further
    assert await store.bulk.claim(moment(110), moment(200), 9) == []
    [second] = await store.bulk.claim(moment(130), moment(200), 9)
    assert (second.token, second.progress) == (2, b'{"done":1}')
    assert await store.bulk.save(further, moment(300)) is None
    over = replace(second, is_open=False)
    assert await store.bulk.save(over, moment(0)) == over
    assert await store.bulk.claim(moment(999), moment(1000), 9) == []


async def test_those_that_rest_the_longest_are_taken_first(store: Store) -> None:
    for id in ("b1", "b2", "b3"):
        await store.bulk.put(row(id))
    held = [(await store.bulk.claim(moment(0), moment(100), 1))[0] for _ in range(2)]
    await store.bulk.save(held[1], moment(5))
    await store.bulk.save(held[0], moment(6))
    taken = [(await store.bulk.claim(moment(9), moment(100), 1))[0].id for _ in range(3)]
    assert taken[1:] == [held[1].id, held[0].id]
    assert set(taken) == {"b1", "b2", "b3"}, "new ones before them"


async def test_who_holds_one_hears_that_it_was_stopped(store: Store) -> None:
    await store.bulk.put(row())
    [held] = await store.bulk.claim(moment(0), moment(100), 9)
    stopped = await store.bulk.stop("default", "b1", b"{}")
    assert stopped is not None
    assert (stopped.is_stopped, stopped.content) == (True, b"{}")
    assert await store.bulk.stop("other", "b1", b"{}") is None
    saved = await store.bulk.save(held, moment(100))
    assert saved is not None
    assert saved.is_stopped


async def test_those_that_are_over_and_old_are_forgotten_oldest_first(store: Store) -> None:
    over = [replace(row(f"b{number}", number), is_open=False) for number in range(4)]
    for each in (*over, row("open", 0), replace(row("theirs", 0, "other"), is_open=False)):
        await store.bulk.put(each)
    assert await store.bulk.prune("default", moment(3), 2) == 2
    assert [each.id for each in await store.bulk.page("default", 9)] == ["b3", "b2", "open"]
    assert await store.bulk.prune("default", moment(3), 2) == 1
    assert await store.bulk.prune("default", moment(3), 2) == 0
    assert [each.id for each in await store.bulk.page("default", 9)] == ["b3", "open"]
    assert await store.bulk.get("other", "theirs") is not None
