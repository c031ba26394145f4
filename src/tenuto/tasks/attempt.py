"""One attempt in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from math import inf
from threading import RLock
from typing import Any, Protocol

from msgspec import Struct

from tenuto.built_in.protocol import Call, Executor, Failed
from tenuto.model.effects import StartAttempt
from tenuto.model.failure import UNKNOWN_HANDLE, Failure
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.json import JSON, Object
from tenuto.model.task_logs import LogChunk, cleaned, cleaned_name
from tenuto.tasks.attempt_log import AttemptLog, Line
from tenuto.tasks.context import Cancelled, Context, Facts
from tenuto.tasks.failures import Refused, cancelled, failure_of
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.output import Result, delay_ms, to_json
from tenuto.tasks.undo import Undo

Key = tuple[str, str, str, int]
"""Instance, node, iteration, attempt."""
Outcome = TaskSucceeded | TaskFailed
_making = RLock()
"""Threads of an attempt may print their first lines at once, and a finalizer while one is noted."""


class Place(Protocol):
    """Where attempts run: the event loop, threads, or child processes. Used from the loop alone."""

    def add(self, attempt: Attempt) -> None:
        """Run it as soon as there is capacity."""
        ...

    def stop(self, attempt: Attempt, grace: float) -> None:
        """Forward the request to stop to a running attempt."""
        ...

    def abandon(self, attempt: Attempt) -> None:
        """Its outcome is settled: end it if possible, and continue without it."""
        ...


class Attempt(Struct, eq=False):
    """The state of an attempt between its start and its outcome.

    Changed only from the loop, except for the heartbeat, which is one assignment from any thread.
    """

    key: Key
    order: StartAttempt
    facts: Facts
    task: TaskFunction[..., Any]
    ticks: Callable[[], float]
    wrote: Callable[[Attempt], None] | None = None
    """Called, from any thread, when it has lines to take; None: none are kept."""
    executor: Executor | None = None
    """Does the work of a built-in task."""
    is_bounded: bool = False
    """Whether it counts for a bound of the process."""
    secret_values: tuple[str, ...] = ()
    """The values of secrets in its input."""
    place: Place | None = None
    runner: asyncio.Task[None] | None = None
    has_begun: bool = False
    began_at: float = 0.0
    is_asked_to_stop: bool = False
    is_settled: bool = False
    due: float = inf
    beat_at: float = inf
    details: object = None
    has_lines: bool = False
    """Whether it has logged or printed anything."""
    _log: AttemptLog | None = None

    @property
    def keeps_lines(self) -> bool:
        """Whether its lines are kept."""
        return self.wrote is not None

    @property
    def log(self) -> AttemptLog:
        """The lines that it logs and prints; made for the first of them."""
        if self._log is None:
            with _making:
                made = AttemptLog(self.ticks, self._ready)
                if self._log is None:
                    self._log = made
                    self.has_lines = True
        return self._log

    def lines(self, now: Callable[[], datetime], *, is_last: bool) -> LogChunk | None:
        """Its lines since they were asked for before; None where there are none."""
        log = self._log
        if log is None:
            return None
        lines = log.end() if is_last else log.take()
        return log.chunk(lines, now()) if lines else None

    def _ready(self) -> None:
        if self.wrote is not None:
            self.wrote(self)

    @property
    def is_told_to_stop(self) -> bool:
        # The outcome is settled: a late result is ignored.
        return self.is_asked_to_stop or self.is_settled

    @property
    def execution_time(self) -> int | None:
        """Milliseconds since its task began; None if it has not."""
        return round((self.ticks() - self.began_at) * 1000) if self.has_begun else None

    def beat(self, details: object) -> None:
        self.beat_at = self.ticks()
        self.details = details

    def previous_outputs(self) -> Object:
        return self.facts.previous_outputs()

    @property
    def given(self) -> JSON:
        """The argument of the function: the input, or the output of the step that it undoes."""
        undo = self.facts.undo
        if undo is None or self.task.undoes is None:
            return self.order.input
        return undo.given(self.order.input)

    def undo(self) -> Undo | None:
        undo = self.facts.undo
        return None if undo is None else undo.undo(self.order.iteration)

    def context(self) -> Context:
        order, facts = self.order, self.facts
        return Context(
            instance_id=self.key[0],
            step_id=order.node,
            attempt=order.attempt,
            idempotency_key=order.idempotency_key,
            correlation_id=facts.correlation_id,
            deadline=facts.deadline,
            traceparent=facts.traceparent,
            link=self,
        )

    def work(self, begin: Callable[..., None]) -> Awaitable[object]:
        """What an asynchronous task does; `begin` counts the time of one that has waited."""
        if self.executor is not None:
            return self.executor.run(self._call(begin))
        binding = self.task.binding
        context = self.context() if binding.takes_context else None
        given = self.order.input if self.facts.undo is None else self.given
        awaited: Awaitable[object] = binding.call(context, given)
        return awaited

    def _call(self, begin: Callable[..., None]) -> Call:
        """The call of a built-in task; `begin` counts its time."""
        order, facts = self.order, self.facts
        assert facts.built_in is not None
        return Call(
            tenant=facts.built_in.tenant,
            instance_id=self.key[0],
            step_id=order.node,
            iteration=order.iteration,
            attempt=order.attempt,
            idempotency_key=order.idempotency_key,
            seconds=order.timeout.total_seconds(),
            config=facts.built_in.config,
            given=order.input,
            scope=facts.built_in.scope,
            log=self._note,
            begin=partial(begin, self),
            secret_values=self.secret_values,
            traceparent=facts.traceparent,
        )

    def _note(self, level: str, text: str, seconds_ago: float = 0.0) -> None:
        """Keep a line of a built-in task."""
        if self.keeps_lines:
            lines = text.split("\n")
            now = self.ticks() - seconds_ago
            self.log.extend([Line(now, cleaned(each), None, cleaned_name(level)) for each in lines])

    def succeeded(self, value: object, limit: int) -> Outcome:
        """The outcome of an attempt whose function returned `value`."""
        order = self.order
        handle, delay = "default", 0
        try:
            if type(value) is Result:
                handle, delay = checked_handle(value.handle, order), delay_ms(value.delay)
                value = value.output
            output = to_json(value, limit)
        except Exception as error:  # noqa: BLE001 - what a task returns may raise when looked at
            return self.failed(error)
        return TaskSucceeded(
            node=order.node,
            attempt=order.attempt,
            output=output,
            iteration=order.iteration,
            handle=handle,
            execution_time=round((self.ticks() - self.began_at) * 1000) if self.has_begun else None,
            delay=delay,
        )

    def failed(self, error: BaseException | Failure) -> TaskFailed:
        """The outcome of an attempt that raised."""
        retry_after = None
        if isinstance(error, Failure):
            failure = error
        elif isinstance(error, Failed):
            failure, retry_after = error.failure, error.retry_after
        elif self.is_told_to_stop and isinstance(error, asyncio.CancelledError | Cancelled):
            failure = cancelled()
        else:
            failure = failure_of(error)
        order = self.order
        return TaskFailed(
            node=order.node,
            attempt=order.attempt,
            error=failure,
            iteration=order.iteration,
            execution_time=self.execution_time,
            retry_after=retry_after,
        )


def checked_handle(handle: str, order: StartAttempt) -> str:
    known = ("default", "error", *order.handles)
    if handle not in known:
        message = f"the task answered with handle {handle!r}; this node has {', '.join(known)}"
        failure = Failure(code=UNKNOWN_HANDLE, message=message, retryable=False, was_done=True)
        raise Refused(failure)
    return handle
