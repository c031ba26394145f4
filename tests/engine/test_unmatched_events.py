"""Events whose matching a crash cut off: one that cannot be matched keeps no other from it."""

from __future__ import annotations

from typing import cast

import pytest

from tenuto import Tenuto
from tenuto.engine.looking_back import LookingBack
from tenuto.engine.postmaster import Postmaster
from tenuto.engine.recovery import Recovery
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.events import Event
from tenuto.store.memory import MemoryStore
from tenuto.store.protocol import MatchWrite, WaitTerm
from tests.engine.situations import ONE_WAIT
from tests.store.situations import ME, NOON, event, turn

pytestmark = pytest.mark.asyncio


class Choosy:
    """Matches every event but one."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.tried: list[str] = []

    async def match(self, number: int, event: Event) -> int:
        self.tried.append(event.id)
        if event.id == "bad":
            raise TenutoError("the store refused the data", code="TEN-2004")
        done = MatchWrite(event_id=event.id, mail=(), deliveries=(), resumed=0, matched_at=NOON)
        await self._store.commit(turn(f"match {number}", matches=(done,)))
        return 0


async def test_an_event_that_cannot_be_matched_is_left_alone_once() -> None:
    store = MemoryStore()
    await store.open(ME, NOON)
    await store.commit(turn("t1", events=(event("bad"), event("good"), event("fine"))))
    choosy = Choosy(store)
    recovery = Recovery(
        store=store,
        postmaster=cast("Postmaster", choosy),
        looking_back=cast("LookingBack", None),
        report=lambda _: None,
    )
    assert await recovery.run() == 0
    assert sorted(choosy.tried) == ["bad", "fine", "good"]
    assert [each.id for _, each in await store.unmatched_events(10)] == ["bad"]


class Denying(MemoryStore):
    """Does not let waits be read, the first time that somebody looks."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.codes = [code]

    async def wait_terms(self, tenant: str, pattern: str) -> list[WaitTerm]:
        if self.codes:
            raise StoreUnavailable("no", code=self.codes.pop())
        return await super().wait_terms(tenant, pattern)


@pytest.mark.parametrize("code", ["TEN-4004", "TEN-4005", "TEN-4006"])
async def test_a_sender_hears_what_somebody_must_put_right_and_its_event_is_late(code: str) -> None:
    store = Denying(code)
    async with Tenuto(store) as app:
        await app.deploy(ONE_WAIT)
        waiting = await app.start("waiting", {"orderId": 1})
        with pytest.raises(StoreUnavailable) as refused:
            await app.publish("payment.received", {"orderId": 1})
        assert refused.value.code == code
        await waiting.result(5)
