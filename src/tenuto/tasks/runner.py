"""Runs attempts of in-process tasks, and reports the outcome of each exactly once.

Reports come from the event loop, never from within `start` or `stop`. There is no second report of
an attempt: a result after the time-out is ignored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import Context
from typing import Protocol, cast

from msgspec.structs import replace

from tenuto.built_in.protocol import Executors
from tenuto.model.causes import ProcessBound
from tenuto.model.effects import StartAttempt
from tenuto.model.errors import StoreUnavailable
from tenuto.model.failure import SECRET_UNREADABLE, UNKNOWN_TASK, Failure
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.json import JSON
from tenuto.model.policy import DEFAULT_CANCEL_GRACE, OUTAGE_RETRY_SECONDS, Limits
from tenuto.model.task_logs import LogChunk
from tenuto.ports import Clock
from tenuto.tasks.attempt import Attempt, Key, Outcome, Place
from tenuto.tasks.attempt_bounds import AttemptBounds
from tenuto.tasks.context import Facts
from tenuto.tasks.coroutines import Coroutines
from tenuto.tasks.deadlines import Deadlines
from tenuto.tasks.failures import cancelled
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.processes import Processes
from tenuto.tasks.registry import Registry
from tenuto.tasks.secrets import FilledInput, Secrets
from tenuto.tasks.threads import Threads

_log = logging.getLogger("tenuto.tasks")

_LINES_EVERY = 0.5
"""Seconds in which the lines of a running attempt are collected."""
_MOST_NAMED = 5
"""Tasks that are named when they are waited for."""
_PATIENCE = 1.0
"""Seconds that attempts have to end after their grace period."""


class Report(Protocol):
    """The receiver of the outcomes of attempts."""

    def __call__(self, instance_id: str, report: TaskSucceeded | TaskFailed) -> None: ...


class Lines(Protocol):
    """The receiver of lines that attempts log and print."""

    def __call__(self, key: Key, chunk: LogChunk) -> None: ...


class Runner:
    """The in-process executors of an engine."""

    def __init__(  # noqa: PLR0913 - one for each bound and receiver
        self,
        registry: Registry,
        clock: Clock,
        report: Report,
        *,
        limits: Limits,
        max_threads: int = 32,
        max_stuck_threads: int = 32,
        max_processes: int | None = None,
        on_block: Callable[[str], None] | None = None,
        lines: Lines | None = None,
        executors: Executors | None = None,
        secrets: Secrets | None = None,
        max_attempts: int | None = None,
    ) -> None:
        """`lines` gets those of an attempt while it runs, and the last before its outcome.

        `executors` do the work of built-in tasks. `secrets` fills in those of inputs; None: there
        are none in them. `max_attempts` of tasks that are not built in run at once; None: any
        number.
        """
        self._secrets = secrets
        self._bounds = AttemptBounds(self._run, max_attempts)
        self._has_bound = max_attempts is not None
        self._filling: dict[Key, asyncio.Task[None]] = {}
        self._executors = executors or {}
        self._lines = lines
        self._on_lines = None if lines is None else self._wrote
        self._loop: asyncio.AbstractEventLoop | None = None
        self._registry = registry
        self._clock = clock
        self._ticks = clock.ticks
        self._report = report
        self._attempts: dict[Key, Attempt] = {}
        self._deadlines = Deadlines(clock, self._attempts, self._expire)
        limit = limits.output_bytes
        self._coroutines = Coroutines(clock, self._deadlines.begin, self._settle, limit)
        self._threads = Threads(
            self._deadlines.begin,
            self._settle,
            output_limit=limit,
            max_threads=max_threads,
            max_stuck=max_stuck_threads,
            on_block=on_block,
        )
        self._processes = Processes(
            clock, self._deadlines.begin, self._settle, output_limit=limit, most=max_processes
        )
        self._is_draining = False
        self._all_ended: asyncio.Future[None] | None = None

    @property
    def task_ids(self) -> list[str]:
        """The tasks that it has."""
        return [*self._registry]

    def report_through(self, way: Callable[[Report], Report]) -> None:
        """Let outcomes take another way, made from the one that they have taken so far."""
        self._report = way(self._report)

    @property
    def in_flight(self) -> int:
        """Attempts that were started and not yet reported."""
        return len(self._attempts)

    @property
    def before_loop(self) -> tuple[int, int]:
        """Asynchronous attempts that have not begun, since the event loop is busy with others.

        And how many of them come before one of a tenant that has no other.
        """
        return self._coroutines.waiting

    @property
    def stuck_threads(self) -> int:
        """Threads whose attempt has timed out and that have not returned."""
        return self._threads.stuck

    @property
    def stuck_coroutines(self) -> int:
        """Asynchronous attempts that have timed out and ignore their cancellation."""
        return self._coroutines.stuck

    def start(self, instance_id: str, order: StartAttempt, facts: Facts) -> None:
        """Run an attempt and report its outcome later. Never blocks, never raises.

        An attempt that is already in flight is not started again.
        """
        key = (instance_id, order.node, order.iteration, order.attempt)
        if key in self._attempts or self._is_draining:
            return
        built_in = facts.built_in
        executor = None if built_in is None else self._executors.get(type(built_in.config))
        task = self._registry.get(order.task_id) if built_in is None else _PLACEHOLDER
        if task is None or (built_in is not None and executor is None):
            self._refuse(key, order, facts)
            return
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        attempt = Attempt(
            key, order, facts, task, self._ticks, wrote=self._on_lines, executor=executor
        )
        self._attempts[key] = attempt
        if order.secrets and self._secrets is not None:
            # Nothing of what follows is code of the attempt.
            filling = self._fill(attempt, self._secrets)
            self._filling[key] = asyncio.get_running_loop().create_task(filling, context=Context())
        else:
            self._begin(attempt)

    def _begin(self, attempt: Attempt) -> None:
        """Run an attempt, whose input is complete."""
        if attempt.executor is not None:
            attempt.place = self._coroutines
            self._coroutines.add(attempt)
            return
        task = attempt.task
        check = task.check_input
        if check is not None and (misfit := check(attempt.given).failure) is not None:
            self._fail_soon(attempt, misfit)
            return
        attempt.is_bounded = self._has_bound or task.at_most is not None
        if not attempt.is_bounded or self._bounds.admits(attempt):
            self._run(attempt)

    def _run(self, attempt: Attempt) -> None:
        """Run an attempt that is within the bounds of the process."""
        task = attempt.task
        if task.isolation == "process":
            place: Place = self._processes
        else:
            place = self._coroutines if task.is_async else self._threads
        attempt.place = place
        place.add(attempt)

    async def _fill(self, attempt: Attempt, secrets: Secrets) -> None:
        """Run an attempt once the values of its secrets are in its input."""
        built_in = attempt.facts.built_in
        config = None if built_in is None else built_in.config
        filled: FilledInput | Failure | None = None
        while filled is None:
            try:
                filled = await secrets.fill(attempt.facts.tenant, attempt.order, config)
            except StoreUnavailable:
                # It has not begun, so that its time does not count.
                await self._clock.sleep(OUTAGE_RETRY_SECONDS)
            except Exception as error:  # noqa: BLE001 - logged with its traceback
                # No time-out would end it: it has not begun.
                _log.exception("the secrets of an attempt are not filled in")
                said = f"its secrets cannot be filled in: {type(error).__name__}"
                filled = Failure(code=SECRET_UNREADABLE, message=said)
        if attempt.is_settled:
            return
        del self._filling[attempt.key]
        if isinstance(filled, Failure):
            self._settle(attempt, attempt.failed(filled))
            return
        attempt.order = replace(attempt.order, input=filled.value)
        attempt.secret_values = filled.secret_values
        self._begin(attempt)

    def stop(
        self, instance_id: str, node: str, iteration: str, attempt: int, grace: float | None = None
    ) -> None:
        """Ask an attempt to stop; no effect if it is not in flight.

        Asynchronous tasks are cancelled, threads see `ctx.cancelled`, child processes see it and
        are killed after `grace` seconds.
        """
        found = self._attempts.get((instance_id, node, iteration, attempt))
        if found is None or found.is_asked_to_stop:
            return
        found.is_asked_to_stop = True
        if not found.has_begun:
            outcome = found.failed(cancelled())
            asyncio.get_running_loop().call_soon(self._give_up, found, outcome)
        elif found.place is not None:
            seconds = DEFAULT_CANCEL_GRACE.total_seconds() if grace is None else grace
            found.place.stop(found, seconds)

    def is_queued(self, key: Key) -> bool:
        """Whether an attempt was started, but its task does not run yet."""
        attempt = self._attempts.get(key)
        return attempt is not None and not attempt.has_begun

    def queued(self, instance_id: str) -> frozenset[tuple[str, str, int]]:
        """Node, iteration and attempt of those of an instance that were started and wait."""
        return frozenset(
            key[1:]
            for key, attempt in self._attempts.items()
            if key[0] == instance_id and not attempt.has_begun
        )

    def room(self, task_id: str) -> int | None:
        """How many attempts of a task would begin now within its bounds; None: any number."""
        task = self._registry.get(task_id)
        return self._bounds.room(task_id, None if task is None else task.at_most)

    def keep_place(self, task_id: str) -> None:
        """Let a task take turns for a place, with which an attempt of it can be claimed."""
        task = self._registry.get(task_id)
        if task is not None:
            self._bounds.keep_place(task_id, task.at_most)

    def give_back(self, task_ids: Iterable[str]) -> None:
        """The claim of attempts of these tasks is over: what is still kept for them is free."""
        self._bounds.give_back(task_ids)

    def bounded(self, instance_id: str) -> dict[tuple[str, str, int], ProcessBound]:
        """Node, iteration and attempt of those that wait for a bound of the process → which."""
        return self._bounds.waits(instance_id)

    def on_room(self, freed: Callable[[], None]) -> None:
        """`freed` is called when another attempt may begin within the bounds of the process."""
        self._bounds.freed = freed

    def places(self, instance_id: str) -> frozenset[tuple[str, str, int]]:
        """Node, iteration and attempt of those of an instance that are in flight here."""
        return frozenset(key[1:] for key in self._attempts if key[0] == instance_id)

    def last_heartbeat(self, key: Key) -> object:
        """The details of the last heartbeat of an attempt in flight; None if it had none."""
        attempt = self._attempts.get(key)
        if attempt is None or self._secrets is None:
            return None if attempt is None else attempt.details
        # What is no JSON is shown as it is.
        details = cast("JSON", attempt.details)
        return self._secrets.shown(attempt.facts.tenant, details)

    def silences(self, instance_id: str) -> dict[tuple[str, str, int], float]:
        """Node, iteration and attempt → seconds since the last heartbeat.

        Only of running attempts whose task has a `heartbeat_timeout`.
        """
        now = self._clock.ticks()
        return {
            key[1:]: max(now - attempt.beat_at, 0.0)
            for key, attempt in self._attempts.items()
            if key[0] == instance_id
            and attempt.has_begun
            and attempt.order.heartbeat_timeout is not None
        }

    def abandon(self, instance_id: str | None = None) -> int:
        """End all attempts, or those of one instance, without a report; returns how many.

        They already count as lost.
        """
        attempts = [
            attempt
            for key, attempt in self._attempts.items()
            if instance_id is None or key[0] == instance_id
        ]
        self._forget(attempts)
        if not self._attempts:
            self._deadlines.rest()
        return len(attempts)

    async def drain(self, grace: float) -> int:
        """Shut down: give running attempts `grace` seconds to end, then end them without a report.

        Attempts that have not begun are dropped at once. Returns how many attempts were left
        without a report; they are in the log, and the next engine starts them.
        """
        self._is_draining = True
        self._bounds.forget_waiting()
        queued = [attempt for attempt in self._attempts.values() if not attempt.has_begun]
        self._forget(queued)
        if self._attempts:
            _log.info("waiting up to %g s for %s", grace, _named(self._attempts.values()))
            self._all_ended = asyncio.get_running_loop().create_future()
            timer = self._clock.call_later(grace, self._end_waiting)
            await self._all_ended
            timer.cancel()
        running = list(self._attempts.values())
        self._forget(running)
        self._deadlines.rest()
        await self._coroutines.close(_PATIENCE)
        self._threads.close()
        await self._processes.close(_PATIENCE)
        return len(queued) + len(running)

    def _refuse(self, key: Key, order: StartAttempt, facts: Facts) -> None:
        near = () if facts.built_in is not None else self._registry.nearest(order.task_id)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        failure = Failure(
            code=UNKNOWN_TASK,
            message=f"no task is registered as {order.task_id!r}{hint}",
            retryable=False,
        )
        attempt = Attempt(key, order, facts, _PLACEHOLDER, self._ticks)
        self._attempts[key] = attempt
        self._fail_soon(attempt, failure)

    def _fail_soon(self, attempt: Attempt, failure: Failure) -> None:
        """Fail an attempt that does not begin; never from within `start`."""
        loop = asyncio.get_running_loop()
        loop.call_soon(self._settle, attempt, attempt.failed(failure))

    def _settle(self, attempt: Attempt, outcome: Outcome) -> None:
        """The one place where an attempt gets its outcome; a second one is ignored."""
        if attempt.is_settled:
            return
        attempt.is_settled = True
        del self._attempts[attempt.key]
        if self._filling:
            self._stop_filling(attempt)
        if attempt.is_bounded:
            self._bounds.left(attempt)
        if not self._attempts:
            self._deadlines.rest()
            self._end_waiting()
        if attempt.has_lines:
            self._hand_over_lines(attempt)
        try:
            if self._secrets is not None:
                outcome = self._secrets.outcome(attempt.facts.tenant, outcome)
            self._report(attempt.key[0], outcome)
        except Exception:  # noqa: BLE001 - logged with its traceback
            # Raised further, it would end the runner with other attempts.
            _log.exception("the report of an attempt was not taken")

    def _give_up(self, attempt: Attempt, outcome: Outcome) -> None:
        """Settle an attempt that has not begun; a built-in one may wait for its place."""
        self._settle(attempt, outcome)
        if attempt.runner is None:
            self._coroutines.discard(attempt)
        elif not attempt.has_begun:
            self._coroutines.abandon(attempt)

    def _wrote(self, attempt: Attempt) -> None:
        """An attempt, in any thread, has lines that can be handed over."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                # Not in the context of the attempt: what follows is none of its code.
                loop.call_soon_threadsafe(self._hand_over_soon, attempt, context=Context())

    def _hand_over_soon(self, attempt: Attempt) -> None:
        if not attempt.is_settled:
            self._clock.call_later(_LINES_EVERY, lambda: self._hand_over_lines(attempt))

    def _hand_over_lines(self, attempt: Attempt) -> None:
        if self._lines is None:
            return
        chunk = attempt.lines(self._clock.now, is_last=attempt.is_settled)
        if chunk is not None:
            if self._secrets is not None:
                chunk = self._secrets.lines(attempt.facts.tenant, chunk)
            self._lines(attempt.key, chunk)

    def _expire(self, attempt: Attempt, failure: Failure) -> None:
        self._settle(attempt, attempt.failed(failure))
        if attempt.place is not None:
            attempt.place.abandon(attempt)

    def _forget(self, attempts: list[Attempt]) -> None:
        for attempt in attempts:
            # First all that wait: the end of another one must not let them begin.
            self._bounds.drop(attempt)
        for attempt in attempts:
            attempt.is_settled = True
            del self._attempts[attempt.key]
            self._stop_filling(attempt)
            self._bounds.left(attempt)
            self._hand_over_lines(attempt)
            # One of a built-in task may wait in a coroutine before it begins.
            is_under_way = attempt.has_begun or attempt.runner is not None
            if attempt.place is not None and is_under_way:
                attempt.place.abandon(attempt)
            elif attempt.runner is None:
                self._coroutines.discard(attempt)

    def _stop_filling(self, attempt: Attempt) -> None:
        filling = self._filling.pop(attempt.key, None)
        if filling is not None:
            filling.cancel()

    def _end_waiting(self) -> None:
        if self._all_ended is not None and not self._all_ended.done():
            self._all_ended.set_result(None)


def _named(attempts: Iterable[Attempt]) -> str:
    """The tasks that run, each with a step of its own; the first few of many."""
    named = [
        f"task {each.order.task_id!r} (step {each.order.node} of {each.key[0]})"
        for each in attempts
    ]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more


def _placeholder() -> None:
    """The placeholder for the task of an attempt whose task is not registered."""


_PLACEHOLDER = TaskFunction(_placeholder)
