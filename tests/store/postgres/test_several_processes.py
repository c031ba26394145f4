"""Several processes on one database: one wins, one claims, and nobody waits in a circle."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from tenuto.model.log import LogRow
from tenuto.store.errors import Fenced
from tenuto.store.parts.jobs import JobKey, JobRow
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.members import Orphan
from tenuto.store.parts.timers import TimerRow
from tenuto.store.parts.turns import Outcome, Ownership, WriteResult
from tenuto.store.postgres import PostgresStore
from tests.kit.postgres_database import connected
from tests.store.postgres.conftest import Opener, ask, run, waits_for_lock
from tests.store.postgres_place import DEAD_AFTER, let_time_pass
from tests.store.situations import (
    NOON,
    aside,
    begin,
    entry,
    event,
    mail,
    moment,
    step,
    timer,
    turn,
    wait,
)

pytestmark = pytest.mark.asyncio

WON = WriteResult(Outcome.WON)
LOST = WriteResult(Outcome.LOST)

ENTRY = (
    "INSERT INTO tenuto.workflow_execution_history"
    " VALUES ($1, $2, $3, NULL, '', 0, NULL, NULL, NULL, NULL, 0, NULL)"
)


async def two(opened: Opener, url: str) -> tuple[PostgresStore, PostgresStore]:
    return (
        await opened(url, "p1", dead_after=DEAD_AFTER),
        await opened(url, "p2", dead_after=DEAD_AFTER),
    )


async def test_of_two_that_write_the_same_entry_one_wins(url: str, opened: Opener) -> None:
    first, second = await two(opened, url)
    await first.turns.commit(turn("t0", begin("i1"), process_id="p1"))
    for version in range(1, 40):
        results = await asyncio.gather(
            *[
                store.turns.commit(
                    turn(
                        f"{name}-{version}",
                        step("i1", version, entry(version + 1, name)),
                        process_id=name,
                    ),
                    version % 2,
                )
                for name, store in (("p1", first), ("p2", second))
            ]
        )
        outcomes = Counter(result.writes["i1"].outcome for result in results)
        assert outcomes == {Outcome.WON: 1, Outcome.LOST: 1}
    assert [row.seq for row in await first.instances.entries("i1")] == list(range(1, 41))


async def test_of_two_that_take_an_instance_one_is_its_owner(url: str, opened: Opener) -> None:
    first, second = await two(opened, url)
    ids = [f"i{number:02}" for number in range(30)]
    for id in ids:
        results = await asyncio.gather(
            *[
                store.turns.commit(
                    turn(f"{name}-{id}", aside(id, ownership=Ownership.TAKE), process_id=name)
                )
                for name, store in (("p1", first), ("p2", second))
            ]
        )
        assert sorted(len(result.writes) for result in results) == [0, 1]


async def test_a_write_without_entries_waits_for_an_entry_that_is_being_committed(
    url: str, opened: Opener
) -> None:
    """It cannot be seen yet, but whoever decided without it is out of date when it is there."""
    store = await opened(url)
    await store.turns.commit(turn("t0", begin("i1"), begin("i2"), process_id="p1"))
    for id, end, outcome in (("i1", "COMMIT", {"i1": LOST}), ("i2", "ROLLBACK", {})):
        async with connected(url) as other:
            await other.execute("BEGIN")
            await other.fetch(ENTRY, id, 2, "X")
            old = aside(id, version=1, timers_set=(timer(id, 5),))
            under_way = asyncio.create_task(
                store.turns.commit(turn(f"t-{id}", old, process_id="p1"))
            )
            await waits_for_lock(url)
            await other.execute(end)
        assert (await under_way).writes == outcome
    due, _ = await store.timers.due(moment(10), 10)
    assert [each.instance_id for each in due] == ["i2"]


async def test_an_entry_waits_for_a_write_without_entries(url: str, opened: Opener) -> None:
    store = await opened(url)
    await store.turns.commit(turn("t0", begin("i1"), process_id="p1"))
    async with connected(url) as other:
        await other.execute("BEGIN")
        await other.fetch(ENTRY, "i1", 2, "")
        under_way = asyncio.create_task(
            store.turns.commit(turn("t1", step("i1", 1), process_id="p1"))
        )
        await waits_for_lock(url)
        await other.execute("COMMIT")
    assert (await under_way).writes == {"i1": WON}
    assert [row.event_type for row in await store.instances.entries("i1")] == [
        "INPUT_SET",
        "SYSTEM_SET",
    ]


async def test_what_holds_a_place_is_never_seen(url: str, opened: Opener) -> None:
    store = await opened(url)
    await store.turns.commit(turn("t0", begin("i1"), process_id="p1"))
    await store.turns.commit(turn("t1", aside("i1", version=1), process_id="p1"))
    async with connected(url) as other:
        found = await other.fetch(
            "SELECT count(*) FROM tenuto.workflow_execution_history WHERE event_type = ''"
        )
    assert found[0][0] == 0


async def test_turns_over_the_same_instances_never_wait_in_a_circle(
    url: str, opened: Opener
) -> None:
    """C22: "`deadlocks` counter = 0"."""
    stores = {"p1": await opened(url, "p1"), "p2": await opened(url, "p2")}
    ids = [f"i{number:02}" for number in range(25)]
    await stores["p1"].turns.commit(turn("t0", *[begin(id) for id in ids], process_id="p1"))
    chance = random.Random(7)

    async def work(name: str, lane: int) -> None:
        for number in range(25):
            chosen = chance.sample(ids, 12)
            loaded = await stores[name].turns.load(chosen)
            letters = [mail(f"m{n}", id) for n, id in enumerate(chance.sample(ids, 12))]
            writes = [
                step(id, len(loaded[id].tail), mail_sent=tuple(letters[n : n + 1]))
                if n % 3
                else aside(id, version=len(loaded[id].tail), waits_opened=(wait(id),))
                for n, id in enumerate(chosen)
            ]
            events = tuple(event(f"e{n}") for n in sorted(chance.sample(range(200), 3)))
            id = f"{name}-{lane}-{number}"
            await stores[name].turns.commit(turn(id, *writes, process_id=name, events=events), lane)

    async def deadlocks() -> int:
        async with connected(url) as connection:
            [(count,)] = await connection.fetch(
                "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
            )
        return int(count)

    before = await deadlocks()
    await asyncio.gather(*[work(name, lane) for name in stores for lane in (0, 1)])
    assert await deadlocks() == before
    logs: dict[str, list[LogRow]] = {id: await stores["p1"].instances.entries(id) for id in ids}
    for log in logs.values():
        assert [row.seq for row in log] == list(range(1, len(log) + 1))


async def test_claims_never_exceed_their_limit_and_come_to_one_process(
    url: str, opened: Opener
) -> None:
    """B10: "Force nested-loop plan with stale statistics; claimed ≤ n always"."""
    gone = await opened(url, "gone", dead_after=DEAD_AFTER)
    async with connected(url) as connection:
        # The planner believes that there is nothing.
        await connection.execute("ANALYZE tenuto.owners, tenuto.timers, tenuto.mailbox")
    ids = [f"i{number:03}" for number in range(300)]
    owned = [aside(id, ownership=Ownership.TAKE, timers_set=(timer(id, 1),)) for id in ids]
    await gone.turns.commit(turn("t0", *owned, process_id="gone"))
    await gone.mailbox.send([mail(f"m{id}", f"x{id}") for id in ids])
    await gone.close(NOON, clean=True)
    stores = [await opened(url, f"p{number}") for number in range(3)]

    async def orphans(store: PostgresStore) -> list[str]:
        found: list[str] = []
        while batch := await store.members.claim_orphans(7):
            assert len(batch) <= 7
            found += [orphan.instance_id for orphan in batch]
        return found

    claimed = [id for each in await asyncio.gather(*map(orphans, stores)) for id in each]
    assert sorted(claimed) == ids

    timers: list[list[TimerRow]] = [
        found for found, _ in await asyncio.gather(*[s.timers.due(moment(9), 40) for s in stores])
    ]
    assert all(len(found) <= 40 for found in timers)
    assert len({each.instance_id for found in timers for each in found}) == sum(map(len, timers))
    letters: list[list[Mail]] = await asyncio.gather(*[s.mailbox.claim(40) for s in stores])
    assert all(len(found) <= 40 for found in letters)
    assert len({each.id for found in letters for each in found}) == sum(map(len, letters))


async def test_after_an_outage_of_the_server_nobody_is_dead(url: str, opened: Opener) -> None:
    first, second = await two(opened, url)
    await first.turns.commit(turn("t0", aside("i1", ownership=Ownership.TAKE), process_id="p1"))
    await let_time_pass(url, "p1", "p2")
    assert not (await second.members.beat()).has_orphans
    assert await second.members.claim_orphans(10) == []
    assert not (await first.members.beat()).has_orphans
    assert (await first.turns.commit(turn("t1", begin("i2"), process_id="p1"))).writes == {
        "i2": WON
    }


async def test_who_has_just_come_buries_nobody(url: str, opened: Opener) -> None:
    first = await opened(url, "p1", dead_after=DEAD_AFTER)
    await first.turns.commit(turn("t0", aside("i1", ownership=Ownership.TAKE), process_id="p1"))
    await let_time_pass(url, "p1")
    second = await opened(url, "p2", dead_after=DEAD_AFTER)
    assert not (await second.members.beat()).has_orphans
    assert await second.members.claim_orphans(10) == []
    await let_time_pass(url, "p1")
    assert (await second.members.beat()).has_orphans
    assert [orphan.instance_id for orphan in await second.members.claim_orphans(10)] == ["i1"]


async def test_nobody_is_buried_in_the_middle_of_a_turn(url: str, opened: Opener) -> None:
    first, second = await two(opened, url)
    await first.turns.commit(turn("t0", aside("i1", ownership=Ownership.TAKE), process_id="p1"))
    await let_time_pass(url, "p1")
    async with connected(url) as turn_of_first:
        await turn_of_first.execute(
            "BEGIN; SELECT 1 FROM tenuto.processes WHERE id = 'p1' FOR KEY SHARE"
        )
        assert await second.members.claim_orphans(10) == []
        await turn_of_first.execute("COMMIT")
    assert len(await second.members.claim_orphans(10)) == 1
    with pytest.raises(Fenced):
        await first.turns.commit(turn("t1", begin("i2"), process_id="p1"))


async def test_a_turn_that_meets_its_own_burial_is_fenced(url: str, opened: Opener) -> None:
    store = await opened(url)
    async with connected(url) as other:
        await other.execute(
            "BEGIN; SELECT 1 FROM tenuto.processes WHERE id = 'p1' FOR UPDATE;"
            "UPDATE tenuto.processes SET stopped_at = 1 WHERE id = 'p1'"
        )
        under_way = asyncio.create_task(
            store.turns.commit(turn("t1", begin("i1"), process_id="p1"))
        )
        await waits_for_lock(url)
        await other.execute("COMMIT")
    with pytest.raises(Fenced):
        await under_way
    assert await store.turns.load(["i1"]) == {}


async def test_claimants_that_are_dead_claim_nothing(url: str, opened: Opener) -> None:
    first, second = await two(opened, url)
    await let_time_pass(url, "p1")
    await second.members.claim_orphans(10)
    with pytest.raises(Fenced):
        await first.members.claim_orphans(10)


async def test_two_lanes_are_committed_at_once(url: str, opened: Opener) -> None:
    """New instances in one lane must not wait for those in the other."""
    store = await opened(url)
    async with connected(url) as other:
        await other.execute("BEGIN")
        await other.fetch(ENTRY, "i1", 1, "X")
        stuck = asyncio.create_task(store.turns.commit(turn("t1", begin("i1"), process_id="p1"), 0))
        await waits_for_lock(url)
        done = await store.turns.commit(turn("t2", begin("i2"), process_id="p1"), 1)
        assert done.writes == {"i2": WON}
        await other.execute("ROLLBACK")
    assert (await stuck).writes == {"i1": WON}


async def test_definitions_saved_at_once_get_different_versions(url: str, opened: Opener) -> None:
    first, second = await two(opened, url)
    contents = [b"%d" % number for number in range(8)]
    saved = await asyncio.gather(
        *[
            store.definitions.save("default", "d", content, content, NOON)
            for content, store in zip(contents, [first, second] * 4, strict=True)
        ]
    )
    assert sorted(row.version for row in saved) == list(range(1, 9))
    for row in saved:
        assert await first.definitions.get("default", "d", row.version) == row


async def test_old_events_are_never_newer_than_a_wait_that_followed_them(
    url: str, opened: Opener
) -> None:
    """H3: "one paused between `nextval` and commit": numbers are given in the order of commits."""
    first, second = await two(opened, url)
    async with connected(url) as other:
        await other.execute(
            "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('\"tenuto\".events', 0))"
        )
        storing = asyncio.create_task(
            first.turns.commit(turn("t1", process_id="p1", events=(event("e1"),)))
        )
        await waits_for_lock(url)
        opening = step("i1", 0, waits_opened=(wait("i1"),))
        await second.turns.commit(turn("t2", opening, process_id="p2"))
        await other.execute("ROLLBACK")
    number = (await storing).events["e1"].number
    assert (await second.waits.of("i1"))[0].follows < number


async def test_who_left_in_good_order_and_owns_nothing_is_soon_forgotten(
    url: str, opened: Opener
) -> None:
    """Every beat looks at all who stopped: guests that come and go leave nothing to look at."""
    guest = PostgresStore(url)
    await guest.open("guest", NOON, is_guest=True)
    owner = await opened(url, "owner")
    own = aside("i1", ownership=Ownership.TAKE)
    await owner.turns.commit(turn("t1", own, process_id="owner"))
    dead = await opened(url, "dead")
    lessee = await opened(url, "lessee")
    key = JobKey("i2", "a", "", 1)
    offer = aside("i2", jobs_offered=(JobRow(key=key, task_id="ship", offered_at=NOON),))
    await lessee.turns.commit(turn("t2", begin("i2"), process_id="lessee"))
    await lessee.turns.commit(turn("t3", offer, process_id="lessee"))
    assert (await lessee.jobs.claim(["ship"], 1, timedelta(minutes=1), NOON)).granted
    later = NOON + timedelta(hours=1)
    await guest.close(later, clean=True)
    await owner.close(NOON, clean=True)
    await lessee.close(NOON, clean=True)
    await dead.close(NOON, clean=False)
    await opened(url, "at once")
    assert await _known(url) == ["at once", "dead", "guest", "lessee", "owner"]
    await run(url, "UPDATE tenuto.processes SET stopped_at = stopped_at - 180000")
    heir = PostgresStore(url)
    opened.stores.append(heir)
    assert await heir.open("heir", NOON) == later
    assert await _known(url) == ["at once", "dead", "heir", "lessee", "owner"]
    assert await heir.members.claim_orphans(9) == [Orphan("i1", clean=True)]
    lapsed = (await heir.jobs.claim(["ship"], 1, timedelta(minutes=1), NOON)).lapsed
    assert [each.clean for each in lapsed] == [True]


async def test_how_far_time_has_come_outlives_who_has_seen_it(url: str, opened: Opener) -> None:
    moments = "SELECT process_id FROM tenuto.moments ORDER BY 1"
    later, wrong = NOON + timedelta(hours=1), datetime.now(UTC) + timedelta(days=7)
    for id, left_at in (("a", NOON), ("b", later), ("c", NOON), ("d", wrong)):
        guest = PostgresStore(url)
        await guest.open(id, NOON, is_guest=True)
        await guest.close(left_at, clean=True)
    await run(url, "UPDATE tenuto.processes SET stopped_at = stopped_at - 180000")
    await run(url, "UPDATE tenuto.moments SET seen_at = 0 WHERE process_id = 'c'")
    first = PostgresStore(url)
    opened.stores.append(first)
    assert await first.open("p1", NOON) == later
    assert await ask(url, moments) == [("p1",)]
    await run(url, "DELETE FROM tenuto.processes WHERE id = 'p1'")
    await run(url, "UPDATE tenuto.moments SET seen_at = seen_at + 1000")
    second = PostgresStore(url)
    opened.stores.append(second)
    assert await second.open("p2", NOON) == later + timedelta(seconds=1)


async def _known(url: str) -> list[str]:
    return [id for (id,) in await ask(url, "SELECT id FROM tenuto.processes ORDER BY id")]


async def test_a_clock_that_was_set_back_is_told_how_far_time_has_come(
    url: str, opened: Opener
) -> None:
    store = await opened(url)
    later = NOON + timedelta(hours=1)
    far = turn("t1", begin("i1"), process_id="p1")
    await store.turns.commit(type(far)(id="t1", process_id="p1", at=later, writes=far.writes), 1)
    store.abandon()
    again = PostgresStore(url)
    opened.stores.append(again)
    assert await again.open("p2", NOON) == later
