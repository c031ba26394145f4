"""What is written for those who listen, and what is on its way to them."""

# ruff: noqa: ANN401 - what a test names is handed on as it is

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenuto.model.status import Status
from tenuto.store.errors import Fenced
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.listeners import Backlog, DeliveryPlace, Listener, ListenerLevel
from tenuto.store.parts.outbox import (
    MOST_EVENT_BYTES,
    TENANTS_IN_TURN,
    Lifecycle,
    OutboxRow,
    Posting,
    Settlement,
    Stretch,
)
from tenuto.store.parts.turns import InstanceWrite, MatchWrite
from tenuto.store.protocol import Store
from tests.store.conftest import Place
from tests.store.situations import ME, NOON, begin, event, inbox, mail, moment, step, turn

pytestmark = pytest.mark.asyncio


INSTANCE = "0190a1b2-0000-7000-8000-000000000001"


def listener(id: str = "w1", **fields: Any) -> Listener:
    standard = Listener(
        id=id,
        kind="webhook",
        patterns=("workflow.*",),
        level=1,
        hears_inbox=False,
        settings=b'{"url":"https://example.com"}',
        created_at=NOON,
    )
    return msgspec.structs.replace(standard, **fields)


def posting(listener_id: str, event_id: str, stream: str = "i1", at: int = 0) -> Posting:
    return Posting(
        listener_id=listener_id,
        event_id=event_id,
        stream=stream,
        body=event_id.encode(),
        created_at=moment(at),
    )


def told(write: InstanceWrite, level: ListenerLevel = 1) -> InstanceWrite:
    return msgspec.structs.replace(write, lifecycle=Lifecycle(level, Status.RUNNING))


async def due(store: Store, at: int = 0, **parts: Any) -> list[str]:
    found = await store.outbox.claim_due(moment(at), most=parts.pop("most", 9), each=9, **parts)
    return [each.event_id for each in found.items]


def stretches(rows: list[OutboxRow]) -> list[tuple[str, int, int, str]]:
    return [(*row.stretch, row.status) for row in rows]


async def test_a_listener_is_given_back_as_it_was_kept(store: Store) -> None:
    first = listener("w1", expires_at=moment(5), health=b'{"a":1}')
    other = listener("s1", kind="subscription", level=2, hears_inbox=True, created_at=moment(-1))
    await store.listeners.put(first)
    await store.listeners.put(other)
    assert await store.listeners.of("default") == [other, first]
    changed = listener("w1", patterns=("a", "b.**"), level=0)
    await store.listeners.put(changed)
    assert await store.listeners.of("default") == [other, changed]
    assert await store.listeners.of("elsewhere") == []
    assert await store.listeners.remove("default", "webhook", "w1")
    assert not await store.listeners.remove("default", "webhook", "w1")
    assert not await store.listeners.remove("default", "webhook", "s1")
    assert await store.listeners.of("default") == [other]


async def test_nothing_is_written_for_nobody(store: Store) -> None:
    await store.turns.commit(turn("t1", told(begin("i1")), events=(event("e1"),)))
    assert await store.outbox.claim(10) == []


async def test_what_is_written_is_told_to_those_who_listen_for_it(store: Store) -> None:
    await store.listeners.put(listener(level=1))
    await store.turns.commit(
        turn("t1", told(begin("i1")), told(begin("i2"), 2), events=(event("e1"),))
    )
    await store.turns.commit(turn("t2", told(step("i1", 1), 2), told(step("i2", 1)), begin("i3")))
    rows = await store.outbox.claim(10)
    assert stretches(rows) == [("i1", 1, 1, "RUNNING"), ("i2", 2, 2, "RUNNING")]
    await store.listeners.put(listener(level=2))
    await store.turns.commit(turn("t3", told(step("i1", 2), 2)))
    assert stretches(await store.outbox.claim(10))[2:] == [("i1", 3, 3, "RUNNING")]


async def test_who_loses_at_the_gate_tells_nothing(store: Store) -> None:
    await store.listeners.put(listener())
    await store.turns.commit(turn("t1", begin("i1")))
    await store.turns.commit(turn("t2", told(step("i1", 0)), told(begin("i2"))))
    assert stretches(await store.outbox.claim(10)) == [("i2", 1, 1, "RUNNING")]


