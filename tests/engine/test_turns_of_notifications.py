"""What there is to tell goes out while more of it comes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import cast

import msgspec
import pytest
import pytest_asyncio
from msgspec.structs import replace

from tenuto.engine.loops import Loops
from tenuto.engine.outage import Outage
from tenuto.engine.outbox.deliverer import Deliverer
from tenuto.engine.outbox.drainer import Drainer
from tenuto.engine.outbox.endpoints import Endpoint
from tenuto.engine.outbox.outbox import Outbox
from tenuto.model.events import Event
from tenuto.ports import SystemClock
from tenuto.store.memory import outbox as memory_outbox
from tenuto.store.parts.listeners import Listener
from tenuto.store.parts.outbox import TENANTS_IN_TURN
from tenuto.store.protocol import Store
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.store.conftest import PLACES
from tests.store.situations import ME, NOON, event, turn


class Busy:
    """An outbox into which something comes three times while it is emptied, and what sends it."""

    def __init__(self) -> None:
        self.turns: list[str] = []

    async def drain(self) -> int:
        self.turns.append("drain")
        return int(self.turns.count("drain") < 4)

    async def deliver(self) -> datetime | None:
        self.turns.append("deliver")
        return None


class Part:
    def __init__(self, run_once: object) -> None:
        self.run_once = run_once
        self.next_try = None


@pytest.mark.asyncio
async def test_an_outbox_that_never_empties_keeps_nothing_from_being_sent() -> None:
    busy = Busy()

    async def fenced(_: str) -> None: ...

    telling = Outbox(
        drainer=cast("Drainer", Part(busy.drain)),
        deliverer=cast("Deliverer", Part(busy.deliver)),
        clock=SystemClock(),
        process_id=lambda: "p",
        fenced=fenced,
    )
    await telling.run_once()
    assert busy.turns == ["drain", "deliver"] * 4


class Unheard:
    """A drainer to which nobody listens until somebody does; counts what is asked for."""

    def __init__(self) -> None:
        self.is_listened_to = False
        self.next_try = None
        self.questions = 0
        self.looks = 0

    async def is_quiet(self) -> bool:
        self.questions += 1
        return not self.is_listened_to

    async def run_once(self) -> bool:
        self.looks += 1
        return False


def test_where_nobody_listens_the_outbox_is_looked_into_now_and_then_only() -> None:
    drainer = Unheard()

    async def fenced(_: str) -> None: ...

    async def two_minutes(clock: VirtualClock) -> tuple[int, int]:
        telling = Outbox(
            drainer=cast("Drainer", drainer),
            deliverer=None,
            clock=clock,
            process_id=lambda: "p",
            fenced=fenced,
        )
        loops = Loops(clock, Outage(clock), lambda _, error: pytest.fail(repr(error)))
        telling.start(loops)
        await clock.sleep(59)
        quiet = drainer.looks
        drainer.is_listened_to = True
        await clock.sleep(60)
        await loops.stop()
        return quiet, drainer.looks - quiet

    loop = VirtualLoop()
    clock = VirtualClock(loop, Wall())
    quiet, heard = loop.run_until_complete(two_minutes(clock))
    loop.close()
    assert quiet == 2, "at first, and once in between"
    assert heard >= 29, "every two seconds"


def webhook(tenant: str) -> Listener:
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


def paid(tenant: str, *numbers: int) -> tuple[Event, ...]:
    """Events that its webhook listens to."""
    return tuple(event(f"{tenant}-{each}", pattern="paid", tenant=tenant) for each in numbers)


@pytest_asyncio.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    place = await PLACES[request.param](tmp_path)
    yield await place.opened(ME)
    place.leave()


async def drainer_beside(store: Store, *tenants: str, backlog: int = 2_000) -> Drainer:
    """A drainer for these tenants, of which the first has a backlog."""
    for tenant in tenants:
        await store.listeners.put(webhook(tenant))
    await store.turns.commit(turn("backlog", events=paid(tenants[0], *range(backlog))))

    async def publish(_: Event) -> None:
        raise AssertionError("no workflow waits for it")

    return Drainer(store=store, clock=SystemClock(), publish=publish)


@pytest.mark.asyncio
async def test_a_delivery_is_attempted_soon_however_many_of_another_tenant_wait(
    store: Store,
) -> None:
    drainer = await drainer_beside(store, "big", "small")
    await store.turns.commit(turn("one", events=paid("small", 1)))
    for _ in range(4):  # of at most 200 rows each
        assert await drainer.run_once()
    due = await store.outbox.claim_due(SystemClock().now(), most=9, each=9)
    assert "of-small" in {posting.listener_id for posting in due.items}


@pytest.mark.asyncio
async def test_every_tenant_has_a_turn_while_others_always_have_more(store: Store) -> None:
    names = [f"t{number:02}" for number in range(2 * TENANTS_IN_TURN + 5)]
    drainer = await drainer_beside(store, "zz-big", *names, backlog=5_000)
    for number in range(16):
        more = tuple(each for tenant in names for each in paid(tenant, number))
        await store.turns.commit(turn(f"more {number}", events=more))
        assert await drainer.run_once()
    for tenant in names:
        assert await store.listeners.backlogs(tenant), tenant


@pytest.mark.asyncio
async def test_an_event_does_not_wait_for_many_large_ones_of_another_tenant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_outbox, "MOST_EVENT_BYTES", 1_000)
    place = await PLACES["memory"](tmp_path)
    store = await place.opened(ME)
    drainer = await drainer_beside(store, "large", "small", backlog=0)
    large = [replace(each, payload="x" * 1_000) for each in paid("large", *range(6))]
    await store.turns.commit(turn("many", events=(*large, *paid("small", 1))))
    for _ in range(2):
        assert await drainer.run_once()
    assert await store.listeners.backlogs("small")
    for _ in range(6):
        await drainer.run_once()
    due = await store.outbox.claim_due(SystemClock().now(), most=9, each=9)
    assert len(due.items) == 7
    place.leave()
