"""The writes of an outbox: one at a time, and with rests while several tenants are at work."""

from __future__ import annotations

import asyncio

import pytest

from tenuto.engine.outbox.pace import Pace
from tenuto.engine.turns.sharing import SHARED_TURNS, Sharing
from tenuto.model.errors import StoreUnavailable
from tests.access.hand_clock import HandClock
from tests.engine.situations import beside_another

pytestmark = pytest.mark.asyncio


class Writes:
    """Writes that take as long as is said, and which of them have begun."""

    def __init__(self, *, is_shared: bool) -> None:
        self.clock = HandClock()
        self.pace = Pace(self.clock, beside_another() if is_shared else Sharing())
        self.begun = 0
        self._ends: list[asyncio.Event] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def _write(self) -> None:
        self.begun += 1
        await self._ends[self.begun - 1].wait()

    def ask_for(self, count: int) -> None:
        self._ends = [asyncio.Event() for _ in range(count)]
        self._tasks = [asyncio.ensure_future(self.pace.write(self._write)) for _ in range(count)]

    async def end_first_after(self, seconds: float) -> None:
        await settled()
        self.clock.move(seconds)
        self._ends[0].set()
        await self._tasks[0]
        await settled()

    async def begun_after(self, seconds: float) -> int:
        self.clock.move(seconds)
        await settled()
        return self.begun


async def settled() -> None:
    """Let everything run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_write_follows_the_other_at_once_while_a_tenant_is_alone() -> None:
    writes = Writes(is_shared=False)
    writes.ask_for(2)
    await settled()
    assert writes.begun == 1
    await writes.end_first_after(0.02)
    assert writes.begun == 2


async def test_a_write_rests_three_times_as_long_as_the_one_before_took_beside_another() -> None:
    writes = Writes(is_shared=True)
    writes.ask_for(2)
    await writes.end_first_after(0.02)
    assert [await writes.begun_after(each) for each in (0, 0.059, 0.002)] == [1, 1, 2]


async def test_a_slow_store_makes_no_long_rests() -> None:
    writes = Writes(is_shared=True)
    writes.ask_for(2)
    await writes.end_first_after(5.0)
    assert [await writes.begun_after(each) for each in (0.09, 0.02)] == [1, 2]


async def test_a_write_that_fails_lets_the_next_one_begin() -> None:
    clock = HandClock()
    pace = Pace(clock, beside_another())

    async def refused() -> None:
        raise StoreUnavailable("gone")

    async def written() -> int:
        return 1

    with pytest.raises(StoreUnavailable):
        await pace.write(refused)
    assert await pace.write(written) == 1


async def test_writes_for_one_tenant_rest_however_long_another_has_been_at_work_alone() -> None:
    """Its instances take turns, and those of deliveries take none."""
    now, clock = 5.0, HandClock()
    sharing = Sharing(lambda: now)
    pace = Pace(clock, sharing)
    began: list[str] = []

    async def write() -> None:
        began.append("write")
        clock.move(0.01)

    sharing.saw(["storm"])
    for _ in range(2 * SHARED_TURNS):
        sharing.saw(["quiet"])
    assert not sharing.is_shared
    await pace.write(write, {"storm"})
    resting = asyncio.ensure_future(pace.write(write, {"quiet"}))
    await settled()
    assert began == ["write"]
    clock.move(0.03)
    await resting
    await asyncio.wait_for(pace.write(write, {"quiet"}), 60)
