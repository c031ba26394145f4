"""How much of a kind a tenant has stored, up to a bound."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tenuto.model.status import Status
from tenuto.model.task_logs import CHUNK_BYTES
from tenuto.store.parts.task_logs import TaskLogRow
from tenuto.store.parts.upkeep import ROW_BYTES, Place, Weighed
from tenuto.store.protocol import Store
from tests.store.situations import NOON, begin, entry, event, moment, step, turn, update, wait

pytestmark = pytest.mark.asyncio


async def test_what_a_tenant_has_is_counted_up_to_a_bound(store: Store) -> None:
    waiting = replace(
        begin("i1", tenant="a"),
        waits_opened=(wait("i1", tenant="a"), wait("i1", "v", tenant="a")),
    )
    ended = replace(begin("i4", tenant="a"), update=update(status=Status.COMPLETED))
    paused = begin("i2", tenant="a", status=Status.PAUSED)
    of_another = replace(begin("i3", tenant="b"), waits_opened=(wait("i3", tenant="b"),))
    events = (*(event(f"e{n}", tenant="a") for n in range(3)), event("e9", tenant="b"))
    await store.turns.commit(turn("t1", waiting, paused, of_another, ended, events=events))
    stored = store.upkeep.stored
    assert [await stored(what, "a", 99) for what in ("instances", "waits", "events")] == [2, 2, 3]
    assert [await stored(what, "b", 99) for what in ("instances", "waits", "events")] == [1, 1, 1]
    assert [await stored(what, "c", 99) for what in ("instances", "waits", "events")] == [0, 0, 0]
    assert [await stored(what, "a", 1) for what in ("instances", "waits", "events")] == [1, 1, 1]


async def weighed(store: Store, what: Weighed, tenant: str, limit: int, until: int = 90) -> int:
    size, after = 0, Place()
    while True:
        weight = await store.upkeep.weigh(
            what, tenant, after=after, until=moment(until), limit=limit
        )
        size += weight.size
        if weight.after is None:
            return size
        after = weight.after


async def test_the_bytes_of_a_tenant_are_added_up_part_by_part(store: Store) -> None:
    await store.definitions.save("a", "d", b"12345", b"1", NOON)
    await store.definitions.save("a", "d", b"123456", b"2", NOON)
    await store.definitions.save("b", "d", b"1", b"1", NOON)
    first = begin("i1", *(entry(n, payload=b"x" * n) for n in range(1, 6)), tenant="a")
    second = begin("i2", entry(1, payload=b"123"), entry(2), tenant="a")
    other = begin("i3", entry(1, payload=b"1234"), tenant="b")
    events = (event("e1", tenant="a"), event("e2", tenant="a"), event("e3", tenant="b"))
    await store.turns.commit(turn("t1", first, second, other, events=events))
    later = replace(
        step("i2", 2, entry(3, payload=b"1" * 50)), update=update(updated_at=moment(95))
    )
    payload = len(msgspec.json.encode(event("e1").payload))
    for limit in (1, 2, 3, 99):
        assert await weighed(store, "logs", "a", limit) == 15 + 10 + 7 * ROW_BYTES
        assert await weighed(store, "logs", "b", limit) == 4 + ROW_BYTES
        assert await weighed(store, "logs", "c", limit) == 0
        assert await weighed(store, "events", "a", limit) == 2 * (payload + ROW_BYTES)
        assert await weighed(store, "definitions", "a", limit) == 11 + 2 * ROW_BYTES
    for number in range(1, 6):
        line = TaskLogRow(
            instance_id=f"i{number % 3 + 1}",
            step="s",
            iteration="",
            attempt=number,
            first=0,
            size=number,
            lines=b"[]",
        )
        tenant = "b" if number % 3 == 2 else "a"
        assert await store.task_logs.add([line], moment(number)) == {tenant: number + CHUNK_BYTES}
    for limit in (1, 2, 3, 99):
        assert await weighed(store, "lines", "a", limit) == 1 + 3 + 4 + 3 * ROW_BYTES
        assert await weighed(store, "lines", "b", limit) == 2 + 5 + 2 * ROW_BYTES
        assert await weighed(store, "lines", "c", limit) == 0
    await store.turns.commit(turn("t2", later))
    # What has changed since a walk began would come twice.
    assert await weighed(store, "logs", "a", 2) == 15 + 5 * ROW_BYTES
    assert await weighed(store, "logs", "a", 2, until=99) == 75 + 8 * ROW_BYTES
    assert await weighed(store, "events", "a", 2, until=-1) == 0
