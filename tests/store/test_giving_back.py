"""What a process cannot read: it gives it back, others take it, and it does not come again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto.store.parts.jobs import JobKey, JobRow, Lapsed, Lease
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.members import Orphan, Unread
from tenuto.store.parts.turns import Outcome, Ownership
from tenuto.store.protocol import Store
from tests.store.conftest import UNSHARED, Place
from tests.store.situations import NOON, aside, begin, mail, moment, step, timer, turn

pytestmark = pytest.mark.asyncio

LEASE = timedelta(seconds=30)


async def own(store: Store, process_id: str, *ids: str) -> None:
    new = [begin(id) for id in ids]
    await store.turns.commit(turn(f"new {ids}", *new, process_id=process_id))
    taken = [step(id, 1, ownership=Ownership.TAKE) for id in ids]
    await store.turns.commit(turn(f"own {ids}", *taken, process_id=process_id))


async def both(place: Place) -> tuple[Store, Store]:
    return await place.opened("old", shared=True), await place.opened("new", shared=True)


async def test_what_is_given_back_is_an_orphan_as_clean_as_it_is_said(shared_place: Place) -> None:
    old, new = await both(shared_place)
    await own(old, "old", "i1", "i2", "i3")
    given = Unread(instances=(Orphan("i1", clean=True), Orphan("i2", clean=False)))
    await old.members.pass_over(["i1", "i2"], [])
    assert await old.members.give_back(given)
    assert (await new.members.beat()).has_orphans
    assert sorted(await new.members.claim_orphans(10)) == [
        Orphan("i1", clean=True),
        Orphan("i2", clean=False),
    ]
    owners = {id: each.owner for id, each in (await new.turns.load(["i1", "i2", "i3"])).items()}
    assert owners == {"i1": "new", "i2": "new", "i3": "old"}
    assert not (await new.members.beat()).has_orphans
    won = await new.turns.commit(
        turn("t1", step("i1", 2, ownership=Ownership.TAKE), process_id="new")
    )
    assert won.writes["i1"].outcome is Outcome.WON


async def test_what_is_given_back_does_not_come_again_until_that_is_wanted(
    shared_place: Place,
) -> None:
    old, _ = await both(shared_place)
    await own(old, "old", "i1", "i2")
    await old.members.pass_over(["i1", "i2"], [])
    await old.members.give_back(
        Unread(instances=(Orphan("i1", clean=True), Orphan("i2", clean=True)))
    )
    assert await old.members.claim_orphans(10) == []
    await old.members.pass_over(["i1"], [])
    assert await old.members.claim_orphans(10) == [Orphan("i2", clean=True)]
    await old.members.pass_over([], [])
    assert await old.members.claim_orphans(10) == [Orphan("i1", clean=True)]


async def test_nobody_gives_back_what_is_anothers(shared_place: Place) -> None:
    old, new = await both(shared_place)
    await own(new, "new", "i1")
    await new.turns.commit(turn("t1", aside("i2", timers_set=(timer("i2", 1),)), process_id="new"))
    await new.timers.due(moment(9), 10)
    await new.mailbox.send([mail("m1", "i2")])
    await new.mailbox.claim(10)
    orphans = (Orphan("i1", clean=True), Orphan("i2", clean=True))
    assert not await old.members.give_back(
        Unread(instances=orphans, messages=(MailKey("m1", "i2"),))
    )
    assert not await old.members.give_back(Unread())
    assert await old.members.claim_orphans(10) == []
    assert await old.mailbox.claim(10) == []
    assert await old.timers.due(moment(9), 10) == ([], None)


async def test_timers_that_were_given_back_come_to_another(shared_place: Place) -> None:
    old, new = await both(shared_place)
    timers = [timer("i1", 1), timer("i1", 2, "b"), timer("i2", 3)]
    for each in timers:
        setting = aside(each.instance_id, timers_set=(each,))
        await old.turns.commit(turn(f"t{each.due}", setting, process_id="old"))
    assert (await old.timers.due(moment(9), 10))[0] == timers
    await old.members.pass_over(["i1"], [])
    assert await old.members.give_back(Unread(instances=(Orphan("i1", clean=False),)))
    assert await old.timers.due(moment(9), 10) == (timers[2:], None)
    # The one that would follow is no reason to look again either.
    assert await old.timers.due(moment(0), 10) == ([], moment(3))
    assert await new.timers.due(moment(9), 10) == (timers[:2], None)
    assert not await old.members.give_back(Unread(instances=(Orphan("i1", clean=False),)))


async def test_letters_that_were_given_back_come_to_another(shared_place: Place) -> None:
    old, new = await both(shared_place)
    sent = [mail("m1", "i1"), mail("m2", "i2"), mail("m3", "i3"), mail("m4", "i1")]
    await old.mailbox.send(sent)
    assert await old.mailbox.claim(10) == sent
    await old.members.pass_over(["i1"], [MailKey("m2", "i2")])
    assert await old.members.give_back(Unread(messages=(MailKey("m1", "i1"), MailKey("m2", "i2"))))
    assert await old.mailbox.claim(10, again=False) == []
    assert await new.mailbox.claim(10) == sent[:2]
    # What it did not name, and does not know of if it has to ask again, goes the same way.
    assert await old.mailbox.claim(10) == [sent[2]]
    assert await new.mailbox.claim(10, again=False) == sent[3:]


async def test_letters_that_wait_for_who_gives_their_instance_back_come_to_another(
    shared_place: Place,
) -> None:
    old, new = await both(shared_place)
    await own(old, "old", "i1", "i2", "i3")
    sent = [mail(f"m{number}", f"i{number}", tenant="default") for number in (1, 2, 3)]
    await new.mailbox.send(sent)
    await old.members.pass_over(["i1"], [MailKey("m2", "i2")])
    await old.members.give_back(Unread(instances=(Orphan("i1", clean=True),)))
    assert await old.mailbox.claim(1, again=False) == [sent[2]]
    assert await new.mailbox.claim(10) == [sent[0]]
    # That of an instance of its own waits for what becomes of it.
    await old.members.give_back(Unread(instances=(Orphan("i2", clean=True),)))
    await new.members.claim_orphans(10)
    assert await old.mailbox.claim(10, again=False) == []
    assert await new.mailbox.claim(10, again=False) == [sent[1]]


async def test_an_owner_gets_the_mail_also_of_what_it_passes_over(shared_place: Place) -> None:
    """Otherwise it would never hear that another program has gone on with it."""
    old, new = await both(shared_place)
    await own(old, "old", "i1")
    await old.members.pass_over(["i1"], [MailKey("m2", "i1")])
    await new.mailbox.send([mail("m1", "i1"), mail("m2", "i1")])
    assert [each.id for each in await old.mailbox.claim(10)] == ["m1"]
    assert await new.mailbox.claim(10) == []


async def test_of_letters_with_one_id_only_the_named_one_is_given_back_and_passed_over(
    shared_place: Place,
) -> None:
    """The same event may be for many: a letter is known by its id and whom it is for."""
    old, new = await both(shared_place)
    sent = [mail("m1", "i1"), mail("m1", "i2"), mail("m1", "i3")]
    await old.mailbox.send(sent[:2])
    assert await old.mailbox.claim(10) == sent[:2]
    await old.members.pass_over([], [MailKey("m1", "i1")])
    assert await old.members.give_back(Unread(messages=(MailKey("m1", "i1"),)))
    await old.mailbox.send(sent[2:])
    assert await old.mailbox.claim(10) == sent[1:]
    assert await new.mailbox.claim(10) == sent[:1]


async def test_what_was_taken_over_and_not_begun_is_given_back_as_clean_as_it_was(
    shared_place: Place,
) -> None:
    """Who gives it back may not know: the answer to its claim may still be on its way."""
    old, new = await both(shared_place)
    await own(old, "old", "i1", "i2")
    given = (Orphan("i1", clean=True), Orphan("i2", clean=False))
    await old.members.give_back(Unread(instances=given))
    assert sorted(await new.members.claim_orphans(10)) == list(given)
    await new.members.give_back(
        Unread(instances=(Orphan("i1", clean=False), Orphan("i2", clean=False)))
    )
    assert sorted(await old.members.claim_orphans(10)) == list(given)


async def test_what_is_passed_over_is_nothing_to_be_told_of(shared_place: Place) -> None:
    old, new = await both(shared_place)
    await own(old, "old", "i1", "i2")
    await old.members.pass_over(["i1"], [])
    await old.members.give_back(Unread(instances=(Orphan("i1", clean=True),)))
    assert not (await old.members.beat()).has_orphans
    assert (await new.members.beat()).has_orphans
    await old.members.give_back(Unread(instances=(Orphan("i2", clean=True),)))
    assert (await old.members.beat()).has_orphans


async def test_who_takes_on_nothing_more_gets_what_is_for_its_own_instances(
    shared_place: Place,
) -> None:
    old, new = await both(shared_place)
    await own(old, "old", "i1", "i2")
    timers = [timer("i1", 1), timer("i3", 2)]
    key = JobKey("i3", "a", "", 1)
    offer = aside("i3", jobs_offered=(JobRow(key=key, task_id="ship", offered_at=NOON),))
    await new.turns.commit(turn("t1", begin("i3"), process_id="new"))
    await new.turns.commit(turn("t2", offer, process_id="new"))
    for each in timers:
        setting = aside(each.instance_id, version=2, timers_set=(each,))
        await new.turns.commit(turn(f"t{each.due}", setting, process_id="new"))
    sent = [
        mail(f"m{number}", id, tenant="default") for number, id in ((1, "i1"), (2, "i3"), (3, "i3"))
    ]
    await old.mailbox.send(sent[:2])
    assert await old.mailbox.claim(10) == sent[:2]
    await old.members.pass_over([], [], only_own=True)
    await old.members.give_back(Unread(instances=(Orphan("i2", clean=True),)))
    await old.mailbox.send(sent[2:])
    assert not (await old.members.beat()).has_orphans
    assert await old.members.claim_orphans(10) == []
    assert await old.jobs.claim(["ship"], 10, LEASE, NOON) == ([], [])
    assert await old.timers.due(moment(9), 10) == (timers[:1], None)
    assert await old.mailbox.claim(10) == sent[:1]
    assert await new.mailbox.claim(10) == sent[1:]
    assert await new.timers.due(moment(9), 10) == (timers[1:], None)
    assert await new.members.claim_orphans(10) == [Orphan("i2", clean=True)]
    await old.members.pass_over([], [])
    assert (await old.jobs.claim(["ship"], 10, LEASE, NOON)).granted == [Lease(key, 1)]


async def test_a_job_that_was_given_back_is_granted_anew_and_no_loss(shared_place: Place) -> None:
    old, new = await both(shared_place)
    key = JobKey("i1", "a", "", 1)
    await old.turns.commit(turn("t1", begin("i1"), process_id="old"))
    offer = aside("i1", jobs_offered=(JobRow(key=key, task_id="ship", offered_at=NOON),))
    await old.turns.commit(turn("t2", offer, process_id="old"))
    [lease] = (await old.jobs.claim(["ship"], 10, LEASE, NOON)).granted
    assert not await old.members.give_back(Unread(leases=(lease._replace(token=9),)))
    await old.members.pass_over(["i1"], [])
    assert await old.members.give_back(Unread(leases=(lease,)))
    assert await old.jobs.claim(["ship"], 10, LEASE, NOON) == ([], [])
    assert await new.jobs.claim(["ship"], 10, LEASE, NOON) == ([Lease(key, 2)], [])
    assert await old.jobs.extend([lease], LEASE, NOON) == set()
    late = step("i1", 1, leases=(lease,))
    lost = await old.turns.commit(turn("t3", late, process_id="old"))
    assert lost.writes["i1"].outcome is Outcome.LOST


async def test_a_lapsed_lease_of_what_is_passed_over_is_told_to_others(shared_place: Place) -> None:
    old, new = await both(shared_place)
    key = JobKey("i1", "a", "", 1)
    await old.turns.commit(turn("t1", begin("i1"), process_id="old"))
    offer = aside("i1", jobs_offered=(JobRow(key=key, task_id="ship", offered_at=NOON),))
    await old.turns.commit(turn("t2", offer, process_id="old"))
    await old.jobs.claim(["ship"], 10, timedelta(0), NOON)
    await old.members.pass_over(["i1"], [])
    assert await old.jobs.claim(["ship"], 10, LEASE, NOON) == ([], [])
    lapsed = Lapsed(Lease(key, 1), clean=False)
    assert await new.jobs.claim(["ship"], 10, LEASE, NOON) == ([], [lapsed])


@pytest.mark.parametrize("place", UNSHARED, indirect=True)
async def test_where_there_is_one_process_nothing_is_given_back(place: Place) -> None:
    store = await place.opened("p1")
    await own(store, "p1", "i1")
    await store.mailbox.send([mail("m1", "i2")])
    assert [each.id for each in await store.mailbox.claim(10)] == ["m1"]
    await store.members.pass_over(["i1", "i2"], [MailKey("m1", "i2")])
    assert not await store.members.give_back(
        Unread(instances=(Orphan("i1", clean=True),), messages=(MailKey("m1", "i2"),))
    )
    assert [each.id for each in await store.mailbox.claim(10)] == ["m1"]
    assert (await store.turns.load(["i1"]))["i1"].owner == "p1"
    await store.close(NOON, clean=True)
    following = await place.opened("p2")
    assert await following.members.claim_orphans(10) == [Orphan("i1", clean=True)]