async def test_a_turn_that_is_sent_again_is_told_once(store: Store) -> None:
    await store.listeners.put(listener(hears_inbox=True))
    again = turn("t1", told(begin("i1")), events=(event("e1"),))
    await store.turns.commit(again)
    await store.turns.commit(again)
    rows = await store.outbox.claim(10)
    assert len(rows) == 2
    alone = turn("t2", events=(event("e2"),))
    await store.turns.commit(alone)
    await store.turns.commit(alone)
    assert len(await store.outbox.claim(10)) == 3


async def test_events_of_the_inbox_are_told_to_those_who_listen_for_them(store: Store) -> None:
    await store.listeners.put(listener(level=0, hears_inbox=True))
    lifecycle = event("i1:2", pattern="workflow.completed")
    one = event("e1", correlation_id="c", timestamp=moment(-5))
    await store.turns.commit(turn("t1", told(begin("i1")), events=(one, lifecycle)))
    await store.turns.commit(turn("t2", events=(event("e1", payload={}), event("e2"))))
    rows = await store.outbox.claim(10)
    assert await store.outbox.events(rows) == [one, event("e2")]


async def test_large_events_are_read_a_few_at_a_time(store: Store) -> None:
    await store.listeners.put(listener(level=0, hears_inbox=True))
    large = event("e1", payload="x" * MOST_EVENT_BYTES)
    small = [event(f"e{number}") for number in (2, 3)]
    await store.turns.commit(turn("t1", events=(small[0], large, small[1])))
    rows = await store.outbox.claim(10)
    assert await store.outbox.events(rows) == [small[0]]
    assert await store.outbox.events(rows[1:]) == [large]
    assert await store.outbox.events([rows[0], rows[2]]) == small


async def test_an_event_that_is_gone_is_read_as_none(store: Store) -> None:
    await store.listeners.put(listener(level=0, hears_inbox=True))
    await store.turns.commit(turn("t1", events=(event("e1"),)))
    [row] = await store.outbox.claim(10)
    gone = msgspec.structs.replace(row, event_number=row.event_number + 1)
    assert await store.outbox.events([gone, row]) == [None, event("e1")]


async def test_rows_stay_until_they_are_drained(store: Store) -> None:
    await store.listeners.put(listener())
    await store.turns.commit(turn("t1", told(begin("i1")), told(begin("i2"))))
    [first, second] = await store.outbox.claim(10)
    assert await store.outbox.claim(1) == [first]
    await store.outbox.drain([first.number], [posting("w1", "e1")])
    assert await store.outbox.claim(10) == [second]
    assert await due(store) == ["e1"]
    await store.outbox.drain([first.number, second.number], [posting("w1", "e1")])
    assert await store.outbox.claim(10) == []


async def test_of_a_stream_one_goes_out_after_the_other(store: Store) -> None:
    await store.listeners.put(listener())
    await store.outbox.drain(
        [], [posting("w1", "a1"), posting("w1", "a2"), posting("w1", "b1", "i2")]
    )
    await store.outbox.drain([], [posting("w1", "a3")])
    assert await due(store) == ["a1", "b1"]
    await store.outbox.settle(Settlement(listener_id="w1", delivered=("a1",)))
    assert await due(store) == ["b1", "a2"] or await due(store) == ["a2", "b1"]
    await store.outbox.settle(Settlement(listener_id="w1", put_off=(("a2", moment(50)),)))
    assert await due(store) == ["b1"]
    assert (await store.outbox.claim_due(moment(0), most=9, each=9, busy=["w1"])).next_due is None
    found = await store.outbox.claim_due(moment(50), most=9, each=9)
    assert {each.event_id: each.attempts for each in found.items} == {"a2": 1, "b1": 0}
    await store.outbox.settle(Settlement(listener_id="w1", delivered=("a2", "b1")))
    assert await due(store) == ["a3"]


