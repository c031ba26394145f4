"""The gate: at most one turn writes an instance's next entry, and a loser writes nothing at all."""

from __future__ import annotations

from functools import partial

import pytest

from tenuto.model.status import Status
from tenuto.store.errors import DataRefused
from tenuto.store.parts.definitions import REMOVED
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.turns import InstanceWrite, Outcome, Ownership, Snapshot, WriteResult
from tenuto.store.parts.waits import WaitKey
from tenuto.store.protocol import Store
from tests.store.conftest import Place
from tests.store.situations import (
    NOON,
    aside,
    begin,
    dead_letter,
    entry,
    event,
    mail,
    moment,
    node_entry,
    step,
    timer,
    turn,
    update,
    wait,
)

pytestmark = pytest.mark.asyncio

WON = WriteResult(Outcome.WON)
LOST = WriteResult(Outcome.LOST)


async def test_a_first_write_wins_and_can_be_read(store: Store) -> None:
    result = await store.turns.commit(turn("t1", begin("i1", entry(1), entry(2))))
    assert result.writes == {"i1": WON}
    stored = (await store.turns.load(["i1", "missing"]))["i1"]
    assert [row.seq for row in stored.tail] == [1, 2]
    assert stored.tail == (entry(1), entry(2))
    assert (stored.state, stored.state_version) == (None, 0)
    assert stored.row.status is Status.RUNNING


