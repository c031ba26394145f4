"""Leases of workers outside: a tenant's, bounded by what the job may take, and nobody's process."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto.store.parts.jobs import Beat, Grant, JobKey, JobRow, Lapsed, Lease, Overrun, WorkerClaim
from tenuto.store.parts.turns import Outcome
from tenuto.store.protocol import Store
from tests.store.conftest import Place
from tests.store.situations import NOON, aside, begin, moment, step, turn

pytestmark = pytest.mark.asyncio

LEASE = timedelta(minutes=1)
AT_ONCE = timedelta(0)


def job(
    instance_id: str,
    seconds: int = 0,
    task_id: str = "ship",
    *,
    tenant: str = "default",
    timeout: timedelta = timedelta(minutes=10),
    heartbeat_timeout: timedelta | None = None,
) -> JobRow:
    return JobRow(
        key=JobKey(instance_id, "a", "", 1),
        task_id=task_id,
        offered_at=moment(seconds),
        tenant=tenant,
        timeout=timeout,
        heartbeat_timeout=heartbeat_timeout,
    )


def claim(
    *task_ids: str,
    tenant: str = "default",
    limit: int = 10,
    lease: timedelta = LEASE,
    worker_id: str = "w1",
) -> WorkerClaim:
    return WorkerClaim(tenant, worker_id, task_ids or None, limit, lease)


def leases(granted: list[Grant]) -> list[Lease]:
    return [each.lease for each in granted]


async def offer(store: Store, *jobs: JobRow) -> None:
    for each in jobs:
        id = each.key.instance_id
        await store.turns.commit(turn(f"new {id}", begin(id), process_id="p1"))
        offering = aside(id, jobs_offered=(each,))
        await store.turns.commit(turn(f"offer {id}", offering, process_id="p1"))


async def test_a_worker_is_granted_what_its_tenant_offered_first(place: Place) -> None:
    store = await place.opened("p1")
    await offer(
        store,
        job("i1", 30),
        job("i2", 10, "bill"),
        job("i3", 20),
        job("i4", 5, tenant="other"),
        job("i5", 1, "sail"),
    )
    some = await store.jobs.claim_for_worker(claim("ship", "bill", limit=2), NOON)
    assert [lease.key.instance_id for lease in leases(some)] == ["i2", "i3"]
    assert {lease.token for lease in leases(some)} == {1}
    rest = await store.jobs.claim_for_worker(claim(), NOON)
    assert [lease.key.instance_id for lease in leases(rest)] == ["i5", "i1"]
    assert await store.jobs.claim_for_worker(claim(), NOON) == []
    others = await store.jobs.claim_for_worker(claim("ship", tenant="other"), NOON)
    assert [lease.key.instance_id for lease in leases(others)] == ["i4"]
    assert (await store.turns.load(["i4"]))["i4"].jobs == (Lease(JobKey("i4", "a", "", 1), 1),)


async def test_a_worker_and_a_process_never_have_the_same_job(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1", 1), job("i2", 2))
    [outside] = leases(await store.jobs.claim_for_worker(claim(limit=1, worker_id="p1"), NOON))
    [inside] = (await store.jobs.claim(["ship"], 10, LEASE, NOON)).granted
    assert (outside.key.instance_id, inside.key.instance_id) == ("i1", "i2")
    assert await store.jobs.leases(NOON) == [inside]
    assert await store.jobs.extend([outside, inside], LEASE, NOON) == {inside}
    assert set(await store.jobs.extend_for_workers([Beat(outside), Beat(inside)], NOON)) == {
        outside
    }


async def test_a_lease_of_a_worker_survives_every_process(place: Place) -> None:
    first = await place.opened("p1")
    await offer(first, job("i1"))
    [granted] = await first.jobs.claim_for_worker(claim(), NOON)
    first.abandon()
    second = await place.opened("p2")
    await second.members.claim_orphans(10)
    assert (await second.jobs.claim(["ship"], 10, LEASE, NOON)).lapsed == []
    [(lease, extension)] = (
        await second.jobs.extend_for_workers([Beat(granted.lease)], NOON + timedelta(seconds=1))
    ).items()
    assert lease == granted.lease
    assert extension.until > granted.until
    await second.close(NOON, clean=True)
    third = await place.opened("p3")
    assert (await third.jobs.claim(["ship"], 10, LEASE, NOON)).lapsed == []
    report = step("i1", 1, leases=(lease,), jobs_withdrawn=(lease.key,))
    won = await third.turns.commit(turn("t1", report, process_id="p3"))
    assert won.writes["i1"].outcome is Outcome.WON


async def test_a_lease_that_lapsed_is_shown_and_extended_by_nobody(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1"), job("i2"))
    [lapsed] = leases(await store.jobs.claim_for_worker(claim(limit=1, lease=AT_ONCE), NOON))
    [held] = leases(await store.jobs.claim_for_worker(claim(), NOON))
    for _ in range(2):
        claims = await store.jobs.claim(["ship"], 10, LEASE, NOON)
        assert (claims.granted, claims.lapsed) == ([], [Lapsed(lapsed, clean=False)])
    beats = [Beat(lapsed), Beat(held), Beat(held._replace(token=9))]
    assert set(await store.jobs.extend_for_workers(beats, NOON)) == {held}
    assert await store.jobs.extend_for_workers([], NOON) == {}


async def test_a_lease_ends_with_the_time_that_the_job_may_take(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1", timeout=AT_ONCE))
    [lease] = leases(await store.jobs.claim_for_worker(claim(), NOON))
    [lapsed] = (await store.jobs.claim([], 0, LEASE, NOON)).lapsed
    assert lapsed == Lapsed(lease, clean=False, overrun=Overrun("timeout", 0.0))


async def test_extending_goes_no_further_than_the_time_that_the_job_may_take(
    place: Place,
) -> None:
    store = await place.opened("p1")
    bound = timedelta(seconds=90)
    await offer(store, job("i1", timeout=bound))
    [granted] = await store.jobs.claim_for_worker(claim(), NOON)
    later = NOON + timedelta(seconds=50)
    [extension] = (await store.jobs.extend_for_workers([Beat(granted.lease)], later)).values()
    assert extension.until <= granted.until - LEASE + bound


async def test_a_worker_may_be_silent_for_so_long_and_what_it_said_last_is_kept(
    place: Place,
) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1", heartbeat_timeout=timedelta(milliseconds=50)))
    lease = await heard_of_twice(store)
    while not (gone := (await store.jobs.claim([], 0, LEASE, NOON + LEASE)).lapsed):
        pass
    assert gone == [Lapsed(lease, clean=False, overrun=Overrun("silence", 0.05, '{"done":7}'))]


async def heard_of_twice(store: Store) -> Lease:
    """A lease that was extended twice in time: on a busy server the first may be too late."""
    while True:
        [lease] = leases(await store.jobs.claim_for_worker(claim(), NOON))
        first = await store.jobs.extend_for_workers([Beat(lease, '{"done":7}')], NOON)
        if first and await store.jobs.extend_for_workers([Beat(lease)], NOON):
            return lease
        await store.jobs.put_back([lease])


async def test_what_a_worker_never_heard_of_is_as_if_it_had_not_been_leased(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1"))
    [first] = leases(await store.jobs.claim_for_worker(claim(), NOON))
    await store.jobs.put_back([first._replace(token=9)])
    assert await store.jobs.claim_for_worker(claim(), NOON) == []
    await store.jobs.put_back([first])
    assert (await store.jobs.claim([], 0, LEASE, NOON)).lapsed == []
    [second] = leases(await store.jobs.claim_for_worker(claim(worker_id="w2"), NOON))
    assert second == first._replace(token=2)
    late = turn("t1", step("i1", 1, leases=(first,)), process_id="p1")
    assert (await store.turns.commit(late)).writes["i1"].outcome is Outcome.LOST
    assert await store.jobs.extend_for_workers([Beat(first)], NOON) == {}


async def test_nobody_is_granted_what_was_called_off_and_its_worker_hears_of_it(
    place: Place,
) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1", 1), job("i2", 2))
    [begun] = leases(await store.jobs.claim_for_worker(claim(limit=1), NOON))
    keys = [JobKey(id, "a", "", 1) for id in ("i1", "i2")]
    [extension] = (await store.jobs.extend_for_workers([Beat(begun)], NOON)).values()
    assert not extension.is_cancelled
    assert await store.jobs.take_cancelled(keys, LEASE, NOON) == []
    for id, key in zip(("i1", "i2"), keys, strict=True):
        await store.turns.commit(
            turn(f"off {id}", aside(id, jobs_cancelled=(key,)), process_id="p1")
        )
    assert await store.jobs.claim_for_worker(claim(), NOON) == []
    assert (await store.jobs.claim(["ship"], 10, LEASE, NOON)).granted == []
    [extension] = (await store.jobs.extend_for_workers([Beat(begun)], NOON)).values()
    assert extension.is_cancelled
    [taken] = await store.jobs.take_cancelled(keys, LEASE, NOON)
    assert taken == Lease(keys[1], 1)
    assert await store.jobs.take_cancelled(keys, LEASE, NOON) == []
    assert await store.jobs.leases(NOON) == [taken]


async def test_the_next_lapse_is_that_of_a_worker(place: Place) -> None:
    store = await place.opened("p1")
    assert await store.jobs.next_lapse(NOON) is None
    await offer(store, job("i1"), job("i2"), job("i3"))
    await store.jobs.claim(["ship"], 1, timedelta(seconds=1), NOON)
    assert await store.jobs.next_lapse(NOON) is None
    await store.jobs.claim_for_worker(claim(limit=1, lease=2 * LEASE), NOON)
    await store.jobs.claim_for_worker(claim(limit=1), NOON)
    ahead = await store.jobs.next_lapse(NOON)
    assert ahead is not None
    assert timedelta(0) < ahead <= LEASE


async def test_a_secret_stays_what_it_was_first(place: Place) -> None:
    first = await place.opened("p1")
    assert await first.access.keep_secret("x", b"one") == b"one"
    assert await first.access.keep_secret("x", b"two") == b"one"
    assert await first.access.keep_secret("y", b"three") == b"three"
    await first.close(NOON, clean=True)
    second = await place.opened("p2")
    assert await second.access.keep_secret("x", b"four") == b"one"


async def test_of_two_processes_that_claim_for_workers_each_grants_its_own(
    shared_place: Place,
) -> None:
    first = await shared_place.opened("p1", shared=True)
    second = await shared_place.opened("p2", shared=True)
    await offer(first, *[job(f"i{number}", number) for number in range(6)])
    mine = await first.jobs.claim_for_worker(claim(limit=4), NOON)
    yours = await second.jobs.claim_for_worker(claim(limit=4, worker_id="w2"), NOON)
    assert [lease.key.instance_id for lease in leases(mine)] == ["i0", "i1", "i2", "i3"]
    assert [lease.key.instance_id for lease in leases(yours)] == ["i4", "i5"]
    assert len(await second.jobs.extend_for_workers([Beat(each.lease) for each in mine], NOON)) == 4


async def test_a_time_out_that_is_known_at_the_claim_counts_from_then(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, *(job(f"i{each}", each) for each in range(3)))
    granted = await store.jobs.claim_for_worker(claim(), NOON)
    shorter, longer, same = leases(granted)
    gone = same._replace(token=9)
    timeouts = {shorter: LEASE / 4, longer: LEASE * 60, gone: LEASE}
    until = await store.jobs.set_timeouts(timeouts, NOON)
    assert set(until) == {shorter, longer}
    before = {each.lease: each.until for each in granted}
    assert before[shorter] - until[shorter] == LEASE * 3 / 4
    assert until[longer] == before[longer]
    handed = await store.jobs.hand_over([longer, same], NOON)
    assert handed == {longer, same}
    beats = await store.jobs.extend_for_workers([Beat(longer), Beat(same)], NOON)
    # A lease that is handed over ends with the time-out of its attempt.
    assert beats[longer].until - before[longer] == LEASE * 59
    assert beats[same].until - before[same] == timedelta(minutes=9)