async def test_what_was_put_off_is_listed_and_can_be_hastened(store: Store) -> None:
    await store.listeners.put(listener())
    postings = [posting("w1", "a1"), posting("w1", "a2"), posting("w1", "b1", "i2", at=1)]
    await store.outbox.drain([], postings)
    await store.outbox.claim_due(moment(0), most=9, each=9)
    await store.outbox.settle(Settlement(listener_id="w1", put_off=(("a1", moment(50)),)))
    found = await store.listeners.deliveries("default", "w1")
    assert [(each.event_id, each.attempts, each.due) for each in found] == [
        ("b1", 0, moment(1)),
        ("a1", 1, moment(50)),
    ]
    place = DeliveryPlace(found[0].due, found[0].number)
    after = await store.listeners.deliveries("default", "w1", after=place)
    assert [each.event_id for each in after] == ["a1"]
    assert len(await store.listeners.deliveries("default", "w1", limit=1)) == 1
    assert await store.listeners.deliveries("other", "w1") == []
    assert await store.listeners.hasten("other", "w1", moment(9)) == 0
    assert await store.listeners.hasten("default", "w1", moment(9)) == 1
    due = await store.outbox.claim_due(moment(9), most=9, each=9)
    assert {each.event_id for each in due.items} == {"a1", "b1"}


