"""Declared tasks and the addresses that they are pushed to, on every store."""

# ruff: noqa: ANN401 - what a test names is handed on as it is

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenuto.store.parts.jobs import Beat
from tenuto.store.parts.tasks import TargetRow, TaskRow, mark_of
from tenuto.store.protocol import Store
from tests.store.conftest import Place
from tests.store.situations import NOON, aside, moment, turn
from tests.store.test_jobs_of_workers import LEASE, claim, job, leases, offer

pytestmark = pytest.mark.asyncio


def task(id: str = "ship", **fields: Any) -> TaskRow:
    standard = TaskRow(
        tenant="default",
        id=id,
        version=1,
        document=b'{"id":"ship"}',
        is_pushed=False,
        created_at=NOON,
        updated_at=NOON,
    )
    return msgspec.structs.replace(standard, **fields)


async def test_tasks_are_given_back_as_they_were_declared(store: Store) -> None:
    for each in (task("b", is_pushed=True), task("a"), task("c", tenant="other", is_pushed=True)):
        assert await store.tasks.put(each)
        assert await store.tasks.put(each), "a repeat finds itself"
    assert await store.tasks.get("default", "a") == task("a")
    assert await store.tasks.get("default", "c") is None
    assert [each.id for each in await store.tasks.page("default")] == ["a", "b"]
    assert [each.id for each in await store.tasks.page("default", after="a", limit=1)] == ["b"]
    assert [(each.tenant, each.id) for each in await store.tasks.pushed()] == [
        ("default", "b"),
        ("other", "c"),
    ]
    everyone = await store.tasks.every()
    assert [(each.tenant, each.id) for each in everyone] == [
        ("default", "a"),
        ("default", "b"),
        ("other", "c"),
    ]
    assert await store.tasks.every(after=("default", "a"), limit=1) == [everyone[1]]


async def test_whoever_beats_hears_that_tasks_were_declared_elsewhere(place: Place) -> None:
    store = await place.opened("p1")
    if (await store.members.beat()).tasks is None:
        return  # nobody else declares any
    marks = [(await store.members.beat()).tasks]
    assert marks == [mark_of([])]
    for change in (
        store.tasks.put(task()),
        store.tasks.put(task("b")),
        store.tasks.put(task(version=2, document=b"{}")),
        store.tasks.remove("default", "b"),
    ):
        assert await change
        marks.append((await store.members.beat()).tasks)
        assert marks[-1] == mark_of(await store.tasks.every())
    assert len(set(marks)) == len(marks)


async def test_nobody_overwrites_what_they_have_not_seen(store: Store) -> None:
    assert not await store.tasks.put(task(version=2))
    assert await store.tasks.put(task())
    assert not await store.tasks.put(task(document=b"{}"))
    assert not await store.tasks.put(task(version=3))
    second = task(version=2, document=b"{}", updated_at=moment(1))
    assert await store.tasks.put(second)
    assert await store.tasks.get("default", "ship") == second
    assert await store.tasks.target("default", "ship") is None
    assert await store.tasks.put_target("default", "ship", TargetRow(1, b"1"))
    assert await store.tasks.put_target("default", "ship", TargetRow(1, b"1"))
    assert not await store.tasks.put_target("default", "ship", TargetRow(1, b"other"))
    assert not await store.tasks.put_target("default", "ship", TargetRow(3, b"3"))
    assert await store.tasks.put_target("default", "ship", TargetRow(2, b"2"))
    assert await store.tasks.target("default", "ship") == TargetRow(2, b"2")


async def test_the_state_of_a_target_goes_unless_it_has_changed(store: Store) -> None:
    await store.tasks.put_target("default", "@http:a", TargetRow(1, b"1"))
    await store.tasks.put_target("default", "@http:a", TargetRow(2, b"2"))
    await store.tasks.remove_target("default", "@http:a", 1)
    await store.tasks.remove_target("other", "@http:a", 2)
    assert await store.tasks.target("default", "@http:a") == TargetRow(2, b"2")
    await store.tasks.remove_target("default", "@http:a", 2)
    await store.tasks.remove_target("default", "@http:a", 2)
    assert await store.tasks.target("default", "@http:a") is None


async def test_a_task_that_is_removed_takes_along_what_is_known_of_its_address(
    store: Store,
) -> None:
    await store.tasks.put(task())
    await store.tasks.put_target("default", "ship", TargetRow(1, b"1"))
    assert not await store.tasks.remove("other", "ship")
    assert await store.tasks.remove("default", "ship")
    assert not await store.tasks.remove("default", "ship")
    assert await store.tasks.get("default", "ship") is None
    assert await store.tasks.target("default", "ship") is None


async def test_tasks_are_named_without_their_documents(store: Store) -> None:
    for each in (task(), task("bill", is_pushed=True), task("other", tenant="other")):
        await store.tasks.put(each)
    assert await store.tasks.names("default") == {"bill": True, "ship": False}
    assert await store.tasks.names("default", limit=1) == {"bill": True}


async def test_who_asks_for_any_task_is_not_granted_what_is_pushed(place: Place) -> None:
    store = await place.opened("p1")
    await store.tasks.put(task("ship", is_pushed=True))
    await store.tasks.put(task("bill", is_pushed=True, tenant="other"))
    await offer(store, job("i1", 1), job("i2", 2, "bill"))
    any_task = leases(await store.jobs.claim_for_worker(claim(), NOON))
    assert [lease.key.instance_id for lease in any_task] == ["i2"]
    named = leases(await store.jobs.claim_for_worker(claim("ship"), NOON))
    assert [lease.key.instance_id for lease in named] == ["i1"]


async def test_pushed_tasks_that_have_jobs_are_named(place: Place) -> None:
    store = await place.opened("p1")
    for each in ("bill", "sail", "ship"):
        await store.tasks.put(task(each, is_pushed=True))
    await store.tasks.put(task("ship", is_pushed=True, tenant="other"))
    await store.tasks.put(task("pulled"))
    assert await store.jobs.tasks_to_push() == []
    await offer(
        store,
        job("i1", 1),
        job("i2", 2),
        job("i3", 3, tenant="other"),
        job("i4", 4, "pulled"),
        job("i5", 5, "bill", tenant="other"),
        job("i6", 6, "sail"),
    )
    called_off = aside("i6", jobs_cancelled=(job("i6").key,))
    await store.turns.commit(turn("off", called_off, process_id="p1"))
    assert await store.jobs.tasks_to_push() == [("default", "ship"), ("other", "ship")]
    await store.jobs.claim_for_worker(claim("ship", limit=1), NOON)
    await store.jobs.claim_for_worker(claim("ship", tenant="other"), NOON)
    assert await store.jobs.tasks_to_push() == [("default", "ship")]
    [second] = await store.jobs.claim_for_worker(claim("ship"), NOON)
    assert await store.jobs.tasks_to_push() == []
    await store.jobs.put_back([second.lease])
    assert await store.jobs.tasks_to_push() == [("default", "ship")]


async def test_what_is_handed_over_goes_on_without_a_word(place: Place) -> None:
    store = await place.opened("p1")
    await offer(store, job("i1", heartbeat_timeout=LEASE / 2), job("i2"))
    [mine, other] = await store.jobs.claim_for_worker(claim(), NOON)
    stale = other.lease._replace(token=9)
    assert await store.jobs.hand_over([mine.lease, stale], NOON) == {mine.lease}
    [extension] = (await store.jobs.extend_for_workers([Beat(mine.lease)], NOON)).values()
    assert extension.until > mine.until + 8 * LEASE
    assert (await store.jobs.claim([], 0, LEASE, mine.until)).lapsed == []
