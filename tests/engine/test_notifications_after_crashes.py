"""A crash at any durable write of the outbox loses nothing, on a file and on PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from itertools import cycle, product
from pathlib import Path

import pytest

from tenuto import Tenuto
from tenuto.model.errors import StoreUnavailable
from tenuto.testing.fault_plan import Fault
from tenuto.testing.virtual_loop import Crashed
from tests.engine.notification_world import Planned, World, in_order, quiet
from tests.engine.situations import steps
from tests.kit.breadth import EVERY_WRITE
from tests.kit.simulator.places import InSqlite, Place
from tests.kit.simulator.postgres_place import InPostgres

FAULTS = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST, Fault.UNAVAILABLE)


async def tell(app: Tenuto) -> dict[str, list[int]]:
    """Start two instances, as a client does that asks again; what is to be heard of each."""
    if not await app.webhooks.list():
        await app.webhooks.add("https://example.com", "workflow.**")
    await app.deploy(steps("a", "b"))
    await asyncio.gather(*(app.start("flow", {"n": n}, key=f"k{n}") for n in range(2)))
    await quiet(app)
    store = app.engine.store
    assert await store.outbox.claim(10) == []
    assert await store.listeners.backlogs("default") == {}
    ids = [each.id for each in await app.instances()]
    return {id: [each.seq for each in await store.instances.entries(id, after=1)] for id in ids}


def broken_off(writes: int) -> Iterator[tuple[Fault, int]]:
    """Every third write by one of the faults in turn; each by every one in `make soak`."""
    if EVERY_WRITE:
        yield from product(FAULTS, range(1, writes + 1))
    else:
        yield from zip(cycle(FAULTS), range(1, writes + 1, 3), strict=False)


def check(place: Callable[[], Place]) -> None:
    calm = World(place=place())
    story = calm.life(tell)
    assert in_order(calm.hook.received) == story
    assert calm.fault_plan.told > 8
    for fault, number in broken_off(calm.fault_plan.told):
        world = World(place=place())
        world.fault_plan = Planned(number, fault)
        with contextlib.suppress(Crashed, StoreUnavailable):
            world.life(tell)
        world.fault_plan = Planned()
        story = world.life(tell)
        assert in_order(world.hook.received) == story, (fault, number)
        bodies: dict[str, bytes] = {}
        for each in world.hook.received:
            assert bodies.setdefault(each.id, each.body) == each.body


@pytest.mark.slow
def test_a_crash_at_any_write_loses_nothing_in_a_file(tmp_path: Path) -> None:
    files = (tmp_path / f"{number}.db" for number in range(1_000))
    check(lambda: InSqlite(next(files)))


@pytest.mark.slow
def test_a_crash_at_any_write_loses_nothing_on_postgres() -> None:
    check(InPostgres)
