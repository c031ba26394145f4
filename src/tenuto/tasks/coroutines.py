"""Asynchronous tasks run in a pool of coroutines that outlive them.

An asyncio task for each attempt would cost more than most attempts. So a runner, which is one
asyncio task, takes attempts from a queue and awaits them one after the other; an attempt that never
suspends costs no turn of the loop. Before a runner begins one, it wakes another runner if more
attempts wait, so that an attempt that suspends delays no other.

Tenants take turns, so that an attempt does not wait for the many of a wide loop of another tenant.
Of built-in tasks whose calls wait for a place of their tenant, most wait here: in a coroutine are
few more than can run.

A runner is reused only if the last attempt left no trace in it. One that was cancelled, or whose
context variables were changed, ends; the next attempt gets a fresh one.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable

from tenuto.ports import Clock
from tenuto.tasks.attempt import Attempt, Outcome
from tenuto.tasks.before_loop import BeforeLoop
from tenuto.tasks.capture import CURRENT

_IN_ONE_GO = 128
"""How many attempts run before other callbacks of the loop get a turn."""
_KEPT = 256
"""How many idle runners are kept."""
_SETTLING_SECONDS = 1.0


class Coroutines:
    """Runs asynchronous attempts in the event loop."""

    def __init__(
        self,
        clock: Clock,
        begin: Callable[[Attempt], None],
        settle: Callable[[Attempt, Outcome], None],
        output_limit: int,
    ) -> None:
        self._clock = clock
        self._begin = begin
        self._settle = settle
        self._limit = output_limit
        self._queue = BeforeLoop()
        self._idle: list[asyncio.Future[None]] = []
        self._runners: set[asyncio.Task[None]] = set()
        self._abandoned: set[asyncio.Task[None]] = set()
        self._is_waking = False
        self._is_closed = False
        # Attempts see the context variables of the engine's start, not those of a caller.
        self._around = contextvars.copy_context()

    @property
    def stuck(self) -> int:
        """How many attempts have an outcome and still run: they ignore their cancellation."""
        return len(self._abandoned)

    @property
    def waiting(self) -> tuple[int, int]:
        """How many attempts wait for their turn in the event loop.

        And how many of them come before the next one of a tenant that has no other.
        """
        return self._queue.count, self._queue.tenants

    def add(self, attempt: Attempt) -> None:
        if attempt.executor is None:
            self._queue.add(attempt)
        else:
            self._queue.add_call(attempt)
        if self._queue.count and not self._is_waking:
            self._wake()

    def stop(self, attempt: Attempt, grace: float) -> None:  # noqa: ARG002 - the core counts the grace
        if attempt.runner is not None:
            attempt.runner.cancel()

    def abandon(self, attempt: Attempt) -> None:
        runner = attempt.runner
        if runner is not None and not runner.done():
            self._abandoned.add(runner)
            runner.add_done_callback(self._abandoned.discard)
            runner.cancel()

    def discard(self, attempt: Attempt) -> None:
        """Its outcome is settled before any work for it was begun: nothing of it is kept."""
        self._queue.discard(attempt)

    async def close(self, patience: float) -> None:
        """End every runner; those that do not end within `patience` seconds are abandoned."""
        self._is_closed = True
        self._queue.clear()
        runners = set(self._runners)
        for runner in runners:
            runner.cancel()
        if not runners:
            return
        _, stubborn = await asyncio.wait(runners, timeout=patience)
        for runner in stubborn:
            # `asyncio.run` waits for ever for every task that it knows. The asyncio documentation
            # names this function for libraries that manage tasks themselves.
            asyncio._unregister_task(runner)  # noqa: SLF001
            runner._log_destroy_pending = False  # type: ignore[attr-defined] # noqa: SLF001

    def _wake(self) -> None:
        self._is_waking = True
        while self._idle:
            idle = self._idle.pop()
            if not idle.done():
                idle.set_result(None)
                return
        loop = asyncio.get_running_loop()
        runner = loop.create_task(self._live(), context=self._around.copy())
        self._runners.add(runner)
        runner.add_done_callback(self._runners.discard)

    async def _live(self) -> None:
        runner = asyncio.current_task()
        assert runner is not None
        fresh = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        try:
            while True:
                self._is_waking = False
                if not await self._work(runner, fresh) or len(self._idle) >= _KEPT:
                    return
                if self._queue.count and not self._is_waking:
                    self._wake()
                idle = loop.create_future()
                self._idle.append(idle)
                await idle
        finally:
            self._is_waking = False
            if self._queue.count and not self._is_closed:
                self._wake()

    async def _work(  # noqa: C901 - one arm for each way to end
        self, runner: asyncio.Task[None], fresh: contextvars.Context
    ) -> bool:
        """Run the waiting attempts, and return whether the runner can be reused."""
        queue = self._queue
        for _ in range(_IN_ONE_GO):
            if not queue.count:
                break
            attempt = queue.take()
            if attempt.is_asked_to_stop or attempt.is_settled:
                queue.left(attempt)
                continue
            if queue.count and not self._is_waking:
                self._wake()
            attempt.runner = runner
            executor = attempt.executor
            if executor is None or not executor.queues:
                self._begin(attempt)
            # Reset for each: a task that it leaves behind must not write for the next one. A
            # built-in task hands over its own lines.
            is_captured = attempt.wrote is not None and executor is None
            token = CURRENT.set(attempt) if is_captured else None
            try:
                value = await attempt.work(self._begin)
            except GeneratorExit:
                # The loop is closed: no outcome can be reported.
                raise
            except asyncio.CancelledError as error:
                if runner.cancelling() and not attempt.is_told_to_stop:
                    self._settle_unless_loop_ends(attempt, error)
                    raise
                outcome: Outcome = attempt.failed(error)
            except BaseException as error:  # noqa: BLE001 - SystemExit of a task is the task's failure
                outcome = attempt.failed(error)
            else:
                outcome = attempt.succeeded(value, self._limit)
            finally:
                if executor is not None:
                    queue.left(attempt)
            if token is not None:
                CURRENT.reset(token)
            self._settle(attempt, outcome)
            if runner.cancelling() or contextvars.copy_context() != fresh:
                return False
        return True

    def _settle_unless_loop_ends(self, attempt: Attempt, error: BaseException) -> None:
        """The runner was cancelled from outside: by the task itself, or by the end of the loop.

        When the loop ends, the attempt has no outcome: it is lost with its process. A timer that
        still fires shows that the loop goes on.
        """
        outcome = attempt.failed(error)
        self._clock.call_later(_SETTLING_SECONDS, lambda: self._settle(attempt, outcome))
