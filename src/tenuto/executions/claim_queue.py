"""The queue of claims that wait for a task: first come, first served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenuto.model.errors import Overloaded
from tenuto.store.parts.jobs import WorkerClaim

MOST_WAITING = 1_000


class WaitingClaim:
    """A claim that waits; `called` is set when there may be a task for it."""

    def __init__(self, wanted: WorkerClaim) -> None:
        self.wanted = wanted
        self.called = asyncio.Event()

    def wants(self, tenant: str, task_id: str) -> bool:
        wanted = self.wanted
        return tenant == wanted.tenant and (wanted.task_ids is None or task_id in wanted.task_ids)

    def competes_with(self, other: WorkerClaim) -> bool:
        """Whether there can be a job that both could be granted."""
        mine, theirs = self.wanted.task_ids, other.task_ids
        if self.wanted.tenant != other.tenant:
            return False
        return mine is None or theirs is None or not set(mine).isdisjoint(theirs)

    def wants_all_of(self, other: WorkerClaim) -> bool:
        """Whether it could be granted every job that the other could."""
        mine, theirs = self.wanted.task_ids, other.task_ids
        if self.wanted.tenant != other.tenant:
            return False
        return mine is None or (theirs is not None and set(mine).issuperset(theirs))


class ClaimQueue:
    """Waiting claims, in the order in which they came."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._waiting: dict[WaitingClaim, None] = {}
        self._most = most

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self, wanted: WorkerClaim) -> WaitingClaim:
        """Add a claim at the end; it is called at once, unless one before it wants all its tasks.

        Claims in the queue have been tried: there is no job that they want, and a job that only the
        new one wants need not wait for them.
        """
        if len(self._waiting) >= self._most:
            raise Overloaded(f"{len(self._waiting)} workers are waiting for tasks")
        new = WaitingClaim(wanted)
        if not any(each.wants_all_of(wanted) for each in self._waiting):
            new.called.set()
        self._waiting[new] = None
        return new

    def leave(self, one: WaitingClaim) -> None:
        """Remove a claim, and call the next ones: a claim that was called may leave jobs behind.

        For each of its tasks the first claim is called that wants it too.
        """
        del self._waiting[one]
        wanted = one.wanted.task_ids
        called: set[str] = set()
        for each in self._waiting:
            if not each.competes_with(one.wanted):
                continue
            ids = each.wanted.task_ids
            common = wanted if ids is None else ids if wanted is None else set(ids) & set(wanted)
            if common is None or not called.issuperset(common):
                each.called.set()
            if common is None:
                return
            called.update(common)
            if wanted is not None and called.issuperset(wanted):
                return

    def call(self, tenant: str, task_id: str) -> None:
        """There is a job: call the first claim that wants it."""
        for each in self._waiting:
            if each.wants(tenant, task_id):
                each.called.set()
                return

    def call_all(self) -> None:
        """End the waiting of all claims."""
        for each in self._waiting:
            each.called.set()

    def call_first(self, which: Callable[[WorkerClaim], bool] = lambda _: True) -> None:
        """There may be jobs of any task: of such claims for the same tasks call the first."""
        seen: set[tuple[str, tuple[str, ...] | None]] = set()
        for each in self._waiting:
            same = (each.wanted.tenant, each.wanted.task_ids)
            if same not in seen and which(each.wanted):
                seen.add(same)
                each.called.set()
