"""Bounds on attempts that run in one process: of one task, and of all together.

An attempt over a bound waits and has not begun. Tasks take turns, so that one that waits for its
own bound holds up no other. A task whose attempts have to be claimed first takes turns with them:
in its turn it has a place kept for the attempt that is claimed next.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable

from tenuto.model.causes import ProcessBound
from tenuto.tasks.attempt import Attempt, Key


class AttemptBounds:
    """Lets attempts begin as long as there is room for them; changed from the loop alone."""

    def __init__(self, begin: Callable[[Attempt], None], most: int | None) -> None:
        """`most`: of all tasks together; None: any number."""
        self._begin = begin
        self._most = most
        self._running: dict[Key, Attempt] = {}
        self._of_task: Counter[str] = Counter()
        self._waiting: dict[str, OrderedDict[Key, Attempt]] = {}
        """By task, those that wait, in order."""
        self._ready: dict[str, None] = {}
        """The tasks among them, and of `_claims`, that have room of their own, in the order of
        their turns."""
        self._claims: dict[str, int | None] = {}
        """The tasks that wait for a place to claim an attempt, and how many may run of each."""
        self._kept: Counter[str] = Counter()
        """Places that are kept for attempts that are being claimed, by task."""
        self.freed: Callable[[], None] = lambda: None
        """Called when an attempt has ended, and none of its task waits here, and when a place is
        kept."""

    def admits(self, attempt: Attempt) -> bool:
        """Whether an attempt begins now; if not, it waits, and begins once there is room."""
        at_most = attempt.task.at_most
        if at_most is None and self._most is None:
            return True
        task_id = attempt.order.task_id
        if self._kept:
            self._use_kept(task_id)
        if task_id not in self._waiting and self._has_room(task_id, at_most):
            self._take(attempt)
            return True
        self._waiting.setdefault(task_id, OrderedDict())[attempt.key] = attempt
        if self._has_own_room(task_id, at_most):
            self._ready.setdefault(task_id)
        return False

    def left(self, attempt: Attempt) -> None:
        """An attempt has ended, or is not to begin any more."""
        if not self._running and not self._waiting:
            return
        task_id = attempt.order.task_id
        if self._running.pop(attempt.key, None) is not None:
            self._of_task[task_id] -= 1
            if not self._of_task[task_id]:
                del self._of_task[task_id]
            if task_id in self._waiting or task_id in self._claims:
                self._ready.setdefault(task_id)
            is_kept = self._go_on()
            if is_kept or task_id not in self._waiting:
                self.freed()
        else:
            self.drop(attempt)

    def drop(self, attempt: Attempt) -> None:
        """An attempt that waits is not to begin any more."""
        task_id = attempt.order.task_id
        waiting = self._waiting.get(task_id)
        if waiting is None:
            return
        waiting.pop(attempt.key, None)
        if not waiting:
            del self._waiting[task_id]
            if task_id not in self._claims:
                self._ready.pop(task_id, None)

    def forget_waiting(self) -> None:
        """Begin no more."""
        self._waiting.clear()
        self._claims.clear()
        self._ready.clear()

    def keep_place(self, task_id: str, at_most: int | None) -> None:
        """Let a task take turns for a place, with which an attempt of it can be claimed."""
        if self._most is None or task_id in self._claims or self._kept[task_id]:
            return  # without a bound of all tasks the end of its own attempts makes room
        self._claims[task_id] = at_most
        if self._has_own_room(task_id, at_most):
            self._ready.setdefault(task_id)

    def give_back(self, task_ids: Iterable[str]) -> None:
        """The claim of attempts of these tasks is over: what is still kept for them is free."""
        if not self._kept:
            return
        for task_id in task_ids:
            self._kept.pop(task_id, None)
        if self._go_on():
            self.freed()

    def room(self, task_id: str, at_most: int | None) -> int | None:
        """How many attempts of a task would begin now; None: any number."""
        if self._waiting.get(task_id):
            return 0
        own = None if at_most is None else max(at_most - self._of_task[task_id], 0)
        if self._most is None:
            return own
        # Where there is room, those that wait do so for the bounds of their tasks.
        left = max(self._most - self._taken + self._kept[task_id], 0)
        return left if own is None else min(own, left)

    def waits(self, instance_id: str) -> dict[tuple[str, str, int], ProcessBound]:
        """Node, iteration and attempt of those of an instance that wait → for what."""
        found: dict[tuple[str, str, int], ProcessBound] = {}
        for task_id, waiting in self._waiting.items():
            for key, attempt in waiting.items():
                if key[0] == instance_id:
                    found[key[1:]] = self._bound(task_id, attempt.task.at_most)
        return found

    def _bound(self, task_id: str, at_most: int | None) -> ProcessBound:
        if at_most is not None and not self._has_own_room(task_id, at_most):
            return ProcessBound(task_id=task_id, held=self._of_task[task_id], most=at_most)
        return ProcessBound(held=len(self._running), most=self._most or 0)

    def _has_own_room(self, task_id: str, at_most: int | None) -> bool:
        return at_most is None or self._of_task[task_id] < at_most

    def _has_room(self, task_id: str, at_most: int | None) -> bool:
        is_full = self._most is not None and self._taken >= self._most
        return not is_full and self._has_own_room(task_id, at_most)

    @property
    def _taken(self) -> int:
        return len(self._running) + self._kept.total()

    def _use_kept(self, task_id: str) -> None:
        """The place that is kept for a task is that of the attempt which comes now."""
        if self._kept[task_id] > 1:
            self._kept[task_id] -= 1
        else:
            del self._kept[task_id]

    def _take(self, attempt: Attempt) -> None:
        self._running[attempt.key] = attempt
        self._of_task[attempt.order.task_id] += 1

    def _go_on(self) -> bool:
        """Begin with those that have room now; tasks take turns. Whether a place is kept anew."""
        is_kept = False
        while self._ready and (self._most is None or self._taken < self._most):
            task_id = next(iter(self._ready))
            del self._ready[task_id]
            waiting = self._waiting.get(task_id)
            if waiting is None:
                del self._claims[task_id]
                self._kept[task_id] += 1
                is_kept = True
                continue
            _, attempt = waiting.popitem(last=False)
            self._take(attempt)
            if not waiting:
                del self._waiting[task_id]
            if (task_id in self._waiting or task_id in self._claims) and self._has_own_room(
                task_id, attempt.task.at_most
            ):
                self._ready[task_id] = None
            self._begin(attempt)
        return is_kept
