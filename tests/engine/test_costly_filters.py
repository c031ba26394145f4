"""Costly filters of webhooks leave the loop to others in between."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
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
from tenuto.store.parts.outbox import OutboxRow
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


class Held(SystemClock):
    """Rests last until they are released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        await (self.released.wait() if seconds else asyncio.sleep(0))


def hearing(tenant: str) -> Listener:
    endpoint = Endpoint(url="https://example.org", secret="whsec_eA==")
    return Listener(
        id=f"of-{tenant}",
        kind="webhook",
        tenant=tenant,
        patterns=("paid",),
        level=0,
        hears_inbox=True,
        settings=msgspec.json.encode(endpoint),
        created_at=NOON,
    )


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
    while await drainer.run_once():
        pass
    place.leave()
    assert len(clock.rests) == (WEBHOOKS if is_shared else 0)


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_costly_filters_of_a_tenant_delay_the_deliveries_of_no_other(
    tmp_path: Path, kind: str
) -> None:
    place = await PLACES[kind](tmp_path)
    store = await place.opened(ME)
    for each in (*map(filtering, range(WEBHOOKS)), hearing("storm"), hearing("small")):
        await store.listeners.put(each)
    costly = {"list": [1] * 3_000}
    storm = [event(f"e{n}", pattern="paid", tenant="storm", payload=costly) for n in range(50)]
    await store.turns.commit(turn("storm", events=tuple(storm)))

    async def publish(_: Event) -> None:
        raise AssertionError("no workflow waits for it")

    clock = Held()
    slices = Slices(clock, beside_another())
    drainer = Drainer(store=store, clock=SystemClock(), publish=publish, slices=slices)
    async with asyncio.timeout(20):
        assert await drainer.run_once()
        for number in range(3):
            one = event(f"s{number}", pattern="paid", tenant="small")
            await store.turns.commit(turn(f"small {number}", events=(one,)))
            # Two rounds, each of all shares.
            for _ in range(8):
                assert await drainer.run_once()
            backlog = (await store.listeners.backlogs("small"))["of-small"]
            assert backlog.size == number + 1
        assert not await store.listeners.backlogs("storm")
        clock.released.set()
        while await drainer.run_once():
            pass
        assert (await store.listeners.backlogs("storm"))["of-storm"].size == len(storm)
    await drainer.stop()
    place.leave()


@pytest.mark.asyncio
async def test_an_event_is_read_once_however_many_passes_its_filters_take(tmp_path: Path) -> None:
    place = await PLACES["sqlite"](tmp_path)
    store = await place.opened(ME)
    for each in (*map(filtering, range(WEBHOOKS)), hearing("storm")):
        await store.listeners.put(each)
    costly = {"list": [1] * 3_000}
    storm = [event(f"e{n}", pattern="paid", tenant="storm", payload=costly) for n in range(5)]
    await store.turns.commit(turn("storm", events=tuple(storm)))
    read: list[int] = []
    look = store.outbox.events

    async def noted(rows: Sequence[OutboxRow]) -> list[Event | None]:
        read.extend(row.event_number for row in rows)
        return await look(rows)

    store.outbox.events = noted  # type: ignore[method-assign]

    async def publish(_: Event) -> None:
        raise AssertionError("no workflow waits for it")

    clock = Held()
    slices = Slices(clock, beside_another())
    drainer = Drainer(store=store, clock=SystemClock(), publish=publish, slices=slices)
    for _ in range(3):
        assert await drainer.run_once()
    clock.released.set()
    while await drainer.run_once():
        pass
    await drainer.stop()
    place.leave()
    assert read == [1, 2, 3, 4, 5]
