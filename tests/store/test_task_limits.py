"""Limits of tasks: how many of their jobs are leased at once, and how many begin in a second."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from tenuto.model.task_definition import TaskLimits
from tenuto.store.parts.jobs import (
    Hindrance,
    JobKey,
    JobRow,
    Lease,
    LimitedClaim,
    LimitedGrants,
    LimitedTask,
    WorkerClaim,
)
from tenuto.store.protocol import Store
from tests.store.conftest import Place
from tests.store.situations import NOON, aside, begin, moment, step, turn

pytestmark = pytest.mark.asyncio

LEASE = timedelta(minutes=1)
TWO = TaskLimits(concurrency=2)
SELDOM = TaskLimits(rate_per_second=0.001)


def job(
    instance_id: str, seconds: int, *, task_id: str = "ship", tenant: str = "default"
) -> JobRow:
    return JobRow(
        key=JobKey(instance_id, "a", "", 1),
        task_id=task_id,
        offered_at=moment(seconds),
        tenant=tenant,
        is_limited=True,
    )


async def offer(store: Store, *jobs: JobRow, process_id: str = "p1") -> None:
    for each in jobs:
        id = each.key.instance_id
        await store.turns.commit(turn(f"new {id}", begin(id), process_id=process_id))
        offering = aside(id, jobs_offered=(each,))
        await store.turns.commit(turn(f"offer {id}", offering, process_id=process_id))


def claim(
    limits: TaskLimits = TWO,
    *,
    task_id: str = "ship",
    tenant: str = "default",
    most: int = 10,
    worker_id: str | None = None,
) -> LimitedClaim:
    return LimitedClaim((LimitedTask(tenant, task_id, most, limits),), most, LEASE, worker_id)


def ids(granted: LimitedGrants) -> list[str]:
    return [each.lease.key.instance_id for each in granted.granted]


async def end(store: Store, lease: Lease, process_id: str = "p1") -> None:
    id = lease.key.instance_id
    report = step(id, 1, leases=(lease,), jobs_withdrawn=(lease.key,))
    await store.turns.commit(turn(f"end {id}", report, process_id=process_id))


async def test_processes_and_workers_together_have_as_many_as_the_limit(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, *(job(f"i{number}", number) for number in range(1, 6)))
    mine = await store.jobs.claim_limited(claim(most=1), NOON)
    assert ids(mine) == ["i1"]
    assert mine.hindered == []
    theirs = await store.jobs.claim_limited(claim(worker_id="w1"), NOON)
    assert ids(theirs) == ["i2"]
    assert theirs.hindered == [Hindrance("default", "ship", "concurrency")]
    assert await store.jobs.claim_limited(claim(), NOON) == LimitedGrants(
        [], [Hindrance("default", "ship", "concurrency")]
    )
    assert await store.jobs.limited_tasks() == [("default", "ship")]
    await end(store, theirs.granted[0].lease)
    again = await store.jobs.claim_limited(claim(), NOON)
    assert ids(again) == ["i3"]
    use = await store.jobs.use_of("default", "ship")
    assert use.held == 2
    assert sorted((each.key.instance_id, each.leased_by) for each in use.holders) == [
        ("i1", "p1"),
        ("i3", "p1"),
    ]


async def test_a_limit_that_was_lowered_ends_nothing_and_grants_nothing(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, *(job(f"i{number}", number) for number in range(1, 5)))
    both = await store.jobs.claim_limited(claim(), NOON)
    assert ids(both) == ["i1", "i2"]
    one = TaskLimits(concurrency=1)
    assert ids(await store.jobs.claim_limited(claim(one), NOON)) == []
    await end(store, both.granted[0].lease)
    assert ids(await store.jobs.claim_limited(claim(one), NOON)) == []
    await end(store, both.granted[1].lease)
    assert ids(await store.jobs.claim_limited(claim(one), NOON)) == ["i3"]


async def test_each_tenant_and_each_task_has_limits_of_its_own(place: Place) -> None:
    """At most `concurrency` attempts run at once; `ratePerSecond` begin in a second, and after a
    rest those of one second at once beside them, for each tenant by itself.
    """
    store = await place.opened("p1")
    await offer(
        store,
        job("i1", 1),
        job("i2", 2),
        job("i3", 3),
        job("i4", 4, tenant="other"),
        job("i5", 5, task_id="bill"),
    )
    wanted = tuple(
        LimitedTask(tenant, task_id, 10, TWO)
        for tenant, task_id in [("default", "bill"), ("default", "ship"), ("other", "ship")]
    )
    assert await store.jobs.limited_tasks() == [each[:2] for each in wanted]
    granted = await store.jobs.claim_limited(LimitedClaim(wanted, 10, LEASE), NOON)
    assert ids(granted) == ["i1", "i2", "i4", "i5"]
    assert granted.hindered == [Hindrance("default", "ship", "concurrency")]


async def test_no_more_begin_than_the_rate_lets(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, *(job(f"i{number}", number) for number in range(1, 4)))
    first = await store.jobs.claim_limited(claim(SELDOM), NOON)
    assert ids(first) == ["i1"]
    [hindrance] = first.hindered
    assert hindrance.obstacle == "rate"
    assert hindrance.seconds == 1_000
    # Whether or not that has ended.
    await end(store, first.granted[0].lease)
    again = await store.jobs.claim_limited(claim(SELDOM, worker_id="w1"), NOON)
    assert ids(again) == []
    [hindrance] = again.hindered
    assert hindrance.obstacle == "rate"
    assert hindrance.seconds is not None
    assert 900 < hindrance.seconds <= 1_000


async def test_other_claims_leave_jobs_of_limited_tasks_alone(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1", 1))
    assert (await store.jobs.claim(["ship"], 10, LEASE, NOON)).granted == []
    asked = WorkerClaim("default", "w1", None, 10, LEASE, but=("ship",))
    assert await store.jobs.claim_for_worker(asked, NOON) == []
    asked = WorkerClaim("default", "w1", ("ship",), 10, LEASE, but=("ship",))
    assert await store.jobs.claim_for_worker(asked, NOON) == []


async def test_jobs_that_waited_before_count_for_a_new_limit(place: Place) -> None:
    store = await place.opened("p1")
    unlimited = [replace(job(f"i{number}", number), is_limited=False) for number in range(1, 5)]
    await offer(store, *unlimited)
    assert await store.jobs.limited_tasks() == []
    await store.jobs.mark_limited("default", "ship")
    assert await store.jobs.limited_tasks() == [("default", "ship")]
    assert (await store.jobs.claim(["ship"], 10, LEASE, NOON)).granted == []
    assert ids(await store.jobs.claim_limited(claim(), NOON)) == ["i1", "i2"]


async def test_a_job_that_was_put_back_counts_no_more(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1", 1), job("i2", 2), job("i3", 3))
    granted = await store.jobs.claim_limited(claim(worker_id="w1"), NOON)
    await store.jobs.put_back([granted.granted[0].lease])
    assert (await store.jobs.use_of("default", "ship")).held == 1
    assert ids(await store.jobs.claim_limited(claim(), NOON)) == ["i1"]


async def test_claims_at_the_same_moment_do_not_exceed_the_limit(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, *(job(f"i{number}", number) for number in range(1, 12)))
    found = await asyncio.gather(
        *(
            store.jobs.claim_limited(claim(worker_id=f"w{number}", most=3), NOON)
            for number in range(8)
        )
    )
    assert sorted(id for each in found for id in ids(each)) == ["i1", "i2"]