async def test_the_second_writer_of_an_entry_loses(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    first = await store.turns.commit(turn("t2", step("i1", 1, entry(2, "FIRST"))))
    second = await store.turns.commit(
        turn("t3", step("i1", 1, entry(2, "SECOND"), entry(3, "THIRD")))
    )
    assert (first.writes["i1"], second.writes["i1"]) == (WON, LOST)
    assert [row.event_type for row in await store.instances.entries("i1")] == ["INPUT_SET", "FIRST"]


async def test_in_a_mixed_turn_winners_win_and_losers_lose(store: Store) -> None:
    ids = [f"i{number:03}" for number in range(300)]
    await store.turns.commit(turn("t1", *[begin(id) for id in ids]))
    overtaken = ids[::7]
    await store.turns.commit(turn("t2", *[step(id, 1, entry(2, "OVERTAKEN")) for id in overtaken]))
    result = await store.turns.commit(turn("t3", *[step(id, 1, entry(2), entry(3)) for id in ids]))
    assert {id for id, outcome in result.writes.items() if outcome == LOST} == set(overtaken)
    loaded = await store.turns.load(ids)
    assert {id: len(loaded[id].tail) for id in ids} == {
        id: 2 if id in overtaken else 3 for id in ids
    }


async def test_an_entry_never_stands_after_a_hole(store: Store) -> None:
    """I1: "`seq` of every instance is 1…n without hole or repeat"."""
    await store.turns.commit(turn("t1", begin("i1")))
    result = await store.turns.commit(turn("t2", step("i1", 4), step("unknown", 7)))
    assert result.writes == {"i1": LOST, "unknown": LOST}
    assert [row.seq for row in await store.instances.entries("i1")] == [1]


async def test_a_loser_writes_nothing_into_any_table(store: Store) -> None:
    await store.turns.commit(
        turn(
            "t1",
            begin("i1", entry(1), entry(2)),
            aside("i1x", dead_letters=(dead_letter("d0", "i1x"),)),
        )
    )
    await store.mailbox.send([mail("m1", "i1")])
    loser = InstanceWrite(
        instance_id="i1",
        version=1,
        rows=(entry(2, "LATE"), entry(3)),
        update=update(status=Status.FAILED, current_steps=("zzz",)),
        snapshot=Snapshot(version=2, state=b"stale"),
        timers_set=(timer("i1", 10),),
        waits_opened=(wait("i1"),),
        deliveries=(Delivery("e1", "i1", "w", "", "resumed"),),
        mail_taken=("m1",),
        dead_letters=(dead_letter("d1", "i1"),),
        ownership=Ownership.TAKE,
    )
    before = (await store.turns.load(["i1"]))["i1"]
    assert (await store.turns.commit(turn("t2", loser))).writes == {"i1": LOST}
    assert (await store.turns.load(["i1"]))["i1"] == before
    assert (await store.instances.page(InstanceQuery(current_step="zzz"))).items == []
    assert await store.timers.due(moment(100), 10) == ([], None)
    assert await store.waits.of("i1") == []
    assert await store.inbox.deliveries_to("i1") == []
    assert [each.id for each in await store.mailbox.claim(10)] == ["m1"]
    assert [each.id for each in await store.dead_letters.page("default")] == ["d0"]


async def test_a_loser_takes_no_ownership(place: Place) -> None:
    first = await place.opened("p1")
    await first.turns.commit(turn("t1", begin("i1"), process_id="p1"))
    lost = step("i1", 0, entry(1), ownership=Ownership.TAKE)
    await first.turns.commit(turn("t2", lost, process_id="p1"))
    first.abandon()
    second = await place.opened("p2")
    assert await second.members.claim_orphans(10) == []


async def test_a_turn_sent_again_knows_itself(store: Store) -> None:
    """Resent after CommitUnknown, a committed turn has won and writes nothing twice."""
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    await store.turns.commit(turn("t2", step("i2", 1, entry(2, "OTHER"))))
    again = turn(
        "t3",
        step("i1", 1, entry(2), node_entry(3, "NODE_DISPATCHED"), mail_taken=("m1",)),
        step("i2", 1, entry(2), entry(3)),
        events=(event("e1"),),
    )
    first = await store.turns.commit(again)
    second = await store.turns.commit(again)
    assert first == second
    assert first.writes == {"i1": WON, "i2": LOST}
    assert first.events["e1"].outcome == "stored"
    assert [row.seq for row in await store.instances.entries("i1")] == [1, 2, 3]
    assert [row.event_type for row in await store.instances.entries("i2")] == ["INPUT_SET", "OTHER"]
    assert len(await store.inbox.unmatched(10)) == 1


async def test_a_turn_sent_again_settles_losers_who_might_win_now(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    ahead = turn("t2", step("i1", 1), step("i2", 2))
    first = await store.turns.commit(ahead)
    await store.turns.commit(turn("t3", step("i2", 1)))
    assert await store.turns.commit(ahead) == first
    assert [row.seq for row in await store.instances.entries("i2")] == [1, 2]


async def test_a_write_without_entries_from_an_old_picture_loses(store: Store) -> None:
    """Somebody who missed an entry must not clear what that entry set."""
    await store.turns.commit(turn("t1", begin("i1")))
    await store.turns.commit(turn("t2", step("i1", 1, timers_set=(timer("i1", 5),))))
    old = aside("i1", version=1, timers_cleared=(timer("i1", 5).key,))
    result = await store.turns.commit(turn("t3", old))
    assert result.writes["i1"].outcome is Outcome.LOST
    due, _ = await store.timers.due(moment(60), 10)
    assert len(due) == 1
    new = aside("i1", version=2, timers_cleared=(timer("i1", 5).key,))
    await store.turns.commit(turn("t4", new))
    assert await store.timers.due(moment(60), 10) == ([], None)


async def test_a_write_without_entries_is_written(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    await store.mailbox.send([mail("m1", "i1")])
    result = await store.turns.commit(
        turn("t2", aside("i1", mail_taken=("m1",), dead_letters=(dead_letter("d1", "i1"),)))
    )
    assert result.writes == {}
    assert await store.mailbox.claim(10) == []
    assert [each.id for each in await store.dead_letters.page("default")] == ["d1"]


async def test_what_was_kept_goes_when_it_is_tried_again_but_for_late_results(
    store: Store,
) -> None:
    given_up = {"kind": "compensation-failed", "node": "undo"}
    kept = (
        dead_letter("d1", "i1", **given_up),
        dead_letter("d2", "i1", **given_up, iteration="0"),
        dead_letter("d3", "i1", node="undo", kind="late-result"),
        dead_letter("d6", "i1", node="undo", kind="task-failed"),
    )
    other = aside("i2", dead_letters=(dead_letter("d4", "i2", **given_up),))
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    await store.turns.commit(turn("t2", aside("i1", dead_letters=kept), other))
    new = dead_letter("d5", "i1", **given_up)
    again = aside("i1", dead_letters_dropped=(("undo", ""),), dead_letters=(new,))
    await store.turns.commit(turn("t3", again))
    left = {each.id for each in await store.dead_letters.page("default")}
    assert left == {"d2", "d3", "d4", "d5"}


async def test_an_update_alone_is_written(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    await store.turns.commit(turn("t2", aside("i1", update=update(output=b'{"ok":1}'))))
    row = (await store.turns.load(["i1"]))["i1"].row
    assert (row.status, row.output, row.updated_at) == (Status.COMPLETED, b'{"ok":1}', moment(5))


async def test_an_instance_is_created_with_its_first_entries(store: Store) -> None:
    empty = InstanceWrite(instance_id="i1", version=0, create=begin("i1").create)
    with pytest.raises(DataRefused):
        await store.turns.commit(turn("t1", empty, begin("i2")))
    assert await store.turns.load(["i1", "i2"]) == {}


async def test_a_snapshot_shortens_the_tail(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1", entry(1), entry(2), entry(3))))
    await store.turns.commit(
        turn("t2", step("i1", 3, entry(4), snapshot=Snapshot(version=3, state=b"\x00\xff")))
    )
    stored = (await store.turns.load(["i1"]))["i1"]
    assert (stored.state, stored.state_version) == (b"\x00\xff", 3)
    assert [row.seq for row in stored.tail] == [4]
    assert [row.seq for row in await store.instances.entries("i1")] == [1, 2, 3, 4]


@pytest.mark.parametrize("known", range(1, 7))
async def test_who_knows_a_part_of_a_log_is_told_at_least_the_rest(
    store: Store, known: int
) -> None:
    await store.turns.commit(turn("t1", begin("i1", entry(1), entry(2), entry(3))))
    snapshot = Snapshot(version=3, state=b"fold")
    await store.turns.commit(turn("t2", step("i1", 3, entry(4), entry(5), snapshot=snapshot)))
    found = (await store.turns.load(["i1", "nobody"], {"i1": known}))["i1"]
    assert (found.state_version, found.state_bytes) == (3, len(b"fold"))
    told = [row.seq for row in found.tail]
    if known < 3:
        assert (found.state, told) == (b"fold", [4, 5])
    elif known == 3:
        assert told == [4, 5]
    elif known < 6:
        # With the entry that is known: it has not gone.
        assert told[told.index(known) :] == list(range(known, 6))
    else:
        assert known not in told


async def test_an_older_snapshot_does_not_replace_a_newer_one(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1", entry(1), entry(2))))
    for version in (2, 1):
        snapshot = Snapshot(version=version, state=b"%d" % version)
        await store.turns.commit(turn(f"s{version}", aside("i1", snapshot=snapshot)))
    assert (await store.turns.load(["i1"]))["i1"].state_version == 2


async def test_entries_are_read_in_pages_and_one_by_one(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1", *[entry(seq) for seq in range(1, 51)])))
    page = await store.instances.entries("i1", after=10, limit=5)
    assert [row.seq for row in page] == [11, 12, 13, 14, 15]
    single = await store.instances.entries_at("i1", [40, 2, 2, 99])
    assert single == [entry(2), entry(40)]


async def test_how_long_logs_are_is_told_for_many_at_once(store: Store) -> None:
    await store.turns.commit(
        turn("t1", begin("i1", *[entry(seq) for seq in range(1, 51)]), begin("i2"))
    )
    asked = ["i1", "i2", "nobody", "i1"]
    assert await store.instances.newest_seqs(asked) == {"i1": 50, "i2": 1}
    await store.turns.commit(turn("t2", step("i2", 1, entry(2), entry(3))))
    assert await store.instances.newest_seqs(["i2"]) == {"i2": 3}
    assert await store.instances.newest_seqs([]) == {}


@pytest.mark.parametrize("event_type", ["NODE_DISPATCHED", "NODE_COMPLETED", "NODE_FAILED"])
async def test_a_node_entry_stands_once_per_attempt(store: Store, event_type: str) -> None:
    """Z10: "Unique index (instance, node, type, attempt) with a nullable attempt … NULLs count as
    distinct and duplicates are not stopped … Insert twice; must fail".
    """
    await store.turns.commit(turn("t1", begin("i1", entry(1), node_entry(2, event_type))))
    for row in (node_entry(3, event_type), node_entry(3, event_type, payload=b"other")):
        with pytest.raises(DataRefused):
            await store.turns.commit(turn("t2", step("i1", 2, row), begin("i2")))
        with pytest.raises(DataRefused):
            await store.turns.commit(
                turn("t2", step("i1", 2, entry(3), row._replace(seq=4)), begin("i2"))
            )
    assert [row.seq for row in await store.instances.entries("i1")] == [1, 2]
    assert await store.turns.load(["i2"]) == {}


async def test_two_reports_of_one_attempt_are_a_lost_race_not_bad_data(store: Store) -> None:
    """The loser's row breaks the rule of one entry per attempt too, and yet it has only lost."""
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    report = node_entry(2, "NODE_COMPLETED")
    first = await store.turns.commit(turn("t2", step("i1", 1, report)))
    second = await store.turns.commit(turn("t3", step("i1", 1, report), step("i2", 1, report)))
    assert (first.writes["i1"], second.writes) == (WON, {"i1": LOST, "i2": WON})


async def test_another_attempt_iteration_node_or_kind_is_another_entry(store: Store) -> None:
    """Z11: "no iteration column: second loop iteration is taken for a duplicate and dropped"."""
    rows = [
        node_entry(1, "NODE_COMPLETED"),
        node_entry(2, "NODE_COMPLETED", attempt=2),
        node_entry(3, "NODE_COMPLETED", iteration="1"),
        node_entry(4, "NODE_COMPLETED", "b"),
        node_entry(5, "NODE_FAILED"),
        node_entry(6, "TIMER_SET"),
        node_entry(7, "TIMER_SET"),
    ]
    result = await store.turns.commit(turn("t1", begin("i1", *rows), begin("i2", *rows)))
    assert result.writes == {"i1": WON, "i2": WON}
    assert await store.instances.entries("i1") == rows


async def test_what_is_refused_leaves_nothing_behind(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    bad = step("i1", 1, entry(2, error_message="\ud800"))
    whole = turn("t2", begin("i0", key="k"), bad, events=(event("e1"),))
    with pytest.raises(DataRefused):
        await store.turns.commit(whole)
    assert await store.turns.load(["i0"]) == {}
    assert await store.inbox.unmatched(10) == []
    assert (await store.turns.commit(turn("t3", begin("i9", key="k")))).writes == {"i9": WON}


async def test_a_wait_reopened_and_a_timer_reset_in_one_turn_stay(store: Store) -> None:
    await store.turns.commit(
        turn("t1", begin("i1")),
    )
    await store.turns.commit(
        turn("t2", step("i1", 1, waits_opened=(wait("i1"),), timers_set=(timer("i1", 10),)))
    )
    await store.turns.commit(
        turn(
            "t3",
            step(
                "i1",
                2,
                waits_closed=(WaitKey("i1", "w", ""),),
                waits_opened=(wait("i1", attempt=2),),
                timers_cleared=(timer("i1", 10).key,),
                timers_set=(timer("i1", 20),),
            ),
        )
    )
    assert [each.attempt for each in await store.waits.of("i1")] == [2]
    assert await store.timers.due(NOON, 10) == ([], moment(20))


async def test_nothing_starts_of_a_definition_that_was_removed(store: Store) -> None:
    """A start comes before the removal, which then sees it, or it is told of the removal."""
    save = partial(store.definitions.save, "default", "order")
    await save(b"{}", b"1", NOON)
    before = await store.turns.commit(turn("t1", begin("i1", needs_definition=True)))
    await save(REMOVED, b"2", NOON)
    keyed = {"needs_definition": True, "key": "k", "content_hash": b"h"}
    after = await store.turns.commit(
        turn(
            "t2",
            begin("i2", needs_definition=True),
            begin("i3"),
            begin("i4", **keyed),
            step("i1", 1),
        )
    )
    gone = WriteResult(Outcome.REMOVED)
    assert before.writes == {"i1": WON}
    assert after.writes == {"i1": WON, "i2": gone, "i3": WON, "i4": gone}
    assert set(await store.turns.load(["i1", "i2", "i3", "i4"])) == {"i1", "i3"}
    assert await store.instances.used_key("default", "k") is None
    await save(b"{} ", b"3", NOON)
    starts = turn(
        "t3",
        begin("i5", **keyed, definition_version=3),
        begin("i7", needs_definition=True, definition_version=1),
    )
    again = await store.turns.commit(starts)
    assert again.writes == {"i5": WON, "i7": gone}, "a removal is for good, for its versions"
    await save(REMOVED, b"4", NOON)
    repeated = await store.turns.commit(turn("t4", begin("i6", **keyed)))
    assert repeated.writes == {"i6": WriteResult(Outcome.DUPLICATE, "i5")}


@pytest.mark.parametrize("beside", [(), (begin("i0"),)], ids=["alone", "beside-one-that-wins"])
async def test_a_start_that_is_sent_again_after_the_removal_knows_itself(
    store: Store, beside: tuple[InstanceWrite, ...]
) -> None:
    """The answer was lost, and the definition removed before the turn is sent again."""
    save = partial(store.definitions.save, "default", "order")
    await save(b"{}", b"1", NOON)
    first = turn("t1", begin("i1", needs_definition=True), *beside)
    assert (await store.turns.commit(first)).writes["i1"] == WON
    await save(REMOVED, b"2", NOON)
    assert (await store.turns.commit(first)).writes["i1"] == WON


async def test_a_start_that_was_refused_is_refused_when_its_turn_is_sent_again(
    store: Store,
) -> None:
    """Also where the definition is there again by then: nothing was made of it."""
    save = partial(store.definitions.save, "default", "order")
    await save(b"{}", b"1", NOON)
    await save(REMOVED, b"2", NOON)
    refused = turn("t1", begin("i1", needs_definition=True), begin("i2"))
    outcomes = {"i1": WriteResult(Outcome.REMOVED), "i2": WON}
    assert (await store.turns.commit(refused)).writes == outcomes
    await save(b"{} ", b"3", NOON)
    assert (await store.turns.commit(refused)).writes == outcomes


async def test_a_start_under_an_id_in_use_loses_whatever_became_of_its_definition(
    store: Store,
) -> None:
    save = partial(store.definitions.save, "default", "order")
    await save(b"{}", b"1", NOON)
    await store.turns.commit(turn("t1", begin("i1")))
    start = begin("i1", needs_definition=True)
    assert (await store.turns.commit(turn("t2", start))).writes == {"i1": LOST}
    await save(REMOVED, b"2", NOON)
    assert (await store.turns.commit(turn("t3", start))).writes == {"i1": LOST}


async def test_a_start_of_a_version_that_was_never_saved_is_refused(store: Store) -> None:
    await store.definitions.save("default", "order", b"{}", b"1", NOON)
    start = begin("i1", needs_definition=True, definition_version=7)
    refused = await store.turns.commit(turn("t1", start))
    assert refused.writes == {"i1": WriteResult(Outcome.REMOVED)}
