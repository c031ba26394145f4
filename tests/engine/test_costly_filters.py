"""Costly filters of webhooks leave the loop to others in between."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from tenuto.engine.events.slices import Slices
from tenuto.engine.outbox.drainer import Drainer
from tenuto.engine.outbox.endpoints import Endpoint
from tenuto.engine.turns.sharing import Sharing
from tenuto.model.events import Event
from tenuto.ports import SystemClock
from tenuto.store.parts.listeners import Listener
from tests.engine.situations import beside_another
from tests.store.conftest import PLACES
from tests.store.situations import ME, NOON, event, turn

WEBHOOKS = 10


class Noting(SystemClock):
    """Every look at it is ten milliseconds later; nobody sleeps long."""

    def __init__(self) -> None:
        super().__init__()
        self.rests: list[float] = []
        self._at = 0.0

    def ticks(self) -> float:
        self._at += 0.01
        return self._at

    async def sleep(self, seconds: float) -> None:
        if seconds:
            self.rests.append(seconds)
        await asyncio.sleep(0)


def filtering(number: int) -> Listener:
    condition = f"event.payload.list.map(x => x + {number}).includes(-1)"
    endpoint = Endpoint(url="https://example.org", secret="whsec_eA==", filter=condition)
    return Listener(
        id=f"w{number}",
        kind="webhook",
        tenant="storm",
        patterns=("paid",),
        level=0,
        hears_inbox=True,
        settings=msgspec.json.encode(endpoint),
        created_at=NOON,
    )


@pytest.mark.asyncio
@pytest.mark.parametrize("is_shared", [False, True])
async def test_filters_rest_after_each_slice_while_another_tenant_is_at_work(
    tmp_path: Path, *, is_shared: bool
) -> None:
    place = await PLACES["sqlite"](tmp_path)
    store = await place.opened(ME)
    for number in range(WEBHOOKS):
        await store.listeners.put(filtering(number))
    one = event("e1", pattern="paid", tenant="storm", payload={"list": [1] * 3_000})
    await store.turns.commit(turn("storm", events=(one,)))

    async def publish(_: Event) -> None:
        raise AssertionError("no workflow waits for it")

    clock = Noting()
    sharing = beside_another() if is_shared else Sharing()
    slices = Slices(clock, sharing)
    drainer = Drainer(store=store, clock=clock, publish=publish, slices=slices)
    assert await drainer.run_once()
    place.leave()
    assert len(clock.rests) == (WEBHOOKS if is_shared else 0)
