"""A task that a worker has claimed and not reported yet."""

from __future__ import annotations

from datetime import timedelta

from msgspec import UNSET

from tenuto.model.effects import StartAttempt
from tenuto.model.errors import TaskError
from tenuto.model.executions import (
    LOGS,
    MOST_OUTPUT_BYTES,
    WORKER,
    ClaimedTask,
    ReportedError,
    TaskReport,
)
from tenuto.model.failure import TOO_LARGE
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.json import Object
from tenuto.model.policy import DEFAULT_TIMEOUT, NO_POLICY, TaskPolicy
from tenuto.model.task_logs import LogChunk, LogLine
from tenuto.tasks.attempt import Key
from tenuto.tasks.context import Facts
from tenuto.tasks.undo import UndoFacts

_BEATS_PER_LEASE = 3


class HeldTask:
    """A claimed task and its lease. Times are by the worker's own monotonic clock."""

    def __init__(
        self,
        task: ClaimedTask,
        lease: timedelta,
        now: float,
        policy: TaskPolicy = NO_POLICY,
        worker_id: str | None = None,
    ) -> None:
        """`policy`: that of its function, for an attempt that was ordered before it was known."""
        self.task = task
        self._worker_id = worker_id if WORKER in task.reports else None
        self._policy = policy
        bounds = (lease.total_seconds(), task.timeout, task.heartbeat_timeout)
        self._seconds = min(bound for bound in bounds if bound is not None)
        self.is_cancelled = False
        self._lines: list[LogLine] = []
        self._sent = 0
        """How many lines of the attempt the server has."""
        self._takes_lines = LOGS in task.reports
        self.beats_with_lines = True
        """False: a heartbeat with lines was refused; they wait for the report."""
        self.extended(now)

    def extended(self, now: float) -> None:
        """The lease was extended, from now at the latest."""
        self.over_at = now + self._seconds
        """When the lease is surely over, unless it is extended."""
        self.beat_at = now + self._seconds / _BEATS_PER_LEASE

    def asked(self, now: float) -> None:
        """A heartbeat is sent: another one follows, if it is not answered by then."""
        self.beat_at = now + self._seconds / _BEATS_PER_LEASE

    def put_off(self, now: float) -> None:
        """A heartbeat failed: another one follows soon."""
        self.beat_at = now + min(self._seconds / _BEATS_PER_LEASE, 1.0)

    def wrote(self, chunk: LogChunk) -> None:
        """The attempt has logged or printed lines."""
        if self._takes_lines:
            self._lines += chunk.lines

    @property
    def logs(self) -> LogChunk | None:
        """The lines that the server does not have yet."""
        return LogChunk(first=self._sent, lines=tuple(self._lines)) if self._lines else None

    def drop_lines(self) -> None:
        """Report the task without its lines: they are not worth its result."""
        self._takes_lines = False
        self._lines.clear()

    def have_arrived(self, logs: LogChunk) -> None:
        """The server has these lines."""
        count = logs.first + len(logs.lines) - self._sent
        if count > 0:
            del self._lines[:count]
            self._sent += count

    @property
    def log_keys(self) -> str:
        """The task, as log lines name it."""
        task = self.task
        return f"task={task.task_id} instance={task.instance_id} step={task.step_id}"

    @property
    def key(self) -> Key:
        task = self.task
        return (task.instance_id, task.step_id, task.iteration, task.attempt)

    @property
    def order(self) -> StartAttempt:
        """The attempt, as the runner takes it."""
        task = self.task
        timeout = DEFAULT_TIMEOUT if task.timeout is None else timedelta(seconds=task.timeout)
        if timeout == DEFAULT_TIMEOUT and self._policy.timeout is not None:
            timeout = self._policy.timeout
        silence = self._policy.heartbeat_timeout
        if task.heartbeat_timeout is not None:
            silence = timedelta(seconds=task.heartbeat_timeout)
        return StartAttempt(
            node=task.step_id,
            iteration=task.iteration,
            attempt=task.attempt,
            task_id=task.task_id,
            input=task.input,
            idempotency_key=task.idempotency_key,
            timeout=timeout,
            heartbeat_timeout=silence,
            handles=task.handles,
        )

    @property
    def facts(self) -> Facts:
        """The context of the function."""
        undo = self.task.undo
        return Facts(
            correlation_id=self.task.context.correlation_id,
            deadline=self.task.context.deadline,
            traceparent=self.task.context.traceparent,
            previous_outputs=self._previous_outputs,
            undo=None
            if undo is None
            else UndoFacts(
                step_id=undo.step_id,
                has_input=undo.has_input,
                output=undo.output,
                everything=self._everything,
            ),
        )

    def _previous_outputs(self) -> Object:
        size = self.task.previous_outputs_bytes
        if size is not None:
            raise TaskError(
                TOO_LARGE,
                f"the outputs of the steps before are {size:,} bytes of JSON; a worker outside is "
                f"handed at most {MOST_OUTPUT_BYTES:,}: give the step what it needs as its input",
                retryable=False,
            )
        return self.task.previous_outputs or {}

    def _everything(self) -> Object:
        given = self.task.input
        has_all = self.task.undo is not None and not self.task.undo.has_input
        return given if has_all and isinstance(given, dict) else {}

    def report(self, outcome: TaskSucceeded | TaskFailed) -> TaskReport:
        """The outcome as a report for the server."""
        id, token = self.task.execution_id, self.task.lease_token
        took = outcome.execution_time if "executionTime" in self.task.reports else None
        if isinstance(outcome, TaskFailed):
            failure = outcome.error
            error = ReportedError(
                code=failure.code,
                message=failure.message,
                details=failure.details,
                retryable=failure.retryable,
            )
            return TaskReport(
                execution_id=id,
                lease_token=token,
                output=UNSET,
                error=error,
                execution_time=took,
                logs=self.logs,
                worker_id=self._worker_id,
            )
        handle = None if outcome.handle == "default" else outcome.handle
        return TaskReport(
            execution_id=id,
            lease_token=token,
            output=outcome.output,
            next_handle=handle,
            execution_time=took,
            # A server that does not know it refuses the report: it would follow too early.
            delay=outcome.delay or None,
            logs=self.logs,
            worker_id=self._worker_id,
        )
