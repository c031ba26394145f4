"""Whoever goes on with an instance at the moment at which it is erased."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from tenuto.model.status import Status
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.jobs import JobKey, JobRow
from tenuto.store.parts.turns import InstanceWrite, Ownership, Snapshot
from tests.kit.postgres_database import connected
from tests.store.postgres.conftest import Opener, ask, waits_for_lock
from tests.store.situations import NOON, begin, dead_letter, step, timer, turn, update, wait

pytestmark = pytest.mark.asyncio

ENDED = replace(begin("i1"), update=update(status=Status.FAILED))
RETRY = replace(
    step("i1", 1),
    update=update(status=Status.RUNNING),
    ownership=Ownership.TAKE,
    timers_set=(timer("i1", 60_000),),
    waits_opened=(wait("i1"),),
    jobs_offered=(JobRow(key=JobKey("i1", "a", "", 1), task_id="t", offered_at=NOON),),
    may_be_gone=True,
)
LATE_RESULT = replace(
    step("i1", 1), update=None, dead_letters=(dead_letter("d1", "i1"),), may_be_gone=True
)
NOT_TAKEN = InstanceWrite(
    instance_id="i1",
    version=1,
    deliveries=(Delivery("e1", "i1", "w", "", "discarded"),),
    may_be_gone=True,
)


async def rows_about(url: str, id: str) -> list[str]:
    tables = await ask(
        url,
        "SELECT table_name FROM information_schema.columns"
        " WHERE table_schema = 'tenuto' AND column_name = 'instance_id'",
    )
    return [
        table
        for (table,) in tables
        if await ask(url, f"SELECT 1 FROM tenuto.{table} WHERE instance_id = $1", id)
    ]


@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "beside-one-that-loses"])
@pytest.mark.parametrize("late", [RETRY, LATE_RESULT, NOT_TAKEN], ids=["retry", "result", "event"])
async def test_who_comes_while_an_instance_is_erased_leaves_nothing(
    url: str, opened: Opener, late: InstanceWrite, *, is_alone: bool
) -> None:
    store, other_store = await opened(url, "p1"), await opened(url, "p2")
    await store.turns.commit(turn("t1", ENDED, begin("i2"), process_id="p1"))
    others = [] if is_alone else [step("i2", 7)]
    async with connected(url) as other:
        # The erasure has chosen the instance, and waits before it takes the rows away.
        await other.execute("BEGIN; LOCK TABLE tenuto.idempotency_keys IN SHARE MODE")
        erasure = asyncio.create_task(store.instances.erase("default", ["i1"]))
        await waits_for_lock(url)
        going_on = asyncio.create_task(
            other_store.turns.commit(turn("t2", late, *others, process_id="p2"))
        )
        await waits_for_lock(url, 2)
        await other.execute("COMMIT")
    assert await erasure == ["i1"]
    assert (await going_on).writes["i1"].outcome == "lost"
    assert await rows_about(url, "i1") == []
    assert await store.turns.load(["i1"]) == {}


async def test_who_went_on_with_an_instance_just_before_keeps_it(url: str, opened: Opener) -> None:
    store, other_store = await opened(url, "p1"), await opened(url, "p2")
    await store.turns.commit(turn("t1", ENDED, process_id="p1"))
    async with connected(url) as other:
        # The turn has found the instance, and waits before its last rows go in.
        await other.execute("BEGIN; INSERT INTO tenuto.owners VALUES ('i1', 'p3', 1)")
        going_on = asyncio.create_task(other_store.turns.commit(turn("t2", RETRY, process_id="p2")))
        await waits_for_lock(url)
        erasure = asyncio.create_task(store.instances.erase("default", ["i1"]))
        await waits_for_lock(url, 2)
        await other.execute("ROLLBACK")
    assert (await going_on).writes["i1"].outcome == "won"
    assert await erasure == []
    assert len(await store.instances.entries("i1")) == 2


STALE_STEP = replace(step("i1", 1), update=None)
STALE_ASIDE = InstanceWrite(
    instance_id="i1",
    version=1,
    deliveries=(Delivery("e1", "i1", "w", "", "discarded"),),
)


@pytest.mark.parametrize("late", [STALE_STEP, STALE_ASIDE], ids=["step", "event"])
async def test_who_does_not_know_that_an_instance_has_ended_leaves_nothing_either(
    url: str, opened: Opener, late: InstanceWrite
) -> None:
    """The entry in its way is being erased: when that is done, nothing is in its way any more."""
    store, other_store = await opened(url, "p1"), await opened(url, "p2")
    end = replace(
        step("i1", 1),
        update=update(status=Status.COMPLETED),
        snapshot=Snapshot(version=2, state=b"s"),
    )
    await store.turns.commit(turn("t1", begin("i1"), process_id="p1"))
    await store.turns.commit(turn("t2", end, process_id="p1"))
    async with connected(url) as other:
        # The erasure has taken the log away, and waits for the snapshot.
        await other.execute("BEGIN; SELECT 1 FROM tenuto.workflow_snapshots FOR UPDATE")
        erasure = asyncio.create_task(store.instances.erase("default", ["i1"]))
        await waits_for_lock(url)
        going_on = asyncio.create_task(other_store.turns.commit(turn("t3", late, process_id="p2")))
        await asyncio.wait([going_on], timeout=1)
        await other.execute("COMMIT")
    assert await erasure == ["i1"]
    assert (await going_on).writes["i1"].outcome == "lost"
    assert await rows_about(url, "i1") == []


async def test_a_turn_that_began_before_an_instance_ended_leaves_nothing_of_it(
    url: str, opened: Opener
) -> None:
    """Its statement sees the log as it was: neither the end, nor that it was erased."""
    store, other_store = await opened(url, "p1"), await opened(url, "p2")
    await store.turns.commit(turn("t1", begin("i0"), begin("i1"), process_id="p1"))
    end = replace(step("i1", 1), update=update(status=Status.COMPLETED))
    stale = replace(
        step("i1", 1),
        update=None,
        deliveries=(Delivery("e1", "i1", "w", "", "discarded"),),
        may_be_gone=True,
    )
    async with connected(url) as other:
        # The turn waits for the entry of another instance, which is not written in the end.
        await other.execute(
            "BEGIN; INSERT INTO tenuto.workflow_execution_history"
            " (instance_id, seq, event_type, iteration, attempt, at_ms)"
            " VALUES ('i0', 2, 'X', '', 1, 0)"
        )
        going_on = asyncio.create_task(
            other_store.turns.commit(turn("t3", step("i0", 1), stale, process_id="p2"))
        )
        await waits_for_lock(url)
        ended = await store.turns.commit(turn("t2", end, process_id="p1"))
        assert ended.writes["i1"].outcome == "won"
        erasure = asyncio.create_task(store.instances.erase("default", ["i1"]))
        await waits_for_lock(url, 2)
        await other.execute("ROLLBACK")
    outcomes = (await going_on).writes
    assert [outcomes[id].outcome for id in ("i0", "i1")] == ["won", "lost"]
    assert await erasure == ["i1"]
    assert await rows_about(url, "i1") == []
