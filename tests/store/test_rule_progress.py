"""A rule of the queue is applied once every process decides by it and what waited was judged."""

from __future__ import annotations

import pytest

from tenuto.store.parts.slot_rows import QueueRuleRow
from tenuto.store.protocol import Store
from tests.store.situations import ME, NOON
from tests.store.test_slots import ask, asked

pytestmark = pytest.mark.asyncio

RULE = QueueRuleRow(
    tenant="default",
    id="r",
    expression="true",
    priority=3,
    is_hold=False,
    note=None,
    created_at=NOON,
)


async def test_a_process_is_behind_until_it_says_that_it_knows_a_change(store: Store) -> None:
    progress = store.rule_progress
    assert await store.slots.put_queue_rule(RULE, most=1)
    [found] = await progress.unapplied()
    assert found.rule == RULE
    assert found.unapplied == (await store.slots.mark()).changes
    assert await progress.behind(found.unapplied) == [ME]
    await progress.knows(ME, found.unapplied - 1)
    assert await progress.behind(found.unapplied) == [ME]
    await progress.knows(ME, found.unapplied)
    await progress.knows(ME, found.unapplied - 1)
    assert await progress.behind(found.unapplied) == []
    assert await progress.behind(found.unapplied + 1) == [ME]


async def test_a_rule_that_is_saved_again_is_to_be_applied_again(store: Store) -> None:
    progress = store.rule_progress
    await store.slots.put_queue_rule(RULE, most=1)
    [first] = await progress.unapplied()
    await store.slots.put_queue_rule(RULE, most=1)
    await progress.applied(first)
    [second] = await progress.unapplied()
    assert second.unapplied > first.unapplied
    await progress.applied(second)
    assert await progress.unapplied() == []


async def test_what_waits_is_read_by_id_whatever_becomes_of_its_order(store: Store) -> None:
    for name in ("c", "a", "b"):
        await ask(store, asked(name))
    await store.slots.promote("default", "b", NOON)
    progress = store.rule_progress
    assert await progress.waiting("default", "", 2) == ["a", "b"]
    await store.slots.promote("default", "c", NOON)
    assert await progress.waiting("default", "b", 2) == ["c"]
    assert await progress.waiting("other", "", 2) == []
