"""Synchronous tasks run in threads of our own, which can be abandoned.

The standard ThreadPoolExecutor waits for every thread when the interpreter ends and cannot continue
without one that never returns. Here threads are daemons, and one that does not return by its
time-out is counted as stuck and replaced, up to a bound: beyond it there is a serious fault, which
more threads would hide.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import logging
import queue
import threading
from collections.abc import Callable

from tenuto.tasks.attempt import Attempt, Outcome
from tenuto.tasks.capture import CURRENT
from tenuto.tasks.fair_places import FairPlaces

_log = logging.getLogger("tenuto.tasks")


class _Worker:
    """A thread and what it does now."""

    __slots__ = ("inbox", "is_stuck", "thread")

    def __init__(self) -> None:
        self.inbox: queue.SimpleQueue[Attempt | None] = queue.SimpleQueue()
        self.is_stuck = False
        self.thread: threading.Thread | None = None


class Threads:
    """Runs synchronous attempts. Its state is changed only in the event loop."""

    def __init__(
        self,
        begin: Callable[[Attempt], None],
        settle: Callable[[Attempt, Outcome], None],
        *,
        output_limit: int,
        max_threads: int,
        max_stuck: int,
        on_block: Callable[[str], None] | None,
    ) -> None:
        self._begin = begin
        self._settle = settle
        self._limit = output_limit
        self._max_threads = max_threads
        self._max_stuck = max_stuck
        self._on_block = on_block
        self._places = FairPlaces(max_threads, max_stuck)
        self._idle: list[_Worker] = []
        self._busy: dict[Attempt, _Worker] = {}
        self._stuck: set[_Worker] = set()
        self._is_closed = False
        self._numbers = itertools.count(1)
        self._around = contextvars.copy_context()

    @property
    def stuck(self) -> int:
        return len(self._stuck)

    def add(self, attempt: Attempt) -> None:
        self._places.add(attempt)
        self._hand_out()
        if self._places.has_next and self._is_past_bound():
            self._say_blocked()

    def stop(self, attempt: Attempt, grace: float) -> None:
        """No action: a task in a thread sees `ctx.cancelled`, and cannot be interrupted."""

    def abandon(self, attempt: Attempt) -> None:
        worker = self._busy.pop(attempt, None)
        if worker is None:
            return
        worker.is_stuck = True
        self._stuck.add(worker)
        self._places.sticks(attempt)
        _log.warning(
            "task %r does not return from its thread; %d threads are stuck",
            attempt.order.task_id,
            len(self._stuck),
        )
        self._hand_out()
        if self._is_past_bound():
            self._say_blocked()

    def close(self) -> None:
        """Let the threads that are idle end; those that are busy end when they return."""
        self._is_closed = True
        self._places.clear()
        for worker in self._idle:
            worker.inbox.put(None)
        self._idle.clear()

    def _hand_out(self) -> None:
        while self._places.has_next:
            worker = self._idle.pop() if self._idle else self._hire()
            if worker is None:
                return
            attempt = self._places.take()
            self._busy[attempt] = worker
            self._begin(attempt)
            worker.inbox.put(attempt)

    def _hire(self) -> _Worker | None:
        # Stuck threads beyond the bound reduce the number of working ones.
        past_bound = max(0, len(self._stuck) - self._max_stuck)
        if len(self._busy) + len(self._idle) >= self._max_threads - past_bound:
            return None
        worker = _Worker()
        worker.thread = threading.Thread(
            target=self._live,
            args=(worker, asyncio.get_running_loop()),
            name=f"tenuto-task-{next(self._numbers)}",
            daemon=True,
        )
        worker.thread.start()
        return worker

    def _is_past_bound(self) -> bool:
        return len(self._stuck) > self._max_stuck

    def _say_blocked(self) -> None:
        message = (
            f"{len(self._stuck)} threads are stuck in tasks that do not return and only "
            f"{self._max_stuck} are replaced: {len(self._places)} synchronous tasks wait. "
            'Give these tasks a time-out of their own, or isolation="process".'
        )
        _log.error(message)
        if self._on_block is not None:
            self._on_block(message)

    def _live(self, worker: _Worker, loop: asyncio.AbstractEventLoop) -> None:
        while (attempt := worker.inbox.get()) is not None:
            outcome = self._around.copy().run(self._perform, attempt)
            try:
                loop.call_soon_threadsafe(self._take_back, worker, attempt, outcome)
            except RuntimeError:
                # The loop is closed: the outcome cannot be reported.
                return

    def _perform(self, attempt: Attempt) -> Outcome:
        if attempt.keeps_lines:
            CURRENT.set(attempt)
        try:
            binding = attempt.task.binding
            context = attempt.context() if binding.takes_context else None
            value = binding.call(context, attempt.given)
        except BaseException as error:  # noqa: BLE001 - SystemExit of a task is the task's failure
            return attempt.failed(error)
        return attempt.succeeded(value, self._limit)

    def _take_back(self, worker: _Worker, attempt: Attempt, outcome: Outcome) -> None:
        self._busy.pop(attempt, None)
        self._places.left(attempt, was_stuck=worker.is_stuck)
        self._stuck.discard(worker)
        is_surplus = len(self._busy) + len(self._idle) >= self._max_threads
        if self._is_closed or (worker.is_stuck and is_surplus):
            worker.inbox.put(None)
        else:
            self._idle.append(worker)
        worker.is_stuck = False
        self._settle(attempt, outcome)
        self._hand_out()
