"""Idempotency keys: the same start asked for twice is one instance."""

from __future__ import annotations

import pytest

from tenuto.store.parts.instances import UsedKey
from tenuto.store.parts.turns import Outcome, WriteResult
from tenuto.store.protocol import Store
from tests.store.situations import begin, entry, step, turn

pytestmark = pytest.mark.asyncio

WON = WriteResult(Outcome.WON)


async def test_the_same_key_and_content_gives_the_first_instance(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1", key="k", content_hash=b"1")))
    result = await store.turns.commit(
        turn("t2", begin("i2", key="k", content_hash=b"1"), begin("i3"))
    )
    assert result.writes == {"i2": WriteResult(Outcome.DUPLICATE, "i1"), "i3": WON}
    assert set(await store.turns.load(["i1", "i2", "i3"])) == {"i1", "i3"}
    assert await store.instances.entries("i2") == []


async def test_the_same_key_with_other_content_is_a_conflict(store: Store) -> None:
    """I7: "exactly one instance per (tenant, key); same key + other body was refused"."""
    await store.turns.commit(turn("t1", begin("i1", key="k", content_hash=b"1")))
    result = await store.turns.commit(turn("t2", begin("i2", key="k", content_hash=b"2")))
    assert result.writes == {"i2": WriteResult(Outcome.KEY_CONFLICT, "i1")}
    assert await store.turns.load(["i2"]) == {}


async def test_who_has_a_key_is_told(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1", key="k", content_hash=b"\x001", tenant="a")))
    assert await store.instances.used_key("a", "k") == UsedKey("i1", b"\x001")
    for tenant, key in (("b", "k"), ("a", "other"), ("a", "a\0b"), ("a", "\ud800")):
        assert await store.instances.used_key(tenant, key) is None


async def test_instances_are_listed_with_their_keys(store: Store) -> None:
    await store.turns.commit(
        turn(
            "t1",
            begin("i1", key="k", content_hash=b"1", tenant="a"),
            begin("i2", tenant="a"),
            begin("i3", key="k", content_hash=b"1", tenant="b"),
        )
    )
    assert await store.instances.keys("a", ["i1", "i2", "i3", "i4"]) == {"i1": "k"}
    assert await store.instances.keys("a", []) == {}


async def test_two_starts_with_one_key_in_one_turn_are_one_instance(store: Store) -> None:
    result = await store.turns.commit(
        turn(
            "t1",
            begin("i1", key="k", content_hash=b"1"),
            begin("i2", key="k", content_hash=b"1"),
            begin("i3", key="k", content_hash=b"2"),
        )
    )
    assert result.writes == {
        "i1": WON,
        "i2": WriteResult(Outcome.DUPLICATE, "i1"),
        "i3": WriteResult(Outcome.KEY_CONFLICT, "i1"),
    }


async def test_keys_belong_to_a_tenant(store: Store) -> None:
    """P14: "Nothing crosses a tenant"."""
    result = await store.turns.commit(
        turn("t1", begin("i1", key="k", tenant="a"), begin("i2", key="k", tenant="b"))
    )
    assert result.writes == {"i1": WON, "i2": WON}


async def test_a_keyed_start_sent_again_knows_itself(store: Store) -> None:
    start = turn("t1", begin("i1", key="k", content_hash=b"1"), begin("i2", key="k"))
    assert await store.turns.commit(start) == await store.turns.commit(start)


async def test_a_start_that_loses_the_gate_keeps_no_key(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    lost = await store.turns.commit(turn("t2", begin("i1", key="k")))
    assert lost.writes["i1"].outcome is Outcome.LOST
    assert (await store.turns.commit(turn("t3", begin("i2", key="k")))).writes == {"i2": WON}


async def test_a_key_outlives_later_entries(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1", key="k")))
    await store.turns.commit(turn("t2", step("i1", 1, entry(2))))
    again = await store.turns.commit(turn("t3", begin("i9", key="k")))
    assert again.writes["i9"] == WriteResult(Outcome.DUPLICATE, "i1")
