"""Workers that were seen: with their tasks, for an hour, the latest of a tenant, by its clock."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto.store.parts.jobs import Beat
from tenuto.store.parts.workers import Sighting, WorkerRow
from tenuto.store.protocol import Store
from tests.store.conftest import Place
from tests.store.situations import NOON
from tests.store.test_jobs_of_workers import claim, job, leases, offer

pytestmark = pytest.mark.asyncio

MINUTE = 60_000


def seen(
    worker_id: str,
    age: int = 0,
    *task_ids: str,
    tenant: str = "default",
    is_claim: bool = True,
    left_out: int = 0,
) -> Sighting:
    return Sighting(
        tenant=tenant,
        worker_id=worker_id,
        age=age,
        is_claim=is_claim,
        task_ids=task_ids or None,
        left_out=left_out,
    )


async def only(store: Store) -> WorkerRow:
    [found] = await store.workers.page("default", NOON)
    return found


async def test_a_worker_is_kept_with_its_newest_tasks_since_it_connected(store: Store) -> None:
    await store.workers.saw([seen("w", 40_000, "pack", left_out=3)], NOON)
    first = await only(store)
    assert (first.task_ids, first.left_out, first.is_connected) == (("pack",), 3, True)
    assert first.first_seen == first.last_seen
    assert (first.may_take("pack"), first.may_take("ship")) == (True, True)
    await store.workers.saw([seen("w", 10_000, "pack", "ship")], NOON)
    later = await only(store)
    assert (later.task_ids, later.first_seen) == (("pack", "ship"), first.first_seen)
    assert later.last_seen > first.last_seen
    assert (later.may_take("ship"), later.may_take("bill")) == (True, False)
    await store.workers.saw([seen("w", 30_000, "late")], NOON)
    assert await only(store) == later
    await store.workers.saw([seen("w")], NOON)
    assert ((await only(store)).task_ids, (await only(store)).may_take("bill")) == (None, True)


async def test_a_worker_that_was_away_is_connected_anew(store: Store) -> None:
    await store.workers.saw([seen("w", 5 * MINUTE, "pack")], NOON)
    away = await only(store)
    assert not away.is_connected
    assert await store.workers.page("default", NOON, within=timedelta(minutes=1)) == []
    await store.workers.saw([seen("w", 1_000, "pack")], NOON)
    back = await only(store)
    assert back.is_connected
    assert back.first_seen == back.last_seen > away.last_seen


async def test_a_heartbeat_counts_for_a_known_worker_and_keeps_its_tasks(store: Store) -> None:
    await store.workers.saw([seen("w", is_claim=False)], NOON)
    assert await store.workers.page("default", NOON) == []
    await store.workers.saw([seen("w", 50_000, "pack")], NOON)
    before = await only(store)
    await store.workers.saw([seen("w", 2_000, is_claim=False)], NOON)
    after = await only(store)
    assert (after.task_ids, after.first_seen) == (("pack",), before.first_seen)
    assert after.last_seen > before.last_seen


async def test_workers_are_forgotten_after_an_hour(store: Store) -> None:
    await store.workers.saw([seen("old", 61 * MINUTE), seen("new", 59 * MINUTE)], NOON)
    assert (await only(store)).worker_id == "new"
    assert await store.workers.forget(NOON, 10) == 1
    assert await store.workers.forget(NOON, 10) == 0
    assert (await only(store)).worker_id == "new"


async def test_of_too_many_workers_of_a_tenant_the_latest_are_kept(store: Store) -> None:
    many = [seen(f"w{age}", age * 1_000) for age in (1, 2, 3, 4)]
    await store.workers.saw([*many, seen("w9", 9_000, tenant="other")], NOON, most=2)
    kept = await store.workers.page("default", NOON)
    assert [each.worker_id for each in kept] == ["w1", "w2"]
    assert len(await store.workers.page("other", NOON)) == 1


async def test_workers_are_listed_by_id_for_one_tenant(store: Store) -> None:
    await store.workers.saw([seen(id) for id in "cab"], NOON)
    await store.workers.saw([seen("d", tenant="other")], NOON)
    first = await store.workers.page("default", NOON, limit=2)
    rest = await store.workers.page("default", NOON, after="b")
    assert [each.worker_id for each in (*first, *rest)] == ["a", "b", "c"]


async def test_valid_leases_are_counted_by_worker(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1"), job("i2"), job("i3"), job("i4"), job("i5", tenant="other"))
    await store.jobs.claim_for_worker(claim(limit=2, worker_id="a"), NOON)
    [held] = leases(await store.jobs.claim_for_worker(claim(limit=1, worker_id="b"), NOON))
    await store.jobs.claim_for_worker(claim(lease=timedelta(0), worker_id="c"), NOON)
    await store.jobs.claim_for_worker(claim(tenant="other", worker_id="d"), NOON)
    assert await store.stats.leases_of_workers("default", NOON, 100) == {"a": 2, "b": 1}
    [extended] = (await store.jobs.extend_for_workers([Beat(held)], NOON)).values()
    assert extended.worker_id == "b"
