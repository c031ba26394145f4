"""The bound of the queue: what is refused, and that no tenant fills it for another."""

from __future__ import annotations

import pytest

from tenuto.engine.limits.queue_bound import QueueBound
from tenuto.model.errors import Overloaded
from tests.tasks.stage import HandClock


class Queue:
    """Rows that wait, by tenant, and the bound of a process that counts them."""

    def __init__(self, **waiting: int) -> None:
        self.clock = HandClock()
        self.waiting = waiting
        self.bound = QueueBound(
            self.clock,
            depth=self._depth,
            share=self._share,
            admit=self._admit,
            refuse=lambda bound: Overloaded(f"{bound}"),
        )

    async def start(self, tenant: str, bound: int) -> bool:
        """Whether a start is taken; it waits then."""
        try:
            async with self.bound.place(bound, tenant):
                self.waiting[tenant] = self.waiting.get(tenant, 0) + 1
        except Overloaded:
            return False
        return True

    async def _depth(self, most: int) -> int:
        return min(most, sum(self.waiting.values()))

    async def _share(self, tenant: str, bound: int) -> int:
        tenants = {*self.waiting, tenant}
        return max(1, bound // len(tenants)) - self.waiting.get(tenant, 0)

    async def _admit(self) -> None:
        """No slot is free."""


@pytest.mark.asyncio
async def test_a_tenant_with_a_full_queue_leaves_each_other_one_its_share() -> None:
    queue = Queue()
    assert [await queue.start("large", 6) for _ in range(8)] == [True] * 6 + [False] * 2
    assert [await queue.start("small", 6) for _ in range(5)] == [True] * 3 + [False] * 2
    assert [await queue.start("third", 6) for _ in range(4)] == [True] * 2 + [False] * 2
    assert not await queue.start("large", 6)
    queue.clock.advance(1)
    assert not await queue.start("small", 6), "it has its share"
    assert sum(queue.waiting.values()) <= 2 * 6


@pytest.mark.asyncio
async def test_a_full_queue_takes_starts_again_once_there_is_room() -> None:
    queue = Queue(large=2)
    assert not await queue.start("large", 2)
    queue.waiting["large"] = 1
    assert not await queue.start("large", 2), "it is counted again a little later"
    queue.clock.advance(1)
    assert [await queue.start("large", 2) for _ in range(2)] == [True, False]
