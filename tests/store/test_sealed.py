"""Marks of encryption, and encrypted values by pages: replaced only while they are the old ones."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.store.memory import MemoryStore
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.sealed import SEALED_COLUMNS, Resealed
from tenuto.store.protocol import Store
from tests.store.situations import begin, entry, turn

pytestmark = pytest.mark.asyncio

MARKS = (b"\xc1TEN", b'{"$sealed":"', b"$sealed:")
ENTRIES = SEALED_COLUMNS[0]


async def test_patterns_are_those_of_a_tenant_and_are_new_once(store: Store) -> None:
    assert await store.sealed.declare("a", ["paid", "order.*"]) == 2
    assert await store.sealed.declare("a", ["paid", "sent"]) == 1
    assert await store.sealed.declare("b", []) == 0
    assert await store.sealed.patterns("a") == ["order.*", "paid", "sent"]
    assert await store.sealed.patterns("b") == []


async def test_keys_are_in_use_until_they_are_retired(store: Store) -> None:
    assert await store.sealed.use(["k1", "k2"]) == 2
    assert await store.sealed.use(["k1"]) == 0
    assert await store.sealed.miss(["k1"]) == 1
    await store.sealed.retire(["k1", "k3"])
    assert (await store.sealed.keys(), await store.sealed.missed()) == (["k2"], ["k1"])
    await store.sealed.look_again("k1", [b"\xc1TEN\x01\x02k1"])
    assert await store.sealed.missed() == []


async def test_every_column_is_read_in_pages(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    for column in SEALED_COLUMNS:
        after, seen = column.first, 0
        while rows := await store.sealed.page(column, after, 1, MARKS):
            after = rows[-1].place
            seen += 1
        if isinstance(store, MemoryStore):
            assert seen == 0  # nothing of it outlives its process


async def test_a_value_is_replaced_while_it_is_the_old_one(store: Store) -> None:
    if isinstance(store, MemoryStore):
        assert await store.sealed.replace(ENTRIES, []) == 0
        return
    sealed = entry(1, payload=MARKS[0] + b"old")
    await store.turns.commit(turn("t1", begin("i1", sealed)))
    [row] = await store.sealed.page(ENTRIES, ENTRIES.first, 10, MARKS)
    assert (row.place, row.about, row.value) == (("i1", 1), "i1", MARKS[0] + b"old")
    change = Resealed(("i1", 1), MARKS[0] + b"old", MARKS[0] + b"new")
    assert await store.sealed.replace(ENTRIES, [change]) == 1
    assert await store.sealed.replace(ENTRIES, [change]) == 0
    [after] = await store.instances.entries("i1")
    assert after.payload == MARKS[0] + b"new"


async def test_a_text_is_replaced_while_it_is_the_old_one(store: Store) -> None:
    if isinstance(store, MemoryStore):
        return
    [reasons] = [column for column in SEALED_COLUMNS if column.is_text]
    sealed = Delivery("e1", "i1", "a", "", "refused", reason="$sealed:b2xk")
    plain = Delivery("e2", "i1", "a", "", "refused", reason="plain")
    await store.turns.commit(turn("t1", replace(begin("i1"), deliveries=(sealed, plain))))
    rows = await store.sealed.page(reasons, reasons.first, 10, MARKS)
    assert [row.value for row in rows] == [b"$sealed:b2xk", None]
    change = Resealed(rows[0].place, b"$sealed:b2xk", b"$sealed:bmV3")
    assert await store.sealed.replace(reasons, [change]) == 1
    assert await store.sealed.replace(reasons, [change]) == 0
    found = await store.inbox.deliveries_to("i1")
    assert {each.reason for each in found} == {"$sealed:bmV3", "plain"}
