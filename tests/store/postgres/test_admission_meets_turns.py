"""Passes of admission beside turns that are under way: nothing is waited for, nothing forgotten."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.postgres_database import connected
from tests.store.postgres.conftest import Opener
from tests.store.situations import NOON
from tests.store.test_paces import admit as admit_at, debounced, rated
from tests.store.test_slots import admit, ask, asked, give_back, holders, limit

pytestmark = pytest.mark.asyncio

WITHDRAWN = "DELETE FROM tenuto.slots WHERE instance_id = 'i0'"
THAT_WAITS_FOR_A_LOCK = (
    "SELECT pid FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


@pytest.mark.parametrize("is_parked", [False, True])
async def test_a_slot_whose_waiter_withdraws_at_that_moment_goes_to_the_next(
    url: str, opened: Opener, *, is_parked: bool
) -> None:
    """C8, "Concurrency permit lost when a waiting item was killed": those behind it were refused
    for its sake, and are looked at again once it is gone.
    """
    store = await opened(url, "p1")
    await limit(store, globalMaxConcurrent=0 if is_parked else 1)
    await ask(store, asked("i0"), asked("i1", at=1), asked("i2", at=2), process_id="p1")
    if is_parked:
        assert await admit(store) == []
        await limit(store, version=2, globalMaxConcurrent=1)
    async with connected(url) as turn:
        await turn.execute("BEGIN")
        await turn.execute(WITHDRAWN)
        assert await admit(store) == [], "the first in line is being withdrawn"
        await turn.execute("COMMIT")
    assert (await store.slots.mark()).has_work, "a process that dies now leaves it to the others"
    assert await admit(store) == ["i1"]
    assert await store.slots.counts(["global"]) == {"global": 1}


async def test_a_waiter_that_is_promoted_while_a_pass_moves_it_is_looked_at_again(
    url: str, opened: Opener
) -> None:
    """It was parked on one limit, which has room, and is to be parked on another."""
    store = await opened(url, "p1")
    await limit(store, globalMaxConcurrent=2)
    await ask(store, asked("i0", limit=1), asked("i1", at=1, limit=1), process_id="p1")
    assert await admit(store) == ["i0"]
    await ask(store, asked("j0", at=2), process_id="p1")
    assert await admit(store) == ["i0", "j0"]
    await limit(store, version=2, globalMaxConcurrent=1)
    await admit(store)
    async with connected(url) as turn:
        await turn.execute("BEGIN")
        await turn.execute("UPDATE tenuto.slots SET rank_class = 1 WHERE instance_id = 'i1'")
        await give_back(store, "i0", process_id="p1")
        assert await admit(store) == ["j0"]
        await turn.execute("COMMIT")
    await give_back(store, "j0", process_id="p1")
    assert await admit(store) == ["i1"]


async def test_a_waiter_of_a_rate_that_is_left_out_of_a_pass_is_looked_at_again(
    url: str, opened: Opener
) -> None:
    store = await opened(url, "p1")
    await ask(store, rated("i0", limit=1), rated("i1", limit=1), process_id="p1")
    await admit_at(store, 0)
    async with connected(url) as turn:
        await turn.execute("BEGIN")
        await turn.execute("DELETE FROM tenuto.slots WHERE instance_id = 'i1'")
        assert (await admit_at(store, 61)).granted == 0
        await turn.execute("ROLLBACK")
    assert (await admit_at(store, 61)).granted == 1
    assert await holders(store) == ["i0", "i1"]


async def test_a_debounced_waiter_is_promoted_before_a_pass_or_after_it(
    url: str, opened: Opener
) -> None:
    """A pass leaves out a row that is being changed, and its moment would be forgotten."""
    store = await opened(url, "p1")
    await ask(store, debounced("i0", 0), process_id="p1")
    await admit_at(store, 0)
    async with connected(url) as a_pass, connected(url) as watch:
        await a_pass.execute("BEGIN")
        await a_pass.execute("SELECT 1 FROM tenuto.concurrency WHERE tenant = '' FOR UPDATE")
        promoting = asyncio.create_task(store.slots.promote("default", "i0", NOON))
        while not await watch.fetch(THAT_WAITS_FOR_A_LOCK):
            assert not promoting.done()
        await a_pass.execute("COMMIT")
    assert await promoting
    assert (await admit_at(store, 10)).granted == 1


async def test_a_grant_is_for_the_process_that_asked_as_long_as_it_is_at_work(
    url: str, opened: Opener
) -> None:
    """Clients wait there for the end of the instance."""
    first, second = await opened(url, "p1"), await opened(url, "p2")
    await limit(first, globalMaxConcurrent=2)
    await ask(first, asked("i0"), process_id="p1")
    [grant] = (await second.slots.admit(NOON, process_id="p2")).grants
    assert grant.owner == "p1"
    assert await second.mailbox.claim(9) == []
    assert [each.id for each in await first.mailbox.claim(9)] == [grant.mail_id]
    await ask(first, asked("i1", at=1), process_id="p1")
    await first.close(NOON, clean=True)
    [grant] = (await second.slots.admit(NOON, process_id="p2")).grants
    assert grant.owner == "p2"


async def test_a_waiter_that_did_not_withdraw_after_all_has_its_slot_and_one_message_later(
    url: str, opened: Opener
) -> None:
    """A pass has granted what a turn was giving up, and takes that back with its message."""
    store = await opened(url, "p1")
    await limit(store, globalMaxConcurrent=1)
    await ask(store, asked("i0"), process_id="p1")
    messages = "SELECT count(*) FROM tenuto.mailbox WHERE instance_id = 'i0'"
    async with connected(url) as turn:
        await turn.execute("BEGIN")
        await turn.execute(WITHDRAWN)
        assert await admit(store) == []
        assert await store.slots.counts(["global"]) == {}
        await turn.execute("ROLLBACK")
        assert (await turn.fetch(messages))[0][0] == 0
        assert await admit(store) == ["i0"]
        assert (await turn.fetch(messages))[0][0] == 1
    assert await store.slots.counts(["global"]) == {"global": 1}
