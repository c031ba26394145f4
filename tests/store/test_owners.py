"""Who owns an instance, and what happens to it when that process is gone."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.store.errors import Fenced
from tenuto.store.parts.members import Orphan
from tenuto.store.parts.turns import Outcome, Ownership, WriteResult
from tenuto.store.protocol import Store
from tests.store.conftest import UNSHARED, Place
from tests.store.situations import NOON, aside, begin, event, mail, step, turn

pytestmark = pytest.mark.asyncio

WON = WriteResult(Outcome.WON)
LOST = WriteResult(Outcome.LOST)


async def take(store: Store, process_id: str, *ids: str) -> None:
    writes = [begin(id) for id in ids]
    await store.turns.commit(turn(f"new-{process_id}-{ids}", *writes, process_id=process_id))
    owned = [step(id, 1, ownership=Ownership.TAKE) for id in ids]
    await store.turns.commit(turn(f"own-{process_id}-{ids}", *owned, process_id=process_id))


async def test_after_a_crash_the_next_process_finds_what_was_owned(place: Place) -> None:
    first = await place.opened("p1")
    await take(first, "p1", "i1", "i2", "i3")
    await first.turns.commit(
        turn("t9", step("i2", 2, ownership=Ownership.RELEASE), begin("i4"), process_id="p1")
    )
    first.abandon()
    second = await place.opened("p2")
    assert await second.members.claim_orphans(10) == [
        Orphan("i1", clean=False),
        Orphan("i3", clean=False),
    ]
    assert await second.members.claim_orphans(10) == []


async def test_after_a_clean_stop_instances_are_handed_over(place: Place) -> None:
    first = await place.opened("p1")
    await take(first, "p1", "i1")
    await first.close(NOON, clean=True)
    second = await place.opened("p2")
    assert await second.members.claim_orphans(10) == [Orphan("i1", clean=True)]


@pytest.mark.parametrize("clean", [True, False])
async def test_how_the_owner_before_has_left_it_is_known_as_soon_as_it_was_taken_over(
    place: Place, clean: bool
) -> None:
    """Also to who reads the instance before the answer to the claim has come."""
    first = await place.opened("p1")
    await take(first, "p1", "i1", "i2")
    await first.close(NOON, clean=clean)
    second = await place.opened("p2")
    await second.members.claim_orphans(1)
    found = await second.turns.load(["i1"])
    assert (found["i1"].owner, found["i1"].was_left_clean) == ("p2", clean)
    # What it owned, and left, itself is another matter.
    second.abandon()
    third = await place.opened("p3")
    await third.members.claim_orphans(10)
    left = {id: each.was_left_clean for id, each in (await third.turns.load(["i1", "i2"])).items()}
    assert left == {"i1": False, "i2": clean}


async def test_a_stop_that_was_not_clean_is_told_as_such(place: Place) -> None:
    first = await place.opened("p1")
    await take(first, "p1", "i1")
    await first.close(NOON, clean=False)
    second = await place.opened("p2")
    assert await second.members.claim_orphans(10) == [Orphan("i1", clean=False)]


async def test_orphans_are_claimed_in_batches_each_once(place: Place) -> None:
    first = await place.opened("p1")
    ids = [f"i{number:02}" for number in range(25)]
    await take(first, "p1", *ids)
    first.abandon()
    second = await place.opened("p2")
    batches = [await second.members.claim_orphans(10) for _ in range(4)]
    assert [len(batch) for batch in batches] == [10, 10, 5, 0]
    assert [orphan.instance_id for batch in batches for orphan in batch] == ids


async def test_orphans_survive_a_second_crash(place: Place) -> None:
    first = await place.opened("p1")
    await take(first, "p1", "i1", "i2")
    first.abandon()
    second = await place.opened("p2")
    await second.members.claim_orphans(1)
    second.abandon()
    third = await place.opened("p3")
    found = {orphan.instance_id for orphan in await third.members.claim_orphans(10)}
    assert found == {"i1", "i2"}


async def test_an_epoch_rises_with_every_take_over_and_with_nothing_else(place: Place) -> None:
    store = await place.opened("p1")
    await take(store, "p1", "i1")
    assert await place.owned("i1") == ("p1", 1)
    again = turn("again", step("i1", 2, ownership=Ownership.TAKE), process_id="p1")
    assert (await store.turns.commit(again)).writes == {"i1": WON}
    assert await place.owned("i1") == ("p1", 1)
    for number in range(2, 5):
        if number % 2:
            store.abandon()
        else:
            await store.close(NOON, clean=True)
        store = await place.opened(f"p{number}")
        assert [orphan.instance_id for orphan in await store.members.claim_orphans(10)] == ["i1"]
        assert await store.members.claim_orphans(10) == []
        assert await place.owned("i1") == (f"p{number}", number)
    let_go = turn("let go", step("i1", 3, ownership=Ownership.RELEASE), process_id="p4")
    assert (await store.turns.commit(let_go)).writes == {"i1": WON}
    anew = turn("anew", step("i1", 4, ownership=Ownership.TAKE), process_id="p4")
    assert (await store.turns.commit(anew)).writes == {"i1": WON}
    assert await place.owned("i1") == ("p4", 1)


async def test_only_the_owner_can_release(place: Place) -> None:
    first = await place.opened("p1", shared=True)
    second = await place.opened("p2", shared=True)
    await take(first, "p1", "i1")
    await second.turns.commit(turn("t1", aside("i1", ownership=Ownership.RELEASE), process_id="p2"))
    first.abandon()
    assert await second.members.claim_orphans(10) == [Orphan("i1", clean=False)]


async def test_nobody_takes_from_a_living_process(place: Place) -> None:
    """B15: "conditioned on the dead owner's id"; what is decided beside the owner is lost."""
    first = await place.opened("p1", shared=True)
    second = await place.opened("p2", shared=True)
    await take(first, "p1", "i1")
    await take(second, "p2", "i2")
    result = await second.turns.commit(
        turn(
            "t1",
            step("i1", 2, ownership=Ownership.TAKE, mail_sent=(mail("m1", "i9"),)),
            step("i2", 2, ownership=Ownership.TAKE),
            process_id="p2",
        )
    )
    assert result.writes == {"i1": LOST, "i2": WON}
    aside_too = aside("i1", version=2, ownership=Ownership.TAKE, mail_sent=(mail("m2", "i9"),))
    assert (await second.turns.commit(turn("t2", aside_too, process_id="p2"))).writes == {
        "i1": LOST
    }
    loaded = await second.turns.load(["i1", "i2"])
    assert {id: (each.owner, len(each.tail)) for id, each in loaded.items()} == {
        "i1": ("p1", 2),
        "i2": ("p2", 3),
    }
    assert await second.mailbox.claim(10) == []


async def test_a_start_beside_the_owner_keeps_no_key(place: Place) -> None:
    first = await place.opened("p1", shared=True)
    second = await place.opened("p2", shared=True)
    await first.turns.commit(turn("t1", aside("i1", ownership=Ownership.TAKE), process_id="p1"))
    start = msgspec.structs.replace(begin("i1", key="k"), ownership=Ownership.TAKE)
    assert (await second.turns.commit(turn("t2", start, process_id="p2"))).writes == {"i1": LOST}
    assert await second.turns.load(["i1"]) == {}
    other = turn("t3", begin("i2", key="k"), process_id="p2")
    assert (await second.turns.commit(other)).writes == {"i2": WON}


async def test_the_owner_may_take_again(place: Place) -> None:
    store = await place.opened("p1")
    await take(store, "p1", "i1")
    again = turn("t1", step("i1", 2, ownership=Ownership.TAKE), process_id="p1")
    assert (await store.turns.commit(again)).writes == {"i1": WON}
    assert (await store.turns.load(["i1"]))["i1"].owner == "p1"
    let_go = turn("t2", step("i1", 3, ownership=Ownership.RELEASE), process_id="p1")
    await store.turns.commit(let_go)
    assert (await store.turns.load(["i1"]))["i1"].owner is None


async def test_a_process_that_was_taken_for_dead_is_fenced(shared_place: Place) -> None:
    """B2: "SIGSTOP a worker for 3 leases then SIGCONT … late result is refused by fence"."""
    first = await shared_place.opened("p1", shared=True)
    await take(first, "p1", "i1")
    second = await shared_place.opened("p2", shared=True)
    await shared_place.bury("p1", by=second)
    for late in (
        step("i1", 2),
        begin("i2"),
        aside("i1", mail_sent=(mail("m1", "i9"),)),
    ):
        with pytest.raises(Fenced):
            await first.turns.commit(turn("late", late, process_id="p1"))
    with pytest.raises(Fenced):
        await first.turns.commit(turn("late", process_id="p1", events=(event("e1"),)))
    with pytest.raises(Fenced):
        await first.members.beat()
    assert await second.mailbox.claim(10) == []
    assert await second.inbox.unmatched(10) == []
    assert len(await second.instances.entries("i1")) == 2
    await first.members.enter("p3", NOON)
    assert not (await first.members.beat()).has_orphans
    anew = turn("t9", begin("i2"), process_id="p3")
    assert (await first.turns.commit(anew)).writes == {"i2": WON}


async def test_a_turn_that_went_in_before_the_end_is_told_so(shared_place: Place) -> None:
    first = await shared_place.opened("p1", shared=True)
    done = turn("t1", begin("i1"), process_id="p1", events=(event("e1"),))
    result = await first.turns.commit(done)
    second = await shared_place.opened("p2", shared=True)
    await shared_place.bury("p1", by=second)
    assert await first.turns.commit(done) == result


async def test_a_beat_tells_of_what_was_left(shared_place: Place) -> None:
    first = await shared_place.opened("p1", shared=True)
    second = await shared_place.opened("p2", shared=True)
    assert not (await second.members.beat()).has_orphans
    await take(first, "p1", "i1")
    assert not (await second.members.beat()).has_orphans
    await first.close(NOON, clean=True)
    assert (await second.members.beat()).has_orphans
    assert await second.members.claim_orphans(10) == [Orphan("i1", clean=True)]
    assert not (await second.members.beat()).has_orphans


async def test_what_a_living_process_owns_is_no_orphan(place: Place) -> None:
    first = await place.opened("p1", shared=True)
    await take(first, "p1", "i1")
    second = await place.opened("p2", shared=True)
    assert await second.members.claim_orphans(10) == []


@pytest.mark.parametrize("how", ["instance", "event", "stop"])
async def test_a_process_is_told_how_far_time_had_come(place: Place, how: str) -> None:
    """A clock that was set back meanwhile does not take it back."""
    an_hour = timedelta(hours=1)
    first = await place.opened("p1")
    if how == "stop":
        await first.close(NOON + an_hour, clean=True)
    else:
        parts = {"events": (event("e1"),)} if how == "event" else {}
        writes = [begin("i1")] if how == "instance" else []
        made = turn("t1", *writes, process_id="p1", **parts)
        await first.turns.commit(msgspec.structs.replace(made, at=NOON + an_hour))
        first.abandon()
    for name, now, told in (
        ("p2", NOON, NOON + an_hour),
        ("p3", NOON + an_hour / 2, NOON + an_hour),
        ("p4", NOON + 2 * an_hour, NOON + 2 * an_hour),
    ):
        store = place.store()
        assert await store.open(name, now) == told
        store.abandon()


async def test_a_clock_that_was_days_ahead_is_not_followed(place: Place) -> None:
    """Otherwise one wrong clock would keep time from ever being right again."""
    first = await place.opened("p1")
    await first.close(NOON + timedelta(days=400), clean=True)
    assert await place.store().open("p2", NOON) == NOON


@pytest.mark.parametrize("place", UNSHARED, indirect=True)
async def test_a_second_engine_is_refused(place: Place) -> None:
    await place.opened("p1")
    for shared in (False, True):
        with pytest.raises(StoreUnavailable) as refusal:
            await place.store(shared=shared).open("p2", NOON)
        assert refusal.value.code == "TEN-4002"
        assert refusal.value.advice


async def test_a_process_id_is_used_once(place: Place) -> None:
    first = await place.opened("p1")
    await take(first, "p1", "i1")
    await first.close(NOON, clean=True)
    again = place.store()
    with pytest.raises(ValueError, match="used before"):
        await again.open("p1", NOON)
    assert await (await place.opened("p2")).members.claim_orphans(10) == [Orphan("i1", clean=True)]


async def test_a_store_that_is_not_open_says_so(place: Place) -> None:
    store = place.store()
    with pytest.raises(StoreUnavailable):
        await store.turns.commit(turn("t1", begin("i1")))
    await store.close(NOON, clean=True)
    await store.open("p1", NOON)
    await store.close(NOON, clean=True)
    with pytest.raises(StoreUnavailable):
        await store.members.claim_orphans(1)


async def test_data_outlive_the_process(place: Place) -> None:
    first = await place.opened("p1")
    await first.turns.commit(turn("t1", begin("i1"), process_id="p1"))
    first.abandon()
    second = await place.opened("p2")
    assert set(await second.turns.load(["i1"])) == {"i1"}
