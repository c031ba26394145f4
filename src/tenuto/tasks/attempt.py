"""One attempt in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from math import inf
from threading import RLock
from typing import Any, Protocol

from tenuto.model.effects import StartAttempt
from tenuto.model.failure import UNKNOWN_HANDLE, Failure
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.json import JSON, Object
from tenuto.model.task_logs import LogChunk
from tenuto.tasks.attempt_log import AttemptLog
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


class Attempt:
    """The state of an attempt between its start and its outcome.

    Changed only from the loop, except for the heartbeat, which is one assignment from any thread.
    """

    __slots__ = (
        "_log",
        "_ticks",
        "_wrote",
        "beat_at",
        "began_at",
        "details",
        "due",
        "facts",
        "has_begun",
        "has_lines",
        "is_asked_to_stop",
        "is_settled",
        "keeps_lines",
        "key",
        "order",
        "place",
        "runner",
        "task",
    )

    def __init__(
        self,
        key: Key,
        order: StartAttempt,
        facts: Facts,
        task: TaskFunction[..., Any],
        ticks: Callable[[], float],
        *,
        wrote: Callable[[Attempt], None] | None = None,
    ) -> None:
        """`wrote` is called, from any thread, when it has lines to take; None: none are kept."""
        self.key = key
        self.order = order
        self.facts = facts
        self.task = task
        self.place: Place | None = None
        self.runner: asyncio.Task[None] | None = None
        self.has_begun = False
        self.began_at = 0.0
        self.is_asked_to_stop = False
        self.is_settled = False
        self.due = inf
        self.beat_at = inf
        self.details: object = None
        self.keeps_lines = wrote is not None
        self.has_lines = False
        """Whether it has logged or printed anything."""
        self._wrote = wrote
        self._log: AttemptLog | None = None
        self._ticks = ticks

    @property
    def log(self) -> AttemptLog:
        """The lines that it logs and prints; made for the first of them."""
        if self._log is None:
            with _making:
                made = AttemptLog(self._ticks, self._ready)
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
        if self._wrote is not None:
            self._wrote(self)

    @property
    def is_told_to_stop(self) -> bool:
        # The outcome is settled: a late result is ignored.
        return self.is_asked_to_stop or self.is_settled

    @property
    def execution_time(self) -> int | None:
        """Milliseconds since its task began; None if it has not."""
        return round((self._ticks() - self.began_at) * 1000) if self.has_begun else None

    def beat(self, details: object) -> None:
        self.beat_at = self._ticks()
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
            execution_time=self.execution_time,
            delay=delay,
        )

    def failed(self, error: BaseException | Failure) -> TaskFailed:
        """The outcome of an attempt that raised."""
        if isinstance(error, Failure):
            failure = error
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
        )


def checked_handle(handle: str, order: StartAttempt) -> str:
    known = ("default", "error", *order.handles)
    if handle not in known:
        message = f"the task answered with handle {handle!r}; this node has {', '.join(known)}"
        failure = Failure(code=UNKNOWN_HANDLE, message=message, retryable=False, was_done=True)
        raise Refused(failure)
    return handle
