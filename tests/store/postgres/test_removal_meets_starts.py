"""A definition that is removed at the moment at which an instance of it starts."""

from __future__ import annotations

import asyncio

import pytest

from tenuto.store.parts.definitions import REMOVED
from tenuto.store.parts.turns import Outcome
from tests.kit.postgres_database import connected
from tests.store.postgres.conftest import Opener, waits_for_lock
from tests.store.situations import NOON, begin, step, turn

pytestmark = pytest.mark.asyncio

START = begin("i1", needs_definition=True, key="k")


@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "beside-one-that-loses"])
async def test_a_start_that_meets_a_removal_under_way_is_refused(
    url: str, opened: Opener, *, is_alone: bool
) -> None:
    """Its statement began before the removal was committed, and sees it all the same."""
    store = await opened(url, "p1")
    await store.definitions.save("default", "order", b"{}", b"1", NOON)
    await store.turns.commit(turn("t0", begin("i0"), process_id="p1"))
    others = () if is_alone else (step("i0", 0),)
    async with connected(url) as removing:
        await removing.execute("BEGIN; UPDATE tenuto.workflow_definitions SET is_removed = 1")
        starting = asyncio.create_task(
            store.turns.commit(turn("t1", START, *others, process_id="p1"))
        )
        await waits_for_lock(url)
        await removing.execute("COMMIT")
    assert (await starting).writes["i1"].outcome is Outcome.REMOVED
    assert await store.turns.load(["i1"]) == {}


async def test_a_removal_waits_for_a_start_under_way_and_sees_it(url: str, opened: Opener) -> None:
    here, there = await opened(url, "p1"), await opened(url, "p2")
    await here.definitions.save("default", "order", b"{}", b"1", NOON)
    async with connected(url) as in_the_way:
        # It keeps the start from being committed, not from holding its definition.
        await in_the_way.execute(
            "BEGIN; INSERT INTO tenuto.idempotency_keys (tenant, key, instance_id, content_hash)"
            " VALUES ('default', 'k', 'i0', '')"
        )
        starting = asyncio.create_task(here.turns.commit(turn("t1", START, process_id="p1")))
        await waits_for_lock(url)
        removing = asyncio.create_task(
            there.definitions.save("default", "order", REMOVED, b"2", NOON)
        )
        await waits_for_lock(url, 2)
        assert not removing.done()
        await in_the_way.execute("ROLLBACK")
    assert (await starting).writes["i1"].outcome is Outcome.WON
    assert (await removing).is_removed
    assert set(await there.turns.load(["i1"])) == {"i1"}


async def test_a_version_that_an_older_program_saves_makes_the_definition_startable_again(
    url: str, opened: Opener
) -> None:
    """Its statement knows nothing of the column: a trigger keeps it."""
    store = await opened(url, "p1")
    await store.definitions.save("default", "order", b"{}", b"1", NOON)
    insert = (
        "INSERT INTO tenuto.workflow_definitions"
        " (tenant, id, version, content, content_hash, created_at)"
        " VALUES ('default', 'order', $1, $2, $3, 0)"
    )
    async with connected(url) as older:
        await older.fetch(insert, 2, REMOVED, b"2")
        refused = await store.turns.commit(turn("t1", START, process_id="p1"))
        await older.fetch(insert, 3, b"{} ", b"3")
    newer = begin("i1", needs_definition=True, definition_version=3)
    again = await store.turns.commit(turn("t2", START, process_id="p1"))
    started = await store.turns.commit(turn("t3", newer, process_id="p1"))
    assert refused.writes["i1"].outcome is Outcome.REMOVED
    assert again.writes["i1"].outcome is Outcome.REMOVED, "its version stays removed"
    assert started.writes["i1"].outcome is Outcome.WON
