"""Attempts that are left to whoever has their task: one at a time, under a token that rises."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto.store.parts.jobs import JobKey, JobRow, Lapsed, Lease
from tenuto.store.parts.turns import Outcome
from tenuto.store.protocol import Store
from tests.store.conftest import Place
from tests.store.situations import NOON, aside, begin, moment, step, turn

pytestmark = pytest.mark.asyncio

LEASE = timedelta(seconds=30)


def job(instance_id: str, seconds: int = 0, task_id: str = "ship", attempt: int = 1) -> JobRow:
    key = JobKey(instance_id, "a", "", attempt)
    return JobRow(key=key, task_id=task_id, offered_at=moment(seconds))


async def offer(store: Store, *jobs: JobRow, process_id: str = "p1") -> None:
    writes = [begin(id) for id in sorted({each.key.instance_id for each in jobs})]
    await store.turns.commit(turn(f"new {jobs[0].key}", *writes, process_id=process_id))
    for each in jobs:
        offering = aside(each.key.instance_id, jobs_offered=(each,))
        await store.turns.commit(turn(f"offer {each.key}", offering, process_id=process_id))


async def test_jobs_are_granted_in_the_order_they_were_offered_each_once(place: Place) -> None:
    store = await place.opened("p1")
    jobs = [job("i1", 30), job("i2", 10), job("i3", 20), job("i4", 5, task_id="bill")]
    await offer(store, *jobs)
    first = await store.jobs.claim(["ship", "sail"], 2, LEASE, NOON)
    assert first.granted == [Lease(jobs[1].key, 1), Lease(jobs[2].key, 1)]
    second = await store.jobs.claim(["ship", "sail"], 2, LEASE, NOON)
    assert (second.granted, second.lapsed) == ([Lease(jobs[0].key, 1)], [])
    assert (await store.jobs.claim([], 2, LEASE, NOON)).granted == []
    assert (await store.turns.load(["i2"]))["i2"].jobs == (Lease(jobs[1].key, 1),)
    assert (await store.turns.load(["i4"]))["i4"].jobs == (Lease(jobs[3].key, 0),)


async def test_a_report_counts_only_under_the_lease_that_holds(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1"), job("i2"))
    [one, two] = (await store.jobs.claim(["ship"], 2, LEASE, NOON)).granted
    stale = two._replace(token=0)
    result = await store.turns.commit(
        turn(
            "t1",
            step("i1", 1, leases=(one,), jobs_withdrawn=(one.key,)),
            step("i2", 1, leases=(stale,), jobs_withdrawn=(stale.key,)),
            process_id="p1",
        )
    )
    outcomes = {id: each.outcome for id, each in result.writes.items()}
    assert outcomes == {"i1": Outcome.WON, "i2": Outcome.LOST}
    again = turn("t2", step("i1", 2, leases=(one,)), process_id="p1")
    assert (await store.turns.commit(again)).writes["i1"].outcome is Outcome.LOST
    late = turn("t3", aside("i2", version=1, leases=(stale,)), process_id="p1")
    assert (await store.turns.commit(late)).writes["i2"].outcome is Outcome.LOST
    loaded = await store.turns.load(["i1", "i2"])
    assert {id: each.jobs for id, each in loaded.items()} == {"i1": (), "i2": (two,)}
    assert {id: len(each.tail) for id, each in loaded.items()} == {"i1": 2, "i2": 1}


async def test_a_report_that_is_sent_again_is_told_what_became_of_it(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1"))
    [lease] = (await store.jobs.claim(["ship"], 1, LEASE, NOON)).granted
    report = turn(
        "t1", step("i1", 1, leases=(lease,), jobs_withdrawn=(lease.key,)), process_id="p1"
    )
    assert await store.turns.commit(report) == await store.turns.commit(report)
    assert (await store.turns.commit(report)).writes["i1"].outcome is Outcome.WON
    assert len(await store.instances.entries("i1")) == 2


async def test_what_is_extended_is_held_and_nothing_else(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1"), job("i2"))
    [one, two] = (await store.jobs.claim(["ship"], 2, LEASE, NOON)).granted
    withdrawn = aside("i2", jobs_withdrawn=(two.key,))
    await store.turns.commit(turn("t1", withdrawn, process_id="p1"))
    wrong = one._replace(token=9)
    assert await store.jobs.extend([one, two, wrong], LEASE, NOON) == {one}
    assert await store.jobs.extend([], LEASE, NOON) == set()


async def test_a_job_that_is_offered_twice_is_one(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1"))
    [lease] = (await store.jobs.claim(["ship"], 2, LEASE, NOON)).granted
    again = aside("i1", jobs_offered=(job("i1", 50),))
    await store.turns.commit(turn("t1", again, process_id="p1"))
    assert (await store.turns.load(["i1"]))["i1"].jobs == (lease,)
    assert (await store.jobs.claim(["ship"], 2, LEASE, NOON)).granted == []


async def test_a_lease_of_a_process_that_is_gone_is_shown_until_somebody_acts(
    place: Place,
) -> None:
    first = await place.opened("p1")
    await offer(first, job("i1"), job("i2"))
    [lease] = (await first.jobs.claim(["ship"], 1, LEASE, NOON)).granted
    first.abandon()
    second = await place.opened("p2")
    await second.members.claim_orphans(10)
    for _ in range(2):
        claims = await second.jobs.claim([], 10, LEASE, NOON)
        assert (claims.granted, claims.lapsed) == ([], [Lapsed(lease, clean=False)])
    lost = step(lease.key.instance_id, 1, leases=(lease,), jobs_withdrawn=(lease.key,))
    won = await second.turns.commit(turn("t1", lost, process_id="p2"))
    assert won.writes[lease.key.instance_id].outcome is Outcome.WON
    assert (await second.jobs.claim([], 10, LEASE, NOON)).lapsed == []


async def test_a_lease_of_a_process_that_stopped_in_good_order_is_shown_as_such(
    place: Place,
) -> None:
    first = await place.opened("p1")
    await offer(first, job("i1"))
    [lease] = (await first.jobs.claim(["ship"], 1, LEASE, NOON)).granted
    await first.close(NOON, clean=True)
    for number in (2, 3):  # also when others have come and gone since
        later = await place.opened(f"p{number}")
        [lapsed] = (await later.jobs.claim(["ship"], 1, LEASE, NOON)).lapsed
        assert lapsed == Lapsed(lease, clean=True)
        await later.close(NOON, clean=True)


async def test_lapsed_leases_are_shown_also_to_who_has_no_room(place: Place) -> None:
    first = await place.opened("p1")
    await offer(first, *[job(f"i{number}", number) for number in range(4)])
    leases = (await first.jobs.claim(["ship"], 3, LEASE, NOON)).granted
    first.abandon()
    second = await place.opened("p2")
    await second.members.claim_orphans(10)
    claims = await second.jobs.claim(["ship"], 0, LEASE, NOON)
    assert (claims.granted, [each.lease for each in claims.lapsed]) == ([], leases)
    fewer = await second.jobs.claim(["ship"], 1, LEASE, NOON, lapsed=2)
    assert (len(fewer.granted), fewer.lapsed) == (1, claims.lapsed[:2])


async def test_two_processes_share_jobs_and_neither_has_the_others(shared_place: Place) -> None:
    first = await shared_place.opened("p1", shared=True)
    second = await shared_place.opened("p2", shared=True)
    await offer(first, *[job(f"i{number}", number) for number in range(6)])
    mine = (await first.jobs.claim(["ship"], 4, LEASE, NOON)).granted
    theirs = (await second.jobs.claim(["ship"], 4, LEASE, NOON)).granted
    assert [len(mine), len(theirs)] == [4, 2]
    assert not set(mine) & set(theirs)
    assert await second.jobs.extend(mine, LEASE, NOON) == set()


async def test_a_process_may_ask_what_is_leased_to_it(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, *[job(f"i{number}", number) for number in range(4)])
    short = (await store.jobs.claim(["ship"], 1, timedelta(0), NOON)).granted
    held = (await store.jobs.claim(["ship"], 2, LEASE, NOON)).granted
    assert await store.jobs.leases(NOON) == held
    over = held[0].key
    await store.turns.commit(turn("t1", aside("i1", jobs_withdrawn=(over,)), process_id="p1"))
    assert await store.jobs.leases(NOON) == held[1:]
    assert await store.jobs.extend(short, LEASE, NOON) == set(short)
    assert await store.jobs.leases(NOON) == short + held[1:]


async def test_what_is_leased_to_others_is_not_told(shared_place: Place) -> None:
    first = await shared_place.opened("p1", shared=True)
    second = await shared_place.opened("p2", shared=True)
    await offer(first, job("i1"))
    held = (await first.jobs.claim(["ship"], 1, LEASE, NOON)).granted
    assert (await first.jobs.leases(NOON), await second.jobs.leases(NOON)) == (held, [])
