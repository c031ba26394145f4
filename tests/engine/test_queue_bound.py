"""The bound of the queue: what is refused, and that no tenant fills it for another."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection

import pytest

from tenuto.engine.limits.queue_bound import QueueBound
from tenuto.model.errors import Overloaded
from tests.tasks.stage import HandClock

pytestmark = pytest.mark.asyncio


class Queue:
    """Rows that wait, by tenant, and the bound of a process that counts them."""

    def __init__(self, **waiting: int) -> None:
        self.clock = HandClock()
        self.waiting = Counter(waiting)
        self.bound = QueueBound(
            self.clock, self, admit=self._admit, refuse=lambda bound: Overloaded(f"{bound}")
        )

    async def start(self, tenant: str, bound: int, until: asyncio.Event | None = None) -> bool:
        """Whether a start is taken; it waits then, once it is durable."""
        try:
            async with self.bound.place(bound, tenant):
                if until is not None:
                    await until.wait()
                self.waiting[tenant] += 1
        except Overloaded:
            return False
        return True

    async def depth(self, most: int) -> int:
        return min(most, self.waiting.total())

    async def depth_of(self, tenant: str, most: int) -> int:
        return min(most, self.waiting[tenant])

    async def waiting_tenants(self) -> Collection[str]:
        return [tenant for tenant, count in self.waiting.items() if count]

    async def _admit(self) -> None:
        """No slot is free."""


async def test_a_tenant_with_a_full_queue_leaves_each_other_one_its_share() -> None:
    queue = Queue()
    assert [await queue.start("large", 6) for _ in range(8)] == [True] * 6 + [False] * 2
    assert [await queue.start("small", 6) for _ in range(5)] == [True] * 3 + [False] * 2
    queue.clock.advance(1)
    assert [await queue.start("third", 6) for _ in range(4)] == [True] * 2 + [False] * 2
    assert not await queue.start("large", 6)
    assert not await queue.start("small", 6), "it has its share"


async def test_at_most_twice_as_many_wait_as_the_bound_says_however_many_tenants_there_are() -> (
    None
):
    queue = Queue()
    for n in range(200):
        for _ in range(3):
            await queue.start(f"t{n}", 10)
        queue.clock.advance(0.1)
    assert queue.waiting.total() == 20


async def test_starts_under_way_count_for_the_share_of_their_tenant() -> None:
    queue = Queue(large=6)
    durable = asyncio.Event()
    under_way = [asyncio.ensure_future(queue.start("small", 6, durable)) for _ in range(4)]
    await asyncio.sleep(0)
    queue.clock.advance(1)
    assert not await queue.start("small", 6), "three are under way, and none is a row yet"
    durable.set()
    assert sorted(await asyncio.gather(*under_way)) == [False, True, True, True]


async def test_a_full_queue_takes_starts_again_once_there_is_room() -> None:
    queue = Queue(large=2)
    assert not await queue.start("large", 2)
    queue.waiting["large"] = 1
    assert not await queue.start("large", 2), "it is counted again a little later"
    queue.clock.advance(1)
    assert [await queue.start("large", 2) for _ in range(2)] == [True, False]


async def test_a_process_exceeds_the_bound_by_no_more_than_another_has_under_way() -> None:
    """What a process has not committed yet, another one cannot count; later it is counted."""
    one, other = Queue(), Queue()
    other.waiting = one.waiting
    durable = asyncio.Event()
    under_way = [asyncio.ensure_future(one.start("t", 150, durable)) for _ in range(150)]
    await asyncio.sleep(0)
    assert [await other.start("t", 150) for _ in range(120)] == [True] * 120
    durable.set()
    assert all(await asyncio.gather(*under_way))
    assert one.waiting.total() == 150 + 120, "120: no more than the first one had under way"
    one.clock.advance(2)
    other.clock.advance(2)
    assert not await one.start("t", 150)
    assert not await other.start("t", 150)
