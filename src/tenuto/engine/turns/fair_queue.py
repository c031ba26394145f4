"""A queue in which tenants take turns: the backlog of one does not delay another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """First in, first out for each tenant; every operation costs the same however many wait."""

    def __init__(self, tenant_of: Callable[[Item], str]) -> None:
        self._tenant_of = tenant_of
        self.tenants: dict[str, deque[Item]] = {}
        """The tenants with items, and what each has. Read on every turn, so it is no property."""
        self._turns: deque[str] = deque()
        """The same tenants; the next one first."""
        self._count = 0

    def append(self, item: Item) -> None:
        tenant = self._tenant_of(item)
        queue = self.tenants.get(tenant)
        if queue is None:
            self.tenants[tenant] = deque((item,))
            self._turns.append(tenant)
        else:
            queue.append(item)
        self._count += 1

    def put_first(self, items: Sequence[Item]) -> None:
        """Put items back that were taken: before all others of their tenants."""
        for item in reversed(items):
            tenant = self._tenant_of(item)
            queue = self.tenants.get(tenant)
            if queue is None:
                self.tenants[tenant] = deque((item,))
                self._turns.appendleft(tenant)
            else:
                queue.appendleft(item)
        self._count += len(items)

    @property
    def first(self) -> Item:
        """The item that is taken next."""
        return self.tenants[self._turns[0]][0]

    def popleft(self) -> Item:
        tenant = self._turns[0]
        queue = self.tenants[tenant]
        item = queue.popleft()
        if queue:
            self._turns.rotate(-1)
        else:
            del self.tenants[tenant]
            self._turns.popleft()
        self._count -= 1
        return item

    def take(self, most: int) -> list[Item]:
        """The next items, at most so many."""
        if len(self._turns) == 1:
            [queue] = self.tenants.values()
            if self._count <= most:
                self.clear()
                return list(queue)
            self._count -= most
            return [queue.popleft() for _ in range(most)]
        return [self.popleft() for _ in range(min(most, self._count))]

    def take_of_each(self, most: int, share: int) -> list[Item]:
        """The next items, at most so many, and at most `share` of each tenant."""
        taken: list[Item] = []
        for _ in range(share):
            count = min(len(self._turns), most - len(taken))
            taken += [self.popleft() for _ in range(count)]
        return taken

    def first_with(self, fits: Callable[[Item], bool]) -> Collection[str]:
        """The tenants whose next item fits."""
        return [tenant for tenant, queue in self.tenants.items() if fits(queue[0])]

    def pop_of(self, tenants: Collection[str]) -> Item | None:
        """The next item of these tenants; None if they have none."""
        tenant = next((each for each in self._turns if each in tenants), None)
        if tenant is None:
            return None
        self._turns.remove(tenant)
        queue = self.tenants[tenant]
        item = queue.popleft()
        if queue:
            self._turns.append(tenant)
        else:
            del self.tenants[tenant]
        self._count -= 1
        return item

    def more_than(self, most: int) -> Collection[str]:
        """The tenants that have more items than that."""
        if self._count <= most:
            return ()
        return [tenant for tenant, queue in self.tenants.items() if len(queue) > most]

    def remove(self, fits: Callable[[Item], bool]) -> list[Item]:
        """Take those that fit, wherever they are."""
        items = list(self)
        self.clear()
        removed: list[Item] = []
        for item in items:
            if fits(item):
                removed.append(item)
            else:
                self.append(item)
        return removed

    @contextmanager
    def without(self, tenants: Iterable[str]) -> Iterator[None]:
        """Leave tenants out; afterwards they are the last of all."""
        aside = {tenant: self.tenants[tenant] for tenant in tenants if tenant in self.tenants}
        for tenant, queue in aside.items():
            del self.tenants[tenant]
            self._turns.remove(tenant)
            self._count -= len(queue)
        try:
            yield
        finally:
            for tenant, queue in aside.items():
                self.tenants[tenant] = queue
                self._turns.append(tenant)
                self._count += len(queue)

    def is_full_for(self, item: Item, most: int) -> bool:
        """Whether `most` items wait and the tenant of this one has at least its share of them."""
        if self._count < most:
            return False
        queue = self.tenants.get(self._tenant_of(item))
        return queue is not None and len(queue) >= most // len(self.tenants)

    def count_of(self, tenant: str) -> int:
        """How many items a tenant has."""
        return len(self.tenants.get(tenant, ()))

    def clear(self) -> None:
        self.tenants.clear()
        self._turns.clear()
        self._count = 0

    def __iter__(self) -> Iterator[Item]:
        return chain.from_iterable(self.tenants.values())

    def __len__(self) -> int:
        return self._count
