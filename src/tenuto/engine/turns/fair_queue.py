"""A queue in which tenants take turns: the backlog of one does not delay another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """First in, first out for each tenant; every operation costs the same however many wait."""

    def __init__(self, tenant_of: Callable[[Item], str]) -> None:
        self._tenant_of = tenant_of
        self._queues: dict[str, deque[Item]] = {}
        """Of tenants with items."""
        self._turns: deque[str] = deque()
        """The same tenants; the next one first."""
        self._count = 0

    def append(self, item: Item) -> None:
        tenant = self._tenant_of(item)
        queue = self._queues.get(tenant)
        if queue is None:
            self._queues[tenant] = deque((item,))
            self._turns.append(tenant)
        else:
            queue.append(item)
        self._count += 1

    def put_first(self, items: Sequence[Item]) -> None:
        """Put items back that were taken: before all others of their tenants."""
        for item in reversed(items):
            tenant = self._tenant_of(item)
            queue = self._queues.get(tenant)
            if queue is None:
                self._queues[tenant] = deque((item,))
                self._turns.appendleft(tenant)
            else:
                queue.appendleft(item)
        self._count += len(items)

    @property
    def first(self) -> Item:
        """The item that is taken next."""
        return self._queues[self._turns[0]][0]

    def popleft(self) -> Item:
        tenant = self._turns[0]
        queue = self._queues[tenant]
        item = queue.popleft()
        if queue:
            self._turns.rotate(-1)
        else:
            del self._queues[tenant]
            self._turns.popleft()
        self._count -= 1
        return item

    def take(self, most: int) -> list[Item]:
        """The next items, at most so many."""
        if len(self._turns) == 1 and self._count <= most:
            [queue] = self._queues.values()
            self.clear()
            return list(queue)
        return [self.popleft() for _ in range(min(most, self._count))]

    def has_more_than(self, most: int) -> bool:
        """Whether a tenant has more items than that."""
        return self._count > most and any(len(queue) > most for queue in self._queues.values())

    def has_at_most(self, most: int) -> bool:
        """Whether a tenant has items, and no more than that."""
        return any(len(queue) <= most for queue in self._queues.values())

    @contextmanager
    def without_more_than(self, most: int) -> Iterator[None]:
        """Leave tenants out that have more items; afterwards they are the last of all."""
        aside = {tenant: each for tenant, each in self._queues.items() if len(each) > most}
        for tenant, queue in aside.items():
            del self._queues[tenant]
            self._turns.remove(tenant)
            self._count -= len(queue)
        try:
            yield
        finally:
            for tenant, queue in aside.items():
                self._queues[tenant] = queue
                self._turns.append(tenant)
                self._count += len(queue)

    def is_full_for(self, item: Item, most: int) -> bool:
        """Whether `most` items wait and the tenant of this one has at least its share of them."""
        if self._count < most:
            return False
        queue = self._queues.get(self._tenant_of(item))
        return queue is not None and len(queue) >= most // len(self._queues)

    @property
    def tenants(self) -> Collection[str]:
        """The tenants with items."""
        return self._queues

    def count_of(self, tenant: str) -> int:
        """How many items a tenant has."""
        return len(self._queues.get(tenant, ()))

    def clear(self) -> None:
        self._queues.clear()
        self._turns.clear()
        self._count = 0

    def __iter__(self) -> Iterator[Item]:
        return chain.from_iterable(self._queues.values())

    def __len__(self) -> int:
        return self._count
