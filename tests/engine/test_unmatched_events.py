"""Events whose matching a crash cut off: one that cannot be matched keeps no other from it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from tenuto import Tenuto
from tenuto.engine.events.event_router import EventRouter, StoredEvent
from tenuto.engine.events.look_back import LookBack
from tenuto.engine.events.slices import Slices
from tenuto.engine.membership.takeover import Takeover
from tenuto.engine.turns.intake import Intake
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.ports import SystemClock
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.parts.turns import MatchWrite
from tenuto.testing.wrapped_store import Call
from tests.engine.situations import ONE_WAIT
from tests.kit.scripted_store import ScriptedStore
from tests.store.situations import ME, NOON, event, turn

pytestmark = pytest.mark.asyncio


class Choosy:
    """Matches every event but one."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.tried: list[str] = []
        self.unmatched = {("default", "in hand")}

    async def match_together(self, events: Sequence[StoredEvent]) -> None:
        for each in events:
            id = each.event.id
            self.tried.append(id)
            if id == "bad":
                each.refuse(TenutoError("the store refused the data", code="TEN-2004"))
                continue
            done = MatchWrite(event_id=id, mail=(), deliveries=(), resumed=0, matched_at=NOON)
            await self._store.turns.commit(turn(f"match {id}", matches=(done,)))
            each.matched(done)


async def test_an_event_that_cannot_be_matched_is_left_alone_once() -> None:
    store = MemoryStore()
    await store.open(ME, NOON)
    await store.turns.commit(
        turn("t1", events=(event("bad"), event("in hand"), event("good"), event("fine")))
    )
    choosy = Choosy(store)
    recovery = Takeover(
        store=store,
        router=cast("EventRouter", choosy),
        look_back=LookBack(store, lambda _: Intake(), Slices(SystemClock())),
        report=lambda _: None,
    )
    await recovery.finish()
    assert sorted(choosy.tried) == ["bad", "fine", "good"]
    assert [each.id for _, each in await store.inbox.unmatched(10)] == ["bad", "in hand"]


class Counting(ScriptedStore):
    """Counts the questions that events ask, and the turns that record them."""

    questions = recorded = 0

    async def on_waits_matching(self, call: Call) -> object:
        self.questions += 1
        return await call()

    async def on_turns_commit(self, call: Call) -> object:
        turn = call.turn
        assert turn is not None
        self.recorded += bool(turn.matches)
        return await call()


async def test_what_a_crash_left_unmatched_is_matched_together() -> None:
    """A burst of hundreds is one question and a few turns, and not hundreds of either."""
    disk = MemoryDisk()
    async with Tenuto(MemoryStore(disk)) as app:
        await app.deploy(ONE_WAIT)
        waiting = await app.start("waiting", {"orderId": 7})
        await app.engine._settle()
        payloads = [
            event(f"e{n}", pattern="payment.received", payload={"orderId": n}) for n in range(300)
        ]
        await app.engine.store.turns.commit(
            turn("t", events=tuple(payloads), process_id=app.engine.process_id)
        )
    counting = Counting(disk)
    async with Tenuto(counting) as app:
        await app.engine.caught_up()
        assert await counting.inbox.unmatched(1) == []
        assert counting.questions <= 2
        assert counting.recorded <= 10
        await (await app.instance(waiting.id)).result(60)


class Slow(ScriptedStore):
    """Tells whom events are for only once it may; the first time that it is asked it is away."""

    def __init__(self, disk: MemoryDisk) -> None:
        super().__init__(disk)
        self.may_answer = asyncio.Event()
        self.faults = [StoreUnavailable("away")]

    async def on_waits_terms(self, call: Call) -> object:
        await self.may_answer.wait()
        if self.faults:
            raise self.faults.pop()
        return await call()


async def test_an_app_is_open_while_it_matches_what_others_left() -> None:
    disk = MemoryDisk()
    async with Tenuto(MemoryStore(disk)) as app:
        await app.deploy(ONE_WAIT)
        waiting = await app.start("waiting", {"orderId": 7})
        await app.engine._settle()
        left = event("e", pattern="payment.received", payload={"orderId": 7})
        await app.engine.store.turns.commit(
            turn("t", events=(left,), process_id=app.engine.process_id)
        )
    for _ in range(2):
        # Whoever stops before it has caught up leaves the rest to the next.
        slow = Slow(disk)
        async with Tenuto(slow) as app:
            assert app.engine.is_catching_up
            await app.start("waiting", {"orderId": 8})
    async with Tenuto(slow := Slow(disk)) as app:
        slow.may_answer.set()
        await (await app.instance(waiting.id)).result(60)
        await app.engine.caught_up()
        assert not app.engine.is_catching_up
        assert await slow.inbox.unmatched(1) == []


class Denying(ScriptedStore):
    """Does not let waits be read, the first time that somebody looks."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.codes = [code]

    async def on_waits_terms(self, call: Call) -> object:
        if self.codes:
            raise StoreUnavailable("no", code=self.codes.pop())
        return await call()


@pytest.mark.parametrize("code", ["TEN-4004", "TEN-4005", "TEN-4006"])
async def test_a_sender_hears_what_somebody_must_put_right_and_its_event_is_late(code: str) -> None:
    store = Denying(code)
    async with Tenuto(store) as app:
        await app.deploy(ONE_WAIT)
        waiting = await app.start("waiting", {"orderId": 1})
        with pytest.raises(StoreUnavailable) as refused:
            await app.publish("payment.received", {"orderId": 1})
        assert refused.value.code == code
        await waiting.result(60)
