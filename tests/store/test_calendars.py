"""Calendars: versions follow one another, the newest counts, a removal is a version."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.store.parts.calendars import CalendarRow, CalendarsMark, Moved
from tenuto.store.protocol import Store
from tests.store.situations import moment
from tests.store.test_schedules import row as schedule

pytestmark = pytest.mark.asyncio


def row(id: str = "de", version: int = 1, tenant: str = "default") -> CalendarRow:
    return CalendarRow(
        tenant=tenant,
        id=id,
        version=version,
        document=b'{"v":%d}' % version,
        created_at=moment(version),
        created_by="ada",
    )


async def test_a_version_is_stored_only_after_the_newest(store: Store) -> None:
    assert not await store.calendars.put(row(version=2)), "there is no first one"
    assert await store.calendars.put(row())
    assert await store.calendars.put(row()), "the same again"
    assert not await store.calendars.put(replace(row(), document=b"other"))
    assert not await store.calendars.put(row(version=3))
    assert await store.calendars.put(row(version=2))
    assert await store.calendars.get("default", "de") == row(version=2)
    assert await store.calendars.get("default", "de", 1) == row()
    assert await store.calendars.get("default", "de", 3) is None
    assert await store.calendars.get("other", "de") is None


async def test_a_removal_is_a_version_after_which_there_is_none(store: Store) -> None:
    await store.calendars.put(row())
    gone = replace(row(version=2), document=b"", is_removed=True)
    assert await store.calendars.put(gone)
    assert await store.calendars.get("default", "de") is None
    assert await store.calendars.newest("default", "de") == gone
    assert await store.calendars.get("default", "de", 1) == row(), "what has begun keeps it"
    assert await store.calendars.page("default") == []
    assert await store.calendars.every() == []
    assert await store.calendars.put(row(version=3)), "it can be made again"
    assert await store.calendars.versions("default", "de") == [row(version=3), gone, row()]
    assert await store.calendars.versions("default", "de", below=3, limit=1) == [gone]


async def test_lists_have_the_newest_versions_by_id(store: Store) -> None:
    for each in (row("b"), row("a"), row("a", 2), row("c"), row("a", tenant="other")):
        assert await store.calendars.put(each)
    assert await store.calendars.page("default") == [row("a", 2), row("b"), row("c")]
    assert await store.calendars.page("default", after="a", limit=1) == [row("b")]
    assert await store.calendars.every(after=("default", "b"), limit=2) == [
        row("c"),
        row("a", tenant="other"),
    ]


async def test_the_mark_differs_after_every_change(store: Store) -> None:
    marks = [await store.calendars.mark()]
    assert marks == [CalendarsMark()]
    for each in (row(), row(version=2), row("b"), replace(row(version=3), is_removed=True)):
        await store.calendars.put(each)
        marks.append(await store.calendars.mark())
    assert len(set(marks)) == len(marks)


async def test_heads_have_the_newest_numbers_also_of_what_is_removed(store: Store) -> None:
    gone = replace(row("b", 2), document=b"", is_removed=True)
    for each in (row("b"), gone, row("a"), row("a", 2), row("c"), row("a", tenant="other")):
        assert await store.calendars.put(each)
    assert await store.calendars.heads("default") == [("a", 2), ("b", 2), ("c", 1)]
    assert await store.calendars.heads("default", after="a", limit=1) == [("b", 2)]
    assert await store.calendars.heads("nobody") == []


async def test_the_marks_of_tenants_add_up_to_that_of_all(store: Store) -> None:
    assert await store.calendars.marks() == {}
    assert await store.calendars.mark_of("default") == CalendarsMark()
    for each in (row("b"), row("a"), row("a", 2), row("a", tenant="other")):
        assert await store.calendars.put(each)
    of_each = {"default": CalendarsMark(2, 3), "other": CalendarsMark(1, 1)}
    assert await store.calendars.marks() == of_each
    assert await store.calendars.mark_of("default") == of_each["default"]
    assert await store.calendars.mark() == CalendarsMark(3, 4)


async def test_a_version_moves_the_schedules_of_calendars_in_the_same_transaction(
    store: Store,
) -> None:
    rows = [
        replace(schedule("a", 500), calendar_id="de"),
        replace(schedule("b", 500), calendar_id="berlin"),
        replace(schedule("c", 500), calendar_id="fr"),
        replace(schedule("d", 500), calendar_id="de", status="paused"),
        replace(schedule("e", 500), calendar_id="de", status="error"),
        replace(schedule("f", 500), calendar_id="de", tenant="other"),
    ]
    for each in rows:
        await store.schedules.save(each)
    moved = Moved(["de", "berlin"], moment(100))
    assert not await store.calendars.put(row(version=2), moved)
    found = {each.key: each for each in await store.schedules.those([each.key for each in rows])}
    assert found == {each.key: each for each in rows}, "it was not stored"
    assert await store.calendars.put(row(), moved)
    assert await store.calendars.put(row(), moved), "the same again moves nothing again"
    found = {each.key: each for each in await store.schedules.those([each.key for each in rows])}
    for each, is_moved in zip(rows, (True, True, False, False, True, False), strict=True):
        expected = replace(each, version=2, next_at=moment(100)) if is_moved else each
        assert found[each.key] == expected


async def test_a_heartbeat_brings_the_mark_of_the_calendars(store: Store) -> None:
    before = (await store.members.beat()).calendars
    await store.calendars.put(row())
    after = (await store.members.beat()).calendars
    if before is None:
        assert after is None, "no other process changes calendars in this store"
    else:
        assert after == await store.calendars.mark() != before
