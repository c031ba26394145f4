"""Which tasks with limits this process claims jobs of next, so that it asks the store for no other.

A task whose limit is full is not asked for before an attempt of it ends, here or elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from tenuto.model.task_definition import NO_LIMITS, TaskLimits
from tenuto.store.parts.jobs import Hindrance, LimitedTask
from tenuto.tasks.registry import Registry

Pair: TypeAlias = tuple[str, str]
"""A tenant, and the id of a task."""
BATCH = 100


class Places(Protocol):
    """The attempts of this process, as far as they are bounded."""

    def room(self, task_id: str) -> int | None:
        """How many attempts of a task would begin now; None: any number."""
        ...

    def keep_place(self, task_id: str) -> None:
        """Let a task take turns for a place, with which an attempt of it can be claimed."""
        ...

    def give_back(self, task_ids: Iterable[str]) -> None:
        """The claim of attempts of these tasks is over: what is still kept for them is free."""
        ...


class LimitedJobs:
    """The tasks with limits that may have jobs for this process."""

    def __init__(
        self,
        registry: Registry,
        limited: Callable[[str], Mapping[str, TaskLimits]],
        places: Places,
    ) -> None:
        self._registry = registry
        self._limited = limited
        self._places = places
        self._room = places.room
        self._wanted: set[Pair] = set()
        self._full: set[Pair] = set()
        """Tasks of which as many run, or have begun in this second, as may."""
        self._starved: dict[str, set[Pair]] = {}
        """By task, those that wait until this process has room."""
        self.looks_at_all = False
        """Whether the store is asked which tasks have jobs."""
        self.leaves_some = False
        """Whether there are jobs that this process has no room for, and another may."""

    @property
    def is_due(self) -> bool:
        return bool(self._wanted) or self.looks_at_all

    def offered(self, tenant: str, task_id: str) -> bool:
        """A job is there; whether it is to be claimed now."""
        pair = (tenant, task_id)
        if pair in self._full or task_id not in self._registry:
            return False
        self._wanted.add(pair)
        return True

    def freed(self, tenant: str, task_id: str) -> bool:
        """A job has ended, or a rate lets another one begin; whether one is to be claimed now."""
        self._full.discard((tenant, task_id))
        return self.offered(tenant, task_id)

    def look_at_all(self) -> None:
        """Whatever was full may have room."""
        self._full.clear()
        self.looks_at_all = True

    def has_room(self) -> bool:
        """This process has room again; whether jobs that it had none for are to be claimed now."""
        again = [task_id for task_id in self._starved if self._room(task_id) != 0]
        for task_id in again:
            self._wanted |= self._starved.pop(task_id)
        return bool(again)

    def takes(self, task_id: str) -> bool:
        """Whether a job of a task would begin here at once."""
        return task_id in self._registry and self._room(task_id) != 0

    def want(self, pairs: Iterable[Pair]) -> None:
        """The store has jobs of these tasks."""
        self.looks_at_all = False
        self._wanted |= {pair for pair in pairs if pair[1] in self._registry}

    def take(self) -> tuple[LimitedTask, ...]:
        """The tasks to claim jobs of now, each with as many as begin at once."""
        wanted, self._wanted = self._wanted, set()
        tenants = Counter(task_id for _, task_id in wanted)
        found: list[LimitedTask] = []
        for tenant, task_id in sorted(wanted):
            room = self._room(task_id)
            if room == 0:
                starved = self._starved.setdefault(task_id, set())
                self.leaves_some = self.leaves_some or (tenant, task_id) not in starved
                starved.add((tenant, task_id))
                self._places.keep_place(task_id)
                continue
            most = BATCH if room is None else max(1, min(BATCH, room // tenants[task_id]))
            limits = self._limited(tenant).get(task_id, NO_LIMITS)
            found.append(LimitedTask(tenant, task_id, most, limits))
        return tuple(found)

    def over(self, tasks: Sequence[LimitedTask]) -> None:
        """A claim of these is over, and what it was granted has begun."""
        self._places.give_back([task.task_id for task in tasks])

    def put_back(self, tasks: Sequence[LimitedTask]) -> None:
        """It is not known what a claim of these was granted."""
        self._wanted |= {(task.tenant, task.task_id) for task in tasks}

    def answered(
        self,
        tasks: Sequence[LimitedTask],
        *,
        granted: int,
        limit: int,
        hindered: Sequence[Hindrance],
    ) -> None:
        """A claim of at most `limit` jobs was granted so many."""
        held_back = {(each.tenant, each.task_id) for each in hindered}
        self._full |= held_back
        if granted:
            # Also where this process had no room for more: it is looked at again once it has.
            self._wanted |= {
                (task.tenant, task.task_id)
                for task in tasks
                if granted == limit or self._room(task.task_id) is not None
            } - held_back

    def without_full(self, registry: Registry) -> tuple[str, ...]:
        """The tasks of this process that have room in it."""
        return tuple(id for id in registry if self._room(id) != 0)
