"""Schedules: the due ones are found by time, and each is advanced by one process at a time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from tenuto.store.parts.mailbox import Mail, MailKey
from tenuto.store.parts.schedules import Fire, ScheduleKey, ScheduleRow, TickPlace, TickRow
from tenuto.store.protocol import Store
from tests.store.conftest import Place, PostgresPlace
from tests.store.situations import moment

pytestmark = pytest.mark.asyncio

KEY = ScheduleKey("default", "s1")


def row(id: str = "s1", at: int | None = 100, tenant: str = "default") -> ScheduleRow:
    return ScheduleRow(
        tenant=tenant,
        id=id,
        content=b'{"id":"s1"}',
        revision=1,
        version=1,
        status="active",
        next_at=None if at is None else moment(at),
        next_tick=None if at is None else moment(at),
        handled=moment(0),
        workflow_id="w1",
        calendar_id=None,
        created_at=moment(0),
        created_by="ada",
        changed_at=moment(0),
    )


def advanced(row: ScheduleRow, at: int) -> ScheduleRow:
    return replace(
        row,
        version=row.version + 1,
        next_at=moment(at),
        next_tick=moment(at),
        handled=moment(at - 1),
        last_executed=moment(at - 1),
        last_nominal=moment(at - 1),
        last_instance_id=f"i{at}",
    )


def tick(nominal: int = 100, schedule_id: str = "s1") -> TickRow:
    return TickRow(
        tenant="default",
        schedule_id=schedule_id,
        nominal=moment(nominal),
        at=moment(nominal),
        outcome="started",
        instance_id=f"i{nominal}",
        is_open=True,
        recorded_at=moment(nominal),
    )


def letter(id: str) -> Mail:
    return Mail(id=f"{id}/start", instance_id=id, input=b"{}", created_at=moment(5))


async def test_one_is_changed_only_from_the_version_that_was_read(store: Store) -> None:
    schedules = store.schedules
    assert await schedules.save(row())
    assert await schedules.save(row()), "the same again"
    assert not await schedules.save(replace(row(), content=b"other"))
    changed = replace(row(at=None), revision=2, version=2, status="paused", note="it is night")
    assert await schedules.save(changed)
    assert await schedules.get("default", "s1") == changed
    assert not await schedules.save(replace(changed, version=4))
    assert not await schedules.save(replace(changed, version=3, created_at=moment(9))), "another"
    assert await schedules.get("other", "s1") is None


async def test_lists_are_by_id_and_by_what_they_name(store: Store) -> None:
    rows = [row("a"), replace(row("b"), workflow_id=None, calendar_id="de"), row("c", None)]
    for each in (*rows, row("a", tenant="other")):
        assert await store.schedules.save(each)
    page = store.schedules.page
    assert await page("default") == rows
    assert await page("default", after="a", limit=1) == rows[1:2]
    assert await page("default", workflow_id="w1") == [rows[0], rows[2]]
    assert await page("default", workflow_id="w1", after="a") == rows[2:]
    assert await page("default", calendar_id="de") == rows[1:2]
    assert await page("default", calendar_id="fr") == []
    assert await page("default", status="paused") == []
    assert await page("default", status="active") == rows
    assert await store.schedules.stored("default", 9) == 3
    assert await store.schedules.stored("default", 2) == 2
    every = await store.schedules.page("default")
    assert await store.schedules.ids("default", 9) == [each.id for each in every]
    assert await store.schedules.ids("default", 2) == [each.id for each in every[:2]]
    assert await store.schedules.ids("nobody", 9) == []
    of_workflow = store.schedules.ids_of_workflow
    assert await of_workflow("default", "w1", after="", limit=9) == ["a", "c"]
    assert await of_workflow("default", "w1", after="a", limit=9) == ["c"]
    assert await of_workflow("default", "w1", after="", limit=9, status="error") == []
    assert await store.schedules.stored_bytes("default") == 3 * len(rows[0].content)
    keys = [ScheduleKey("default", "c"), ScheduleKey("other", "a"), ScheduleKey("other", "b")]
    found = await store.schedules.those(keys)
    assert {each.key for each in found} == set(keys[:2])


async def test_the_due_ones_are_found_the_longest_due_first(store: Store) -> None:
    rows = [row("late", 100), row("now", 200), row("soon", 201), row("never", None)]
    for each in reversed(rows):
        await store.schedules.save(each)
    assert await store.schedules.next_due() == moment(100)
    assert await store.schedules.due(moment(99), 9) == []
    assert await store.schedules.due(moment(200), 1) == rows[:1]
    assert (await store.schedules.due(moment(200), 9))[-1:] == rows[1:2]
    assert await store.schedules.numbers(moment(200), 9) == (3, 2)
    assert await store.schedules.numbers(moment(200), 2) == (2, 2)


async def test_the_due_ones_behind_another_are_found(store: Store) -> None:
    rows = [row("late", 100), row("a", 200), row("b", 200), row("c", 201)]
    for each in rows:
        await store.schedules.save(each)
    assert await store.schedules.due(moment(201), 9, behind=rows[1]) == rows[2:]
    assert await store.schedules.due(moment(200), 9, behind=rows[2]) == []


async def test_processes_do_not_get_the_same_ones_at_once(place: Place) -> None:
    one = await place.opened("p1", shared=True)
    if not one.is_shared:
        return  # one process has the file
    two = await place.opened("p2", shared=True)
    await one.schedules.save(row())
    held = await one.schedules.due(moment(100), 9)
    assert held == [row()]
    await two.schedules.due(moment(100), 9)
    assert await one.schedules.fire([Fire(row=advanced(row(), 200))]) == set()
    assert await two.schedules.fire([Fire(row=advanced(row(), 300))]) == {KEY}
    assert [each.version for each in await two.schedules.due(moment(200), 9)] == [2], "free again"


async def test_what_is_read_at_once_ends_with_the_one_that_reaches_so_many_bytes(
    store: Store,
) -> None:
    sizes = {"a": 300, "b": 700, "c": 5_000, "d": 1, "e": 1}
    rows = [replace(row(id, 100), content=b"x" * size) for id, size in sizes.items()]
    for each in rows:
        await store.schedules.save(each)
    keys = [each.key for each in rows]
    read = [await store.schedules.those(keys[first:], 1_000) for first in (0, 2, 3)]
    assert read == [rows[:2], rows[2:3], rows[3:]]
    passes = []
    while found := await store.schedules.due(moment(100), 9, most_bytes=1_000):
        passes.append(found)
        await store.schedules.fire([Fire(row=advanced(each, 200)) for each in found])
    assert passes == [rows[:2], rows[2:3], rows[3:]]


async def test_what_is_not_read_for_its_bytes_is_free_for_another_process(place: Place) -> None:
    one = await place.opened("p1", shared=True)
    if not isinstance(place, PostgresPlace):
        return  # one process has the file, which claims nothing
    two = await place.opened("p2", shared=True)
    rows = [replace(row(id), content=b"x" * 1_000) for id in ("a", "b")]
    for each in rows:
        await one.schedules.save(each)
    assert await one.schedules.due(moment(100), 9, most_bytes=1) == rows[:1]
    assert await two.schedules.due(moment(100), 9, most_bytes=1) == rows[1:]


async def test_a_claim_lapses(store: Store) -> None:
    await store.schedules.save(row())
    assert await store.schedules.due(moment(100), 9, timedelta(milliseconds=1)) == [row()]

    async def due() -> list[ScheduleRow]:
        return await store.schedules.due(moment(100), 9, timedelta(milliseconds=1))

    while not (found := await due()):
        pass  # by the clock of the server
    assert found == [row()]


async def test_firing_is_one_transaction_with_its_ticks_and_messages(store: Store) -> None:
    for id in ("s1", "s2"):
        await store.schedules.save(row(id))
    assert await store.schedules.fire([]) == set()
    winner, loser = (
        Fire(row=advanced(row(id), 200), ticks=(tick(100, id),), mail=(letter(f"of-{id}"),))
        for id in ("s1", "s2")
    )
    behind = replace(loser, row=replace(loser.row, version=7))
    gone = replace(loser, row=replace(loser.row, id="s3"))
    lost = await store.schedules.fire([behind, winner, gone])
    assert lost == {ScheduleKey("default", "s2"), ScheduleKey("default", "s3")}
    assert await store.schedules.get("default", "s1") == winner.row
    assert await store.schedules.get("default", "s2") == row("s2")
    assert await store.schedules.ticks("default", "s1", 9) == [tick(100)]
    assert await store.schedules.ticks("default", "s2", 9) == []
    keys = [MailKey(f"of-{id}/start", f"of-{id}") for id in ("s1", "s2", "s3")]
    assert await store.mailbox.waiting(keys) == {keys[0]}
    assert await store.schedules.fire([winner]) == {KEY}, "once"
    [mail] = await store.mailbox.claim(9)
    assert (mail.id, mail.instance_id, mail.input) == ("of-s1/start", "of-s1", b"{}")


async def test_a_fire_keeps_the_document(store: Store) -> None:
    await store.schedules.save(row())
    paused = replace(
        advanced(row(), 200), revision=2, status="paused", note="night \u00e9", changed_by="bob"
    )
    other = replace(paused, content=b"other", workflow_id="w9", calendar_id="x", created_by="eve")
    await store.schedules.fire([Fire(row=other)])
    assert await store.schedules.get("default", "s1") == paused


async def test_ticks_are_listed_newest_first_and_replace_each_other(store: Store) -> None:
    await store.schedules.save(row())
    missed = replace(
        tick(150), is_range=True, outcome="missed", count=7, last=moment(180), instance_id=None
    )
    queued = replace(tick(200), outcome="queued", instance_id=None)
    first = Fire(row=advanced(row(), 300), ticks=(tick(100), tick(150), missed, queued))
    await store.schedules.fire([first])
    listed = [queued, missed, tick(150), tick(100)]
    ticks = store.schedules.ticks
    assert await ticks("default", "s1", 9) == listed
    assert await ticks("default", "s1", 2) == listed[:2]
    assert await ticks("default", "s1", 9, below=TickPlace(moment(150), True)) == listed[2:]
    assert await ticks("other", "s1", 9) == []
    assert await store.schedules.tick("default", "s1", moment(150)) == tick(150)
    assert await store.schedules.tick("default", "s1", moment(151)) is None
    begun = replace(queued, outcome="started", instance_id="i9")
    await store.schedules.fire([Fire(row=advanced(first.row, 400), ticks=(begun,))])
    assert (await ticks("default", "s1", 1)) == [begun]


async def test_a_tick_that_was_started_keeps_its_instance(store: Store) -> None:
    await store.schedules.save(row())
    first = Fire(row=advanced(row(), 200), ticks=(tick(100),))
    await store.schedules.fire([first])
    skipped = replace(tick(100), outcome="skipped", instance_id=None, is_open=False)
    second = Fire(row=advanced(first.row, 300), ticks=(skipped,))
    assert await store.schedules.fire([second]) == set()
    assert await store.schedules.tick("default", "s1", moment(100)) == tick(100)
    refused = replace(tick(100), outcome="refused", is_open=False)
    await store.schedules.fire([Fire(row=advanced(second.row, 400), ticks=(refused,))])
    assert await store.schedules.tick("default", "s1", moment(100)) == refused


async def test_one_that_was_made_again_is_not_fired_by_what_was_read_before(store: Store) -> None:
    await store.schedules.save(row())
    await store.schedules.remove("default", "s1")
    again = replace(row(), created_at=moment(50))
    await store.schedules.save(again)
    late = Fire(row=advanced(row(), 200), ticks=(tick(100),), mail=(letter("of-s1"),))
    assert await store.schedules.fire([late]) == {KEY}
    assert await store.schedules.get("default", "s1") == again
    assert await store.schedules.ticks("default", "s1", 9) == []


async def test_open_ticks_are_found_by_schedule(store: Store) -> None:
    for id in ("s1", "s2"):
        await store.schedules.save(row(id))
        ticks = [tick(number, id) for number in (100, 101, 102)]
        ticks[0] = replace(ticks[0], is_confirmed=True)
        ticks.append(replace(tick(103, id), is_open=False))
        await store.schedules.fire([Fire(row=advanced(row(id), 200), ticks=tuple(ticks))])
    keys = [KEY, ScheduleKey("default", "s2"), ScheduleKey("default", "s3")]
    found = await store.schedules.open_ticks(keys, 2)
    assert {key: [each.nominal for each in ticks] for key, ticks in found.items()} == {
        key: [moment(100), moment(101)] for key in keys[:2]
    }
    unsure = await store.schedules.open_ticks(keys[:1], 9, unconfirmed=True)
    assert [each.nominal for each in unsure[KEY]] == [moment(101), moment(102)]
    assert await store.schedules.open_ticks([], 9) == {}
    await store.schedules.close([(KEY, moment(100)), (KEY, moment(102))])
    left = await store.schedules.open_ticks(keys[:1], 9)
    assert [each.nominal for each in left[KEY]] == [moment(101)]
    closed = await store.schedules.tick("default", "s1", moment(102))
    assert closed is not None
    assert (closed.is_open, closed.is_confirmed, closed.outcome) == (False, True, "started")


async def test_a_refused_start_is_a_refused_tick_unless_it_began(store: Store) -> None:
    await store.schedules.save(row())
    there = replace(tick(101), is_confirmed=True)
    await store.schedules.fire([Fire(row=advanced(row(), 200), ticks=(tick(100), there))])
    assert await store.schedules.refuse(KEY, moment(100), "it is gone")
    assert not await store.schedules.refuse(KEY, moment(100), "twice")
    assert not await store.schedules.refuse(KEY, moment(101), "it is gone")
    refused = await store.schedules.tick("default", "s1", moment(100))
    assert refused is not None
    assert (refused.outcome, refused.reason, refused.is_open) == ("refused", "it is gone", False)


async def test_old_ticks_are_forgotten_and_open_ones_last(store: Store) -> None:
    await store.schedules.save(row())
    ticks = [replace(tick(number), is_open=number < 3) for number in range(10)]
    await store.schedules.fire([Fire(row=advanced(row(), 200), ticks=tuple(ticks))])
    assert await store.schedules.trim(KEY, 4, 20) == 3
    left = await store.schedules.ticks("default", "s1", 99)
    assert [each.nominal for each in left] == [moment(number) for number in (9, 8, 7, 6, 2, 1, 0)]
    assert await store.schedules.trim(KEY, 4, 5) == 2
    assert await store.schedules.trim(KEY) == 0


async def test_a_removed_one_takes_its_ticks_along(store: Store) -> None:
    for id in ("s1", "s2"):
        await store.schedules.save(row(id))
        await store.schedules.fire([Fire(row=advanced(row(id), 200), ticks=(tick(100, id),))])
    assert await store.schedules.remove("default", "s1")
    assert not await store.schedules.remove("default", "s1")
    assert await store.schedules.get("default", "s1") is None
    assert await store.schedules.ticks("default", "s1", 9) == []
    assert await store.schedules.ticks("default", "s2", 9) == [tick(100, "s2")]
    assert await store.schedules.fire([Fire(row=advanced(advanced(row(), 200), 300))]) == {KEY}