async def test_many_are_hastened_in_several_transactions(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("postgres", "sqlite"):
        monkeypatch.setattr(f"tenuto.store.{name}.listeners.HASTENED", 2)
    await store.listeners.put(listener())
    names = [f"a{number}" for number in range(5)]
    await store.outbox.drain([], [posting("w1", each, f"of-{each}") for each in names])
    await store.outbox.claim_due(moment(0), most=9, each=9)
    put_off = tuple((each, moment(50)) for each in names)
    await store.outbox.settle(Settlement(listener_id="w1", put_off=put_off))
    assert await store.listeners.hasten("default", "w1", moment(9)) == 5
    assert await store.listeners.hasten("default", "w1", moment(9)) == 0


async def test_it_is_known_when_the_next_is_due(store: Store) -> None:
    await store.listeners.put(listener())
    await store.outbox.drain([], [posting("w1", "a1", at=5)])
    found = await store.outbox.claim_due(moment(0), most=9, each=9)
    assert (found.items, found.next_due) == ([], moment(5))


async def test_each_listener_has_its_share_and_the_busy_none(store: Store) -> None:
    for id in ("w1", "w2", "w3"):
        await store.listeners.put(listener(id))
    many = [posting("w1", f"e{n}", f"i{n}") for n in range(5)]
    await store.outbox.drain([], [*many, posting("w2", "e1", at=-1), posting("w3", "e1", at=-2)])
    found = await store.outbox.claim_due(moment(0), most=9, each=2)
    assert [each.listener_id for each in found.items] == ["w3", "w2", "w1", "w1"]
    few = await store.outbox.claim_due(moment(0), most=1, each=9, busy=["w3"])
    assert [each.listener_id for each in few.items] == ["w2"]


async def test_what_is_on_its_way_goes_with_its_listener(store: Store) -> None:
    await store.listeners.put(listener("w1"))
    await store.listeners.put(listener("w2"))
    await store.outbox.drain([], [posting("w1", "e1"), posting("w2", "e1"), posting("gone", "e1")])
    backlogs = await store.listeners.backlogs("default")
    assert backlogs == {"w1": (1, NOON), "w2": (1, NOON)}
    await store.listeners.remove("default", "webhook", "w1")
    assert [
        each.listener_id for each in (await store.outbox.claim_due(NOON, most=9, each=9)).items
    ] == ["w2"]
    assert await store.listeners.backlogs("elsewhere") == {}


async def test_a_disabled_listener_hears_nothing_until_it_is_put_anew(store: Store) -> None:
    await store.listeners.put(listener(hears_inbox=True))
    await store.outbox.drain([], [posting("w1", "e1"), posting("w1", "e2")])
    assert await due(store) == ["e1"]
    await store.outbox.settle(Settlement(listener_id="w1", health=b'{"x":1}', is_disabled=True))
    [kept] = await store.listeners.of("default")
    assert (kept.level, kept.hears_inbox, kept.health) == (0, False, b'{"x":1}')
    assert await due(store) == []
    await store.turns.commit(turn("t1", told(begin("i1")), events=(event("e1"),)))
    assert await store.outbox.claim(10) == []
    await store.listeners.put(listener())
    await store.turns.commit(turn("t2", told(begin("i2"))))
    assert len(await store.outbox.claim(10)) == 1


async def test_nothing_is_put_on_its_way_to_one_that_was_disabled_meanwhile(store: Store) -> None:
    await store.listeners.put(listener())
    await store.listeners.put(listener("w2", level=0, hears_inbox=True))
    await store.outbox.drain([], [posting("w1", "e1")])
    assert await due(store) == ["e1"]
    await store.outbox.settle(Settlement(listener_id="w1", is_disabled=True))
    await store.outbox.drain([], [posting("w1", "e2"), posting("w2", "e2")])
    assert await store.listeners.backlogs("default") == {"w2": Backlog(1, NOON)}
    assert await store.listeners.enable(listener())
    await store.outbox.drain([], [posting("w1", "e3")])
    assert sorted(await due(store)) == ["e2", "e3"]


async def test_what_did_not_arrive_and_what_was_never_tried_go_out_by_turns(store: Store) -> None:
    await store.listeners.put(listener())
    odd = [f"odd{n}" for n in range(12)]
    await store.outbox.drain([], [posting("w1", id, stream=id) for id in odd])
    while await due(store):
        later = tuple((id, moment(1)) for id in await due(store))
        await store.outbox.settle(Settlement(listener_id="w1", put_off=later))
    await store.outbox.drain([], [posting("w1", f"new{n}", stream=f"n{n}", at=2) for n in range(7)])
    expected = [f"{kind}{n}" for n in range(4) for kind in ("new", "odd")] + ["new4"]
    assert await due(store, at=3) == expected
    arrived = tuple(f"new{n}" for n in range(7))
    await store.outbox.settle(Settlement(listener_id="w1", delivered=arrived))
    assert await due(store, at=3) == odd[:9]


async def test_each_part_of_the_outbox_is_one_process_s(shared_place: Place) -> None:
    one = await shared_place.opened("p1", shared=True)
    two = await shared_place.opened("p2", shared=True)
    await one.listeners.put(listener())
    writes = [told(begin(f"i{n}")) for n in range(40)]
    await one.turns.commit(turn("t1", *writes, process_id="p1"))
    mine, theirs = await one.outbox.claim(100), await two.outbox.claim(100)
    assert not {row.number for row in mine} & {row.number for row in theirs}
    await one.outbox.drain([row.number for row in mine], [])
    await two.outbox.drain([row.number for row in theirs], [])
    while rows := await two.outbox.claim(100):
        await two.outbox.drain([row.number for row in rows], [])
        mine += rows
    assert len({row.number for row in mine + theirs}) == 40


async def test_what_a_process_had_comes_to_others_once_it_is_gone(shared_place: Place) -> None:
    one = await shared_place.opened("p1", shared=True)
    two = await shared_place.opened("p2", shared=True)
    await one.listeners.put(listener())
    await one.turns.commit(turn("t1", told(begin("i1")), process_id="p1"))
    await one.outbox.drain([], [posting("w1", "e1")])
    [row] = await one.outbox.claim(10)
    assert await due(one) == ["e1"]
    assert await two.outbox.claim(10) == []
    assert await due(two) == []
    await shared_place.bury("p1", by=two)
    assert await two.outbox.claim(10) == [row]
    assert await due(two) == ["e1"]
    with pytest.raises(Fenced):
        await one.outbox.drain([row.number], [posting("w1", "e2")])
    assert await two.outbox.claim(10) == [row]


async def test_a_listener_that_was_settled_is_anybody_s(shared_place: Place) -> None:
    one = await shared_place.opened("p1", shared=True)
    two = await shared_place.opened("p2", shared=True)
    await one.listeners.put(listener())
    await one.outbox.drain([], [posting("w1", "e1"), posting("w1", "e2")])
    assert await due(one) == ["e1"]
    await one.outbox.settle(Settlement(listener_id="w1", delivered=("e1",)))
    assert await due(two) == ["e2"]
    assert await due(one) == []


async def test_who_has_not_taken_a_listener_settles_nothing(shared_place: Place) -> None:
    one = await shared_place.opened("p1", shared=True)
    two = await shared_place.opened("p2", shared=True)
    await one.listeners.put(listener())
    await one.outbox.drain([], [posting("w1", "e1"), posting("w1", "e2")])
    assert await due(one) == ["e1"]
    arrived = Settlement(listener_id="w1", delivered=("e1",), health=b'{"x":1}')
    with pytest.raises(Fenced):
        await two.outbox.settle(arrived)
    await shared_place.bury("p1", by=two)
    assert await due(two) == ["e1"]
    for late in (arrived, Settlement(listener_id="w1", is_disabled=True)):
        with pytest.raises(Fenced):
            await one.outbox.settle(late)
    await one.members.enter("p3", NOON)
    with pytest.raises(Fenced):
        await one.outbox.settle(arrived)
    assert await due(one) == []
    [kept] = await two.listeners.of("default")
    assert (kept.health, kept.level) == (b"{}", 1)
    await two.outbox.settle(arrived)
    assert await due(one) == ["e2"]


async def test_what_is_due_comes_with_those_to_whom_it_goes(store: Store) -> None:
    for id in ("w1", "w2", "w3"):
        await store.listeners.put(listener(id))
    await store.outbox.drain([], [posting("w1", "e1"), posting("w2", "e1")])
    found = await store.outbox.claim_due(NOON, most=9, each=9)
    assert sorted(found.listeners, key=lambda each: each.id) == [listener("w1"), listener("w2")]


async def test_only_those_named_are_asked_for(store: Store) -> None:
    for id in ("w1", "w2"):
        await store.listeners.put(listener(id))
    await store.outbox.drain(
        [], [posting("w1", "e1"), posting("w2", "e2"), posting("w2", "e3", at=9)]
    )
    assert await due(store, among=["w2"]) == ["e2"]
    assert await due(store, among=[]) == []
    found = await store.outbox.claim_due(moment(-1), most=9, each=9, among=["w2", "gone"])
    assert (found.items, found.next_due) == ([], NOON)


async def test_one_that_was_disabled_is_enabled_and_nobody_else(store: Store) -> None:
    await store.listeners.put(listener(level=0))
    again = listener(level=2, hears_inbox=True, health=b'{"a":1}', settings=b"{}", patterns=("x",))
    assert await store.listeners.enable(again)
    [kept] = await store.listeners.of("default")
    assert kept == listener(level=2, hears_inbox=True, health=b'{"a":1}')
    assert not await store.listeners.enable(listener(level=1))
    assert await store.listeners.of("default") == [kept]
    await store.turns.commit(turn("t1", told(begin("i1")), events=(event("e1"),)))
    assert len(await store.outbox.claim(10)) == 2
    await store.listeners.remove("default", "webhook", "w1")
    assert not await store.listeners.enable(again)
    assert await store.listeners.of("default") == []


async def test_one_is_told_elsewhere_or_of_other_things(store: Store) -> None:
    await store.listeners.put(listener(health=b'{"a":1}'))
    await store.outbox.drain([], [posting("w1", "e1")])
    before = await store.listeners.version()
    other = listener(level=2, hears_inbox=True, settings=b'{"u":2}', patterns=("x",))
    assert await store.listeners.change(other)
    assert await store.listeners.version() != before
    changed = listener(
        level=2, hears_inbox=True, settings=b'{"u":2}', patterns=("x",), health=b'{"a":1}'
    )
    assert await store.listeners.of("default") == [changed]
    assert await due(store) == ["e1"]
    # Whoever hears nothing is not enabled by it.
    await store.outbox.settle(Settlement(listener_id="w1", is_disabled=True))
    assert await store.listeners.change(listener(level=2, hears_inbox=True, patterns=("y",)))
    [kept] = await store.listeners.of("default")
    assert (kept.level, kept.hears_inbox, kept.patterns) == (0, False, ("y",))
    assert not await store.listeners.change(listener("w2"))
    await store.listeners.remove("default", "webhook", "w1")
    assert not await store.listeners.change(other)
    assert await store.listeners.of("default") == []


async def test_a_change_of_who_listens_is_seen_and_nothing_else_is(store: Store) -> None:
    seen = [await store.listeners.version()]

    async def is_changed() -> bool:
        seen.append(await store.listeners.version())
        return seen[-1] not in seen[:-1]

    await store.listeners.put(listener())
    assert await is_changed()
    await store.listeners.put(listener(patterns=("a",)))
    assert await is_changed()
    await store.turns.commit(turn("t1", told(begin("i1"))))
    await store.outbox.drain([], [posting("w1", "e1")])
    assert await due(store) == ["e1"]
    await store.outbox.settle(Settlement(listener_id="w1", delivered=("e1",), health=b'{"x":1}'))
    assert not await is_changed()
    await store.outbox.drain([], [posting("w1", "e2")])
    assert await due(store) == ["e2"]
    await store.outbox.settle(Settlement(listener_id="w1", is_disabled=True))
    assert await is_changed()
    await store.listeners.enable(listener())
    assert await is_changed()
    await store.listeners.remove("default", "webhook", "w1")
    assert await is_changed()


async def test_streams_that_are_passed_over_are_left_out(store: Store) -> None:
    await store.listeners.put(listener(hears_inbox=True))
    emitted = event(f"{INSTANCE}:say")
    writes = [told(begin(f"i{n}")) for n in range(40)]
    await store.turns.commit(turn("t1", *writes, events=(event("e1"), emitted)))
    over = ["default:e1", INSTANCE, *(f"i{n}" for n in range(39))]
    assert stretches(await store.outbox.claim(1, passing_over=over)) == [("i39", 1, 1, "RUNNING")]
    rest = [row.stream for row in await store.outbox.claim(99, passing_over=over[1:])]
    assert sorted(rest) == ["default:e1", "i39"]


async def test_what_an_instance_emits_is_in_its_stream(store: Store) -> None:
    await store.listeners.put(listener(level=2, hears_inbox=True))
    for number in range(1, 4):
        before = begin(INSTANCE) if number == 1 else step(INSTANCE, number - 1)
        said = (event(f"{INSTANCE}:say:{number}"),)
        await store.turns.commit(
            turn(f"t{number}", msgspec.structs.replace(told(before), events=said))
        )
    rows = await store.outbox.claim(99)
    assert {row.stream for row in rows} == {INSTANCE}
    assert [row.first_seq for row in rows] == [0, 1, 0, 2, 0, 3]
    said_events = await store.outbox.events(rows[::2])
    assert [each and each.id for each in said_events] == [f"{INSTANCE}:say:{n}" for n in (1, 2, 3)]


async def test_stretches_of_logs_are_read_together(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    await store.turns.commit(turn("t2", step("i1", 1), step("i2", 1)))
    await store.turns.commit(turn("t3", step("i1", 2)))
    asked = [Stretch("i1", 2, 3), Stretch("gone", 1, 9), Stretch("i2", 1, 9), Stretch("i1", 1, 1)]
    found = await store.outbox.stretches(asked)
    assert [[entry.seq for entry in entries] for entries in found] == [[2, 3], [], [1, 2], [1]]
    assert found[0] == await store.instances.entries("i1", after=1)
    assert await store.outbox.stretches([]) == []


async def test_old_events_go_in_pages_and_none_that_is_still_needed(store: Store) -> None:
    await store.listeners.put(listener(level=0, hears_inbox=True))
    old = [event(f"e{n}", received_at=moment(n), payload=n) for n in range(6)]
    await store.turns.commit(turn("t1", events=tuple(old)))
    while rows := await store.outbox.claim(10, passing_over=["default:e1"]):
        await store.outbox.drain([row.number for row in rows], [])
    matches = [
        MatchWrite(event_id=each.id, mail=(), deliveries=(), resumed=0, matched_at=NOON)
        for each in old[1:]
    ]
    await store.turns.commit(turn("t2", matches=tuple(matches)))
    first = await store.inbox.prune("default", moment(4), 3)
    assert (first.gone, first.after is None) == (1, False), "e0 and e1 were looked at as well"
    assert await store.inbox.prune("default", moment(4), 10, first.after) == (1, None)
    assert await store.inbox.prune("default", moment(4), 10) == (0, None)
    left = [each.id for _, each in await inbox(store)]
    assert left == ["e0", "e1", "e4", "e5"]
    assert (await store.inbox.prune("elsewhere", moment(9), 10)).gone == 0


async def test_an_event_stays_until_its_letters_have_been_taken(store: Store) -> None:
    """Else what came of them would be written down beside nothing, and nobody would forget it."""
    await store.turns.commit(turn("t1", begin("i1"), events=(event("late"), event("last"))))
    letter = mail("m1", "i1")
    matched = Delivery("late", "i1", "w", "", "matched")
    sent = MatchWrite(
        event_id="late", mail=(letter,), deliveries=(matched,), resumed=1, matched_at=NOON
    )
    await store.turns.commit(turn("t2", matches=(sent,)))
    assert (await store.inbox.prune("default", moment(9), 10)).gone == 0
    taking = msgspec.structs.replace(
        step("i1", 1), mail_taken=("m1",), deliveries=(matched._replace(outcome="resumed"),)
    )
    await store.turns.commit(turn("t3", taking))
    assert (await store.inbox.prune("default", moment(9), 10)).gone == 1
    assert await store.inbox.deliveries_of("default", "late") == []
    assert [each.id for _, each in await inbox(store)] == ["last"]


async def test_the_number_of_the_newest_event_is_never_used_again(store: Store) -> None:
    await store.turns.commit(turn("t1", events=(event("e1"), event("e2"))))
    matches = [
        MatchWrite(event_id=id, mail=(), deliveries=(), resumed=0, matched_at=NOON)
        for id in ("e1", "e2")
    ]
    await store.turns.commit(turn("t2", matches=tuple(matches)))
    before = {each.id: number for number, each in await inbox(store)}
    await store.inbox.prune("default", moment(9), 10)
    result = await store.turns.commit(turn("t3", events=(event("e3"),)))
    assert result.events["e3"].number > max(before.values())


async def test_what_a_listener_hears_is_known_to_the_next_process(place: Place) -> None:
    first = await place.opened(ME)
    await first.listeners.put(listener(hears_inbox=True))
    await first.close(NOON, clean=True)
    second = await place.opened("p2")
    await second.turns.commit(turn("t1", told(begin("i1")), events=(event("e1"),), process_id="p2"))
    assert len(await second.outbox.claim(10)) == 2


async def backlog(store: Store, tenants: dict[str, int]) -> None:
    """Rows of tenants, one after the other; each row is a stream."""
    for tenant, count in tenants.items():
        await store.listeners.put(listener(f"of-{tenant}", tenant=tenant))
        begun = [
            msgspec.structs.replace(
                begin(f"{tenant}-{number:04}", tenant=tenant),
                lifecycle=Lifecycle(1, Status.RUNNING, tenant),
            )
            for number in range(count)
        ]
        await store.turns.commit(turn(f"t-{tenant}", *begun))


async def test_tenants_take_turns_and_each_keeps_its_order(store: Store) -> None:
    await backlog(store, {"b": 1, "a": 1, "c": 1})
    again = [
        msgspec.structs.replace(step(id, 1), lifecycle=Lifecycle(1, Status.RUNNING, id[0]))
        for id in ("a-0000", "b-0000")
    ]
    await store.turns.commit(turn("again", *again))

    async def claimed(limit: int, **parts: Any) -> list[tuple[str, int]]:
        return [(row.tenant, row.last_seq) for row in await store.outbox.claim(limit, **parts)]

    assert await claimed(10) == [("a", 1), ("b", 1), ("c", 1), ("a", 2), ("b", 2)]
    assert await claimed(10, after="a") == [("b", 1), ("c", 1), ("a", 1), ("b", 2), ("a", 2)]
    assert await claimed(10, after="z") == await claimed(10)
    assert await claimed(2, after="b") == [("c", 1), ("a", 1)]
    assert await claimed(10, passing_over=["a-0000", "c-0000"]) == [("b", 1), ("b", 2)]


async def test_the_backlog_of_one_tenant_delays_no_row_of_another(store: Store) -> None:
    """A store may claim some streams at a time, and others after each drain."""
    await backlog(store, {"big": 600, "small": 3})
    seen: list[OutboxRow] = []
    for _ in range(4):
        seen += await _drained(store, await store.outbox.claim(20))
    assert sum(row.tenant == "small" for row in seen) == 3
    # No row of a page is given up for it.
    assert len(seen) == 80


async def test_of_many_tenants_those_have_a_turn_that_follow(store: Store) -> None:
    names = [f"t{number:02}" for number in range(2 * TENANTS_IN_TURN)]
    await backlog(store, {"big": 200} | dict.fromkeys(names, 1))
    later = names[TENANTS_IN_TURN:]
    found = {
        row.tenant
        for _ in range(4)
        for row in await _drained(store, await store.outbox.claim(50, after=later[0]))
    }
    assert found >= {*later[1:]}


async def _drained(store: Store, rows: list[OutboxRow]) -> list[OutboxRow]:
    await store.outbox.drain([row.number for row in rows], [])
    return rows
