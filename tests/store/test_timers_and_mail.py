"""Obligations of instances that nobody owns: timers and mail come again until they are taken."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.model.inputs import TimerKind
from tenuto.store.columns import timer_columns, timer_row
from tenuto.store.parts.mailbox import Mail, MailKey
from tenuto.store.parts.turns import Ownership
from tenuto.store.protocol import Store
from tests.store.conftest import Place
from tests.store.situations import NOON, aside, begin, mail, moment, step, timer, turn

pytestmark = pytest.mark.asyncio


async def test_timers_come_due_in_order_and_the_next_is_told(store: Store) -> None:
    ids = ["i1", "i2", "i3", "i4"]
    await store.turns.commit(turn("t1", *[begin(id) for id in ids]))
    await store.turns.commit(
        turn(
            "t2",
            step("i1", 1, timers_set=(timer("i1", 30), timer("i1", 20, kind=TimerKind.DEADLINE))),
            step("i2", 1, timers_set=(timer("i2", 10),)),
            step("i3", 1, timers_set=(timer("i3", 20),)),
            step("i4", 1, timers_set=(timer("i4", 1000),)),
        )
    )
    due, following = await store.timers.due(moment(20), 10)
    assert due == [
        timer("i2", 10),
        timer("i1", 20, kind=TimerKind.DEADLINE),
        timer("i3", 20),
    ]
    assert following == moment(30)
    assert await store.timers.due(moment(20), 2) == (due[:2], moment(20))
    assert await store.timers.due(moment(9), 10) == ([], moment(10))
    assert (await store.timers.due(moment(5000), 10))[1] is None


async def test_a_timer_is_replaced_by_key_and_gone_when_cleared(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    await store.turns.commit(
        turn("t2", step("i1", 1, timers_set=(timer("i1", 10), timer("i1", 15, "b"))))
    )
    await store.turns.commit(turn("t3", step("i1", 2, timers_set=(timer("i1", 40),))))
    assert (await store.timers.due(moment(100), 10))[0] == [timer("i1", 15, "b"), timer("i1", 40)]
    gone = (timer("i1", 40).key, timer("i1", 15, "b", iteration="9").key)
    await store.turns.commit(turn("t4", step("i1", 3, timers_cleared=gone)))
    assert (await store.timers.due(moment(100), 10))[0] == [timer("i1", 15, "b")]


async def test_all_timers_of_an_instance_are_shown_and_nobody_claims_them(store: Store) -> None:
    timers = (timer("i1", 15, "b"), timer("i1", 40), timer("i2", 5), timer("i3", 1))
    for each in timers:
        await store.turns.commit(turn(f"t{each}", aside(each.instance_id, timers_set=(each,))))
    shown = await store.timers.of(["i1", "i2", "i1", "nobody"])
    assert shown == sorted(timers[:3], key=lambda each: (each.instance_id, each.key))
    assert await store.timers.of([]) == []
    assert len((await store.timers.due(moment(100), 10))[0]) == 4


async def test_a_due_timer_comes_again_until_it_is_cleared(store: Store) -> None:
    await store.turns.commit(turn("t1", aside("i1", timers_set=(timer("i1", 10),))))
    first = await store.timers.due(moment(50), 10)
    assert await store.timers.due(moment(50), 10) == first


def known(letter: Mail) -> Mail:
    """As it is claimed for an instance that exists."""
    return replace(letter, tenant="default")


async def test_mail_comes_in_the_order_sent_until_it_is_taken(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    sent = [known(mail(f"m{number}", f"i{number % 2 + 1}")) for number in (3, 1, 2)]
    await store.mailbox.send(sent)
    await store.mailbox.send([mail("m1", "i2", input=b"other")])
    assert await store.mailbox.claim(10) == sent
    assert await store.mailbox.claim(2) == sent[:2]
    await store.turns.commit(turn("t2", step("i2", 1, mail_taken=("m3", "m1"))))
    assert await store.mailbox.claim(10) == sent[2:]


async def test_claimed_mail_has_the_tenant_of_its_instance(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1", tenant="a"), begin("i2", tenant="b")))
    await store.mailbox.send([mail(f"m{number}", f"i{number}") for number in (1, 2, 3)])
    assert [each.tenant for each in await store.mailbox.claim(10)] == ["a", "b", ""]


async def test_mail_is_taken_only_from_the_instance_it_is_for(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    await store.mailbox.send([mail("m1", "i2"), mail("m1", "i1")])
    await store.turns.commit(turn("t2", step("i1", 1, mail_taken=("m1",))))
    assert await store.mailbox.claim(10) == [mail("m1", "i2")]


async def test_mail_for_an_instance_of_another_living_process_is_left_to_it(
    shared_place: Place,
) -> None:
    first = await shared_place.opened("p1", shared=True)
    second = await shared_place.opened("p2", shared=True)
    taken = turn("t1", aside("i1", ownership=Ownership.TAKE), process_id="p1")
    await first.turns.commit(taken)
    await second.mailbox.send([mail("m1", "i1"), mail("m2", "i2")])
    assert [each.id for each in await second.mailbox.claim(10)] == ["m2"]
    assert [each.id for each in await first.mailbox.claim(10)] == ["m1"]
    await first.close(NOON, clean=True)
    assert [each.id for each in await second.mailbox.claim(10)] == ["m1", "m2"]


async def test_mail_for_nobodys_instance_comes_to_one_process_while_that_lives(
    shared_place: Place,
) -> None:
    first = await shared_place.opened("p1", shared=True)
    second = await shared_place.opened("p2", shared=True)
    await first.mailbox.send([mail(f"m{number}", f"i{number}") for number in range(4)])
    mine = await first.mailbox.claim(2)
    theirs = await second.mailbox.claim(10)
    assert [each.id for each in mine] == ["m0", "m1"]
    assert [each.id for each in theirs] == ["m2", "m3"]
    assert await first.mailbox.claim(10) == mine
    assert await second.mailbox.claim(10) == theirs
    first.abandon()
    await second.members.claim_orphans(10)
    assert await second.mailbox.claim(10) == mine + theirs


async def test_a_letter_is_handed_over_by_who_sent_it_with_a_turn(shared_place: Place) -> None:
    first = await shared_place.opened("p1", shared=True)
    second = await shared_place.opened("p2", shared=True)
    await second.turns.commit(turn("t0", aside("i3", ownership=Ownership.TAKE), process_id="p2"))
    sending = step("i1", 0, mail_sent=(mail("m1", "i2"), mail("m2", "i3")))
    await first.turns.commit(turn("t1", sending, process_id="p1"))
    assert [each.id for each in await second.mailbox.claim(10)] == ["m2"]
    assert [each.id for each in await first.mailbox.claim(10)] == ["m1"]


async def test_what_came_to_a_process_comes_again_only_if_asked_for(shared_place: Place) -> None:
    first = await shared_place.opened("p1", shared=True)
    second = await shared_place.opened("p2", shared=True)
    await first.mailbox.send([mail(f"m{number}", f"i{number}") for number in range(3)])
    sending = step("i9", 0, mail_sent=(mail("m3", "i3"),))
    await first.turns.commit(turn("t1", sending, process_id="p1"))
    mine = await first.mailbox.claim(2, again=False)
    assert [each.id for each in mine] == ["m0", "m1"]
    assert [each.id for each in await first.mailbox.claim(10, again=False)] == ["m2"]
    assert await first.mailbox.claim(10, again=False) == await second.mailbox.claim(10) == []
    assert [each.id for each in await first.mailbox.claim(10)] == ["m0", "m1", "m2", "m3"]


async def test_a_letter_for_an_owner_is_seen_whoever_that_is_or_becomes(
    shared_place: Place,
) -> None:
    """Its sender does not hand it over, whether there is an owner, none, or the sender itself."""
    first = await shared_place.opened("p1", shared=True)
    second = await shared_place.opened("p2", shared=True)
    await first.turns.commit(turn("t0", aside("i1", ownership=Ownership.TAKE), process_id="p1"))
    await second.turns.commit(turn("t0", aside("i2", ownership=Ownership.TAKE), process_id="p2"))
    letters = [mail(f"m{number}", f"i{number}", for_owner=True) for number in (1, 2, 3)]
    await first.turns.commit(turn("t1", step("i9", 0, mail_sent=tuple(letters)), process_id="p1"))
    assert [each.id for each in await second.mailbox.claim(1, again=False)] == ["m2"]
    assert [each.id for each in await first.mailbox.claim(10, again=False)] == ["m1", "m3"]


async def test_a_letter_that_was_put_back_comes_to_whoever_owns_its_instance(
    shared_place: Place,
) -> None:
    first = await shared_place.opened("p1", shared=True)
    second = await shared_place.opened("p2", shared=True)
    await first.mailbox.send([mail("m1", "i1"), mail("m2", "i2")])
    assert len(await first.mailbox.claim(10)) == 2
    await second.turns.commit(turn("t1", aside("i1", ownership=Ownership.TAKE), process_id="p2"))
    assert await second.mailbox.claim(10, again=False) == []
    await second.mailbox.put_back([MailKey("m2", "i2")])
    await first.mailbox.put_back([MailKey("m1", "i1"), MailKey("m1", "i2"), MailKey("gone", "i1")])
    assert await first.mailbox.claim(10, again=False) == []
    assert [each.id for each in await second.mailbox.claim(10, again=False)] == ["m1"]


async def test_letters_that_are_passed_on_take_no_place_of_ones_own(shared_place: Place) -> None:
    first = await shared_place.opened("p1", shared=True)
    second = await shared_place.opened("p2", shared=True)
    theirs = [mail(f"m{number}", f"i{number}") for number in range(5)]
    await first.mailbox.send([*theirs, mail("m5", "i5"), mail("m6", "i6")])
    taking = [aside(each.instance_id, ownership=Ownership.TAKE) for each in theirs]
    await second.turns.commit(turn("t1", *taking, process_id="p2"))
    for again in (False, True):
        assert [each.id for each in await first.mailbox.claim(2, again=again)] == ["m5", "m6"]
    assert await second.mailbox.claim(10, again=False) == theirs


async def test_a_due_timer_comes_to_one_process_while_that_lives(shared_place: Place) -> None:
    first = await shared_place.opened("p1", shared=True)
    second = await shared_place.opened("p2", shared=True)
    timers = tuple(timer(f"i{number}", number) for number in range(4))
    setting = [aside(each.instance_id, timers_set=(each,)) for each in timers]
    await first.turns.commit(turn("t1", *setting, process_id="p1"))
    mine, _ = await first.timers.due(moment(100), 2)
    theirs, following = await second.timers.due(moment(100), 10)
    assert (mine, theirs, following) == (list(timers[:2]), list(timers[2:]), None)
    assert await first.timers.due(moment(100), 10) == (mine, None)
    first.abandon()
    await second.members.claim_orphans(10)
    assert await second.timers.due(moment(100), 10) == (list(timers), None)


async def test_a_timer_that_is_set_again_is_nobodys(place: Place) -> None:
    first = await place.opened("p1", shared=True)
    second = await place.opened("p2", shared=True)
    await first.turns.commit(turn("t1", aside("i1", timers_set=(timer("i1", 1),)), process_id="p1"))
    await first.timers.due(moment(100), 10)
    await first.turns.commit(
        turn("t2", aside("i1", timers_set=(timer("i1", 50),)), process_id="p1")
    )
    assert await second.timers.due(moment(100), 10) == ([timer("i1", 50)], None)


async def test_letters_go_with_the_entries_that_they_follow_from(store: Store) -> None:
    sent = (mail("m2", "i2"), mail("m1", "i9"))
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    await store.turns.commit(turn("t2", step("i1", 1, mail_sent=sent)))
    assert await store.mailbox.claim(10) == [known(sent[0]), sent[1]]
    await store.turns.commit(
        turn("t3", step("i2", 1, mail_taken=("m2",), mail_sent=(mail("m3", "i1"),)))
    )
    assert await store.mailbox.claim(10) == [mail("m1", "i9"), known(mail("m3", "i1"))]


async def test_a_loser_sends_nothing(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    await store.turns.commit(turn("t2", step("i1", 1)))
    late = step("i1", 1, mail_sent=(mail("m1", "i2"),))
    await store.turns.commit(turn("t3", late, step("i3", 0, mail_sent=(mail("m2", "i2"),))))
    outdated = aside("i1", version=1, mail_sent=(mail("m3", "i2"),))
    await store.turns.commit(turn("t4", outdated))
    assert await store.mailbox.claim(10) == [mail("m2", "i2")]


async def test_a_turn_that_is_sent_twice_sends_its_letters_once(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    sending = turn("t2", step("i1", 1, mail_sent=(mail("m1", "i2"),)))
    await store.turns.commit(sending)
    await store.turns.commit(turn("t3", step("i2", 1, mail_taken=("m1",))))
    await store.turns.commit(sending)
    assert await store.mailbox.claim(10) == []


async def test_a_letter_that_is_there_already_stays_as_it_is(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    await store.turns.commit(turn("t2", step("i1", 1, mail_sent=(mail("m1", "i2"),))))
    again = mail("m1", "i2", input=b'"other"')
    await store.turns.commit(turn("t3", step("i1", 2, mail_sent=(again, mail("m2", "i2")))))
    assert await store.mailbox.claim(10) == [known(mail("m1", "i2")), known(mail("m2", "i2"))]


async def test_a_turn_takes_before_it_sends(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    sending = step("i1", 1, mail_sent=(mail("m1", "i2"),))
    await store.turns.commit(turn("t2", sending, step("i2", 1, mail_taken=("m1",))))
    assert await store.mailbox.claim(10) == [known(mail("m1", "i2"))]


async def test_mail_for_an_instance_that_never_was_can_be_taken_off(store: Store) -> None:
    await store.mailbox.send([mail("m1", "i1"), mail("m1", "i2")])
    reply = (mail("m2", "i2"),)
    await store.turns.commit(
        turn("t1", aside("i1", version=0, mail_taken=("m1",), mail_sent=reply))
    )
    assert await store.mailbox.claim(10) == [mail("m1", "i2"), mail("m2", "i2")]


async def test_letters_outlive_the_process(place: Place) -> None:
    first = await place.opened("p1")
    await first.turns.commit(turn("t1", begin("i1"), process_id="p1"))
    sending = step("i1", 1, mail_sent=(mail("m1", "i2"),))
    await first.turns.commit(turn("t2", sending, process_id="p1"))
    await first.close(NOON, clean=False)
    second = await place.opened("p2")
    assert await second.mailbox.claim(10) == [mail("m1", "i2")]


async def test_letters_that_others_have_in_hand_are_known_to_be_there(store: Store) -> None:
    await store.mailbox.send([mail("m1", "i1"), mail("m2", "i2")])
    asked = [MailKey("m1", "i1"), MailKey("m1", "i2"), MailKey("gone", "i1")]
    assert await store.mailbox.waiting(asked) == {MailKey("m1", "i1")}
    assert await store.mailbox.waiting([]) == set()
    await store.turns.commit(turn("t1", aside("i1", version=0, mail_taken=("m1",))))
    assert await store.mailbox.waiting(asked) == set()


async def test_timers_of_an_sla_are_set_and_cleared_beside_all_others(store: Store) -> None:
    kinds = (TimerKind.SLA_WARNING, TimerKind.SLA_BREACH, TimerKind.DEADLINE, TimerKind.DELAY)
    timers = [timer("i1", 10, node, kind=kind) for node in ("", "a", "a:b") for kind in kinds]
    await store.turns.commit(turn("t1", begin("i1")))
    await store.turns.commit(turn("t2", step("i1", 1, timers_set=tuple(timers))))
    due, _ = await store.timers.due(moment(20), 100)
    assert sorted(each.key for each in due) == sorted(each.key for each in timers)
    gone = tuple(each.key for each in timers if each.key.kind is TimerKind.SLA_BREACH)
    await store.turns.commit(turn("t3", step("i1", 2, timers_cleared=gone)))
    left = [each.key for each in await store.timers.of(["i1"])]
    assert sorted(left) == sorted(each.key for each in timers if each.key not in gone)


async def test_a_row_of_a_timer_is_of_a_kind_that_every_program_knows() -> None:
    known = "delay retry wait-timeout node-timeout reminder escalation grace deadline resume go-on"
    for kind in TimerKind:
        assert timer_columns(timer("i1", 10, kind=kind)).kind in known.split()


@pytest.mark.parametrize("node", ["", "a", "a:b"])
async def test_a_row_of_a_timer_of_a_later_kind_is_read_as_nothing_that_is_set(node: str) -> None:
    set_later = timer_columns(timer("i1", 10, node))._replace(kind="of-a-newer-program")
    assert timer_row(set_later).key.kind is TimerKind.GO_ON
    assert timer_row(set_later).key.node == f"of-a-newer-program:{node}"
    wrapped = set_later._replace(kind="go-on", node=f"of-a-newer-program:{node}")
    assert timer_row(wrapped) == timer_row(set_later)
