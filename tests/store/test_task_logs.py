"""Lines of tasks: kept in chunks, bounded for each attempt, and gone with their instance."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.model.task_logs import CHUNK_BYTES, MOST_BYTES, MOST_OF_INSTANCE
from tenuto.store.parts.task_logs import TaskLogPlace, TaskLogRow
from tenuto.store.protocol import Store
from tests.store.situations import begin, moment, turn
from tests.store.test_erasing import ended

pytestmark = pytest.mark.asyncio

FIRST = TaskLogRow(
    instance_id="i1", step="a", iteration="", attempt=1, first=0, size=10, lines=b"[1]"
)


async def found(store: Store, **which: object) -> list[bytes]:
    rows = await store.task_logs.page("default", "i1", 100, **which)  # type: ignore[arg-type]
    return [row.lines for row in rows]


async def test_chunks_are_read_in_the_order_in_which_they_were_written(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    second = replace(FIRST, step="b", lines=b"[2]")
    third = replace(FIRST, attempt=2, lines=b"[3]")
    of_another = replace(FIRST, instance_id="i2", lines=b"[4]")
    await store.task_logs.add([second], moment(1))
    await store.task_logs.add([third, of_another, FIRST], moment(2))
    await store.task_logs.add([], moment(3))
    assert await found(store) == [b"[2]", b"[1]", b"[3]"]
    assert await found(store, step="a") == [b"[1]", b"[3]"]
    assert await found(store, attempt=2) == [b"[3]"]
    assert await found(store, iteration="0") == []
    [first, *_] = await store.task_logs.page("default", "i1", 1)
    assert first == replace(second, at=moment(1))
    since = TaskLogPlace(int(moment(2).timestamp() * 1000), "a", "", 1, 0)
    assert await found(store, since=since) == [b"[1]", b"[3]"]
    assert await store.task_logs.page("other", "i1", 100) == []


async def test_a_repeated_chunk_is_kept_once_and_a_longer_one_replaces_its_beginning(
    store: Store,
) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    longer = replace(FIRST, size=20, lines=b"[1,2]")
    for row in (FIRST, FIRST, longer, FIRST):
        await store.task_logs.add([row], moment(1))
    assert await found(store) == [b"[1,2]"]


async def test_an_attempt_has_no_more_than_its_bytes(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    most = replace(FIRST, size=MOST_BYTES)
    rest = replace(FIRST, first=9, size=1, lines=b"[9]")
    await store.task_logs.add([most, rest, replace(rest, attempt=2)], moment(1))
    assert await found(store) == [b"[1]", b"[9]"]
    assert await found(store, attempt=1) == [b"[1]"]
    await store.task_logs.add([replace(most, size=MOST_BYTES + 1, lines=b"[2]")], moment(2))
    assert await found(store, attempt=1) == [b"[1]"]


async def test_the_oldest_lines_of_an_instance_go_beyond_its_bytes(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    rows = [
        replace(FIRST, attempt=number, size=MOST_BYTES, lines=b"[%d]" % number)
        for number in range(1, 18)
    ]
    await store.task_logs.add([*rows, replace(FIRST, instance_id="i2")], moment(1))
    kept = MOST_OF_INSTANCE // (MOST_BYTES + CHUNK_BYTES)
    assert await found(store) == [b"[%d]" % number for number in range(18 - kept, 18)]
    await store.task_logs.add([replace(FIRST, attempt=18, lines=b"[18]")], moment(2))
    assert (await found(store))[-1] == b"[18]"
    assert len(await store.task_logs.page("default", "i2", 100)) == 1


async def test_lines_of_a_step_are_in_their_order_whatever_the_clocks_say(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    chunks = [
        (replace(FIRST, lines=b"[1]"), moment(5)),
        (replace(FIRST, first=1, lines=b"[2]"), moment(2)),
        (replace(FIRST, attempt=3, lines=b"[4]"), moment(1)),
        (replace(FIRST, attempt=2, lines=b"[3]"), moment(9)),
        (replace(FIRST, size=11, lines=b"[1]"), moment(8)),
        (replace(FIRST, step="b", lines=b"[0]"), moment(4)),
    ]
    for chunk, at in chunks:
        await store.task_logs.add([chunk], at)
    assert await found(store) == [b"[%d]" % number for number in range(5)]


async def test_lines_go_with_their_instance_and_come_to_none_that_is_not_there(
    store: Store,
) -> None:
    await store.turns.commit(turn("t1", ended("i1"), begin("i2")))
    other = replace(FIRST, instance_id="i2")
    await store.task_logs.add([FIRST, other, replace(FIRST, instance_id="i3")], moment(1))
    assert await store.instances.erase("default", ["i1"]) == ["i1"]
    assert await found(store) == []
    await store.task_logs.add([FIRST], moment(2))
    assert await found(store) == []
    assert len(await store.task_logs.page("default", "i2", 100)) == 1
    assert await store.task_logs.page("default", "i3", 100) == []
