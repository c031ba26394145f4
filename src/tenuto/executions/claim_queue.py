"""The queue of claims that wait for a task: first come, first served.

What a claim costs while it waits does not grow with the claims of other workers: claims are found
by the tasks that they want, and those that are called at once, each of which asks the store, are
bounded. Others are called at one of the next polls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import count

from tenuto.model.errors import Overloaded
from tenuto.store.parts.jobs import WorkerClaim

MOST_WAITING = 4_000
"""Claims that wait, of all tenants."""
MOST_OF_TENANT = 1_000
"""Claims of one tenant that wait."""
MOST_NAMES = 50_000
"""Names of tasks in the waiting claims of one tenant."""
MOST_CALLED = 100
"""Claims that are called when another leaves."""
MOST_POLLED = 2_000
"""Names of tasks in the claims of one tenant that are called together: the store looks for each."""
_MOST_COMPARED = 10_000
"""Names of tasks that are compared for one claim that joins or leaves."""
_ANY = 100
"""What a claim for any task counts as, in names."""


class WaitingClaim:
    """A claim that waits; `called` is set when there may be a task for it."""

    def __init__(self, wanted: WorkerClaim, number: int) -> None:
        """`number`: its place, which grows with each claim that joins."""
        self.wanted = wanted
        self.ids = None if wanted.task_ids is None else frozenset(wanted.task_ids)
        self.number = number
        self.called = asyncio.Event()
        self.has_looked = True
        """Whether there was no job that it wants when it looked last, or it was never called."""

    @property
    def names(self) -> int:
        """How many names of tasks the store looks for."""
        return _ANY if self.ids is None else len(self.ids)

    def wants_all_of(self, others: frozenset[str]) -> bool:
        return self.ids is None or others <= self.ids


class ClaimQueue:
    """Waiting claims, in the order in which they came."""

    def __init__(
        self,
        most: int = MOST_WAITING,
        most_of_tenant: int = MOST_OF_TENANT,
        most_names: int = MOST_NAMES,
    ) -> None:
        self._tenants: dict[str, _Waiting] = {}
        self._numbers = count()
        self._length = 0
        self._most = most
        self._most_of_tenant = most_of_tenant
        self._most_names = most_names

    def __len__(self) -> int:
        return self._length

    def join(self, wanted: WorkerClaim) -> WaitingClaim:
        """Add a claim at the end; it is called at once, unless one before it wants all its tasks.

        Claims in the queue have been tried: there is no job that they want, and a job that only the
        new one wants need not wait for them.
        """
        if self._length >= self._most:
            raise Overloaded(f"{self._length} workers are waiting for tasks")
        new = WaitingClaim(wanted, next(self._numbers))
        waiting = self._tenants.get(wanted.tenant)
        if waiting is None:
            waiting = self._tenants[wanted.tenant] = _Waiting()
        if len(waiting.claims) >= self._most_of_tenant:
            raise Overloaded(f"{len(waiting.claims)} workers are waiting for tasks")
        if waiting.claims and waiting.names + new.names > self._most_names:
            raise Overloaded(f"workers are waiting for {waiting.names:,} tasks by name")
        if not waiting.has_before(new):
            new.called.set()
        waiting.add(new)
        self._length += 1
        return new

    def leave(self, one: WaitingClaim) -> None:
        """Remove a claim, and call the next ones: a claim that was called may leave jobs behind.

        For each of its tasks the first claim is called that wants it too.
        """
        tenant = one.wanted.tenant
        waiting = self._tenants[tenant]
        waiting.remove(one)
        self._length -= 1
        if not waiting.claims:
            del self._tenants[tenant]
        elif one.called.is_set() or not one.has_looked:
            _call(waiting.next_after(one)[:MOST_CALLED])

    def call(self, tenant: str, task_id: str) -> None:
        """There is a job: call the first claim that wants it."""
        waiting = self._tenants.get(tenant)
        if waiting is not None and (first := waiting.first_of(task_id)) is not None:
            first.called.set()

    def call_all(self) -> None:
        """End the waiting of all claims."""
        for waiting in self._tenants.values():
            _call(waiting.claims)

    def call_first(self, which: Callable[[str], bool] = lambda _: True) -> None:
        """There may be jobs of any task of such tenants.

        Of claims for the same tasks the first is called. Where these are too many for once, the
        next time goes on behind them.
        """
        for tenant, waiting in self._tenants.items():
            if which(tenant):
                _call(waiting.next_kinds())


class _Waiting:
    """The waiting claims of one tenant."""

    def __init__(self) -> None:
        self.claims: dict[WaitingClaim, None] = {}
        self.names = 0
        """Names of tasks in all of them."""
        self._kinds: dict[tuple[str, ...] | None, dict[WaitingClaim, None]] = {}
        """Claims for the same tasks; first those that were not polled for the longest time."""
        self._of_task: dict[str, dict[WaitingClaim, None]] = {}

    def add(self, one: WaitingClaim) -> None:
        self.claims[one] = None
        self.names += one.names
        self._kinds.setdefault(one.wanted.task_ids, {})[one] = None
        for id in one.ids or ():
            self._of_task.setdefault(id, {})[one] = None

    def remove(self, one: WaitingClaim) -> None:
        del self.claims[one]
        self.names -= one.names
        same = self._kinds[one.wanted.task_ids]
        del same[one]
        if not same:
            del self._kinds[one.wanted.task_ids]
        for id in one.ids or ():
            others = self._of_task[id]
            del others[one]
            if not others:
                del self._of_task[id]

    def has_before(self, new: WaitingClaim) -> bool:
        """Whether a claim could be granted every job that the new one could.

        One that is found only by comparing very many names counts as none: then the new one looks
        by itself.
        """
        if None in self._kinds or new.wanted.task_ids in self._kinds:
            return True
        if new.ids is None:
            return False
        rarest = min((self._of_task.get(id, {}) for id in new.ids), key=len, default={})
        most = max(1, _MOST_COMPARED // len(new.ids)) if new.ids else 0
        return any(each.wants_all_of(new.ids) for each, _ in zip(rarest, range(most), strict=False))

    def first_of(self, task_id: str) -> WaitingClaim | None:
        """The first claim that wants a task."""
        found = (*_first(self._of_task.get(task_id)), *_first(self._kinds.get(None)))
        return min(found, key=_number, default=None)

    def next_after(self, gone: WaitingClaim) -> list[WaitingClaim]:
        """For each task of a claim that has left the first that wants it too, in their order."""
        if gone.ids is None:
            return [*self._firsts()]
        found = {first for id in gone.ids if (first := self.first_of(id)) is not None}
        return sorted(found, key=_number)

    def _firsts(self) -> Iterator[WaitingClaim]:
        """The first claim of each task, as far as these are found among not too many names."""
        called: set[str] = set()
        compared = 0
        for each in self.claims:
            compared += each.names
            if each.ids is None or not called.issuperset(each.ids):
                yield each
            if each.ids is None or compared > _MOST_COMPARED:
                return
            called |= each.ids

    def next_kinds(self) -> list[WaitingClaim]:
        """The first claims of those kinds whose turn it is, in their order."""
        found: list[WaitingClaim] = []
        names = 0
        for kind in [*self._kinds]:
            [first] = _first(self._kinds[kind])
            if found and names + first.names > MOST_POLLED:
                break
            names += first.names
            found.append(first)
            self._kinds[kind] = self._kinds.pop(kind)
        return sorted(found, key=_number)


def _first(claims: dict[WaitingClaim, None] | None) -> tuple[WaitingClaim, ...]:
    return (next(iter(claims)),) if claims else ()


def _number(one: WaitingClaim) -> int:
    return one.number


def _call(claims: Iterable[WaitingClaim]) -> None:
    for each in claims:
        each.called.set()
