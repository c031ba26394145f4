"""Reports the outcomes of tasks to the server, in batches, until it has taken each.

A result is dropped only when its lease is over, since it would not count then. A batch that the
server refuses as a whole is sent again, in smaller batches where its content may be the reason.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.executions import ReportAnswer, TaskReport
from tenuto.model.failure import NOT_STORABLE, TOO_LARGE, Failure
from tenuto.model.inputs import TaskFailed
from tenuto.ports import Clock
from tenuto.worker.broker_client import BrokerClient, NotTaken, TooLarge
from tenuto.worker.held_task import HeldTask

log = logging.getLogger("tenuto.worker")

MOST_REPORTED = 200
MOST_BYTES = 8_000_000
"""The largest batch, unless one result alone is larger."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_UNPROCESSABLE = 422
_DONE = (200, 404, 409)
"""Statuses after which a task need not be reported again."""


class _Result(NamedTuple):
    held: HeldTask
    report: TaskReport
    size: int


class Reporter:
    """Results on their way to the server."""

    def __init__(
        self, broker: BrokerClient, clock: Clock, settled: Callable[[HeldTask], None]
    ) -> None:
        """`settled` is called when a task need not be reported again."""
        self._broker = broker
        self._clock = clock
        self._settled = settled
        self._results: deque[_Result] = deque()
        self._is_sending = False
        self._most = MOST_REPORTED
        self._has_results = asyncio.Event()
        self._is_last = asyncio.Event()
        """Set when there is little time left."""
        self._is_done = asyncio.Event()
        self._is_done.set()

    def add(self, held: HeldTask, report: TaskReport) -> None:
        """Report a task."""
        self._results.append(_result(held, report))
        self._is_done.clear()
        self._has_results.set()

    def drop(self, held: HeldTask) -> None:
        """Do not report a task: its lease is lost."""
        self._results = deque(each for each in self._results if each.held is not held)
        self._rest()

    def give_up(self) -> None:
        """End `finish` now."""
        if self._is_last.is_set():
            self._is_done.set()

    async def finish(self, seconds: float) -> None:
        """Wait until everything is reported, for so many seconds."""
        self._is_last.set()
        await self._clock.wait(self._is_done, seconds)

    async def run(self) -> None:
        """Send reports until cancelled."""
        pause = _FIRST_PAUSE
        while True:
            await self._has_results.wait()
            try:
                await self._run_once()
                pause = _FIRST_PAUSE
            except TenutoError as error:
                log.warning("results not reported yet results=%d: %s", len(self._results), error)
                if self._is_last.is_set():
                    await self._clock.sleep(_FIRST_PAUSE)
                else:
                    await self._clock.wait(self._is_last, pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    async def _run_once(self) -> None:
        self._drop_what_is_over()
        batch = self._next_batch()
        self._is_sending = bool(batch)
        try:
            if batch:
                await self._send(batch)
        finally:
            self._is_sending = False
            self._rest()

    async def _send(self, batch: list[_Result]) -> None:
        try:
            answers = await self._broker.report([each.report for each in batch])
        except NotTaken as error:
            self._refused(batch, error)
            return
        except TenutoError:
            self._again(batch)
            raise
        self._most = min(self._most * 2, MOST_REPORTED)
        left = [
            each
            for each, answer in zip(batch, answers, strict=True)
            if not self._is_settled(each, answer)
        ]
        if left:
            self._again(left)
            raise StoreUnavailable(f"{len(left)} results were not taken")

    def _next_batch(self) -> list[_Result]:
        batch: list[_Result] = []
        size = 0
        while self._results and len(batch) < self._most:
            size += self._results[0].size
            if batch and size > MOST_BYTES:
                break
            batch.append(self._results.popleft())
        return batch

    def _refused(self, batch: list[_Result], error: NotTaken) -> None:
        """Find the result at fault by halving the batch, and report it as a failure.

        Lines go first: a server of a version before refuses them, whatever the result is.
        """
        has_lines = any(each.report.logs is not None for each in batch)
        if has_lines and not isinstance(error, TooLarge):
            _say_lost(batch, error.message)
            self._again([_without_lines(each) for each in batch])
            return
        if len(batch) > 1:
            self._most = len(batch) // 2
            self._again(batch)
            return
        code = TOO_LARGE if isinstance(error, TooLarge) else NOT_STORABLE
        self._refuse(batch[0], code, error.message)

    def _refuse(self, result: _Result, code: str, why: object) -> None:
        held = result.held
        if result.report.logs is not None:
            _say_lost([result], why)
            self._again([_without_lines(result)])
            return
        if result.report.error is not None:
            log.warning("reported failure refused %s: %s", held.log_keys, why)
            self._settled(held)
            return
        order = held.order
        failed = TaskFailed(
            node=order.node,
            iteration=order.iteration,
            attempt=order.attempt,
            error=Failure(code=code, message=f"the result was refused: {why}", retryable=False),
        )
        self.add(held, held.report(failed))

    def _is_settled(self, result: _Result, answer: ReportAnswer) -> bool:
        if answer.status == _UNPROCESSABLE:
            self._refuse(result, NOT_STORABLE, answer.error)
            return True
        if answer.status not in _DONE:
            return False
        held = result.held
        if answer.status != _DONE[0]:
            log.warning("result does not count %s: %s", held.log_keys, answer.error)
        self._settled(held)
        return True

    def _again(self, batch: list[_Result]) -> None:
        self._results.extendleft(reversed(batch))

    def _drop_what_is_over(self) -> None:
        now = self._clock.ticks()
        over = [each.held for each in self._results if each.held.over_at <= now]
        if over:
            self._results = deque(each for each in self._results if each.held.over_at > now)
        for held in over:
            log.warning("result dropped, its lease is over %s", held.log_keys)
            self._settled(held)

    def _rest(self) -> None:
        if not self._results and not self._is_sending:
            self._has_results.clear()
            self._is_done.set()


def _say_lost(batch: list[_Result], why: object) -> None:
    """Results are worth more than what their tasks printed; that it is lost is not kept quiet."""
    lost = [each for each in batch if each.report.logs is not None]
    count = sum(len(each.report.logs.lines) for each in lost if each.report.logs is not None)
    names = ", ".join(sorted({each.held.task.task_id for each in lost}))
    log.warning(
        "lines of attempts are lost, the server refused them lines=%d attempts=%d tasks=%s: %s",
        *(count, len(lost), names, why),
    )


def _result(held: HeldTask, report: TaskReport) -> _Result:
    try:
        return _Result(held, report, len(msgspec.json.encode(report)))
    except (ValueError, TypeError, msgspec.MsgspecError):
        if report.logs is None:
            raise
    held.drop_lines()
    return _result(held, replace(report, logs=None))


def _without_lines(result: _Result) -> _Result:
    if result.report.logs is None:
        return result
    result.held.drop_lines()
    return _result(result.held, replace(result.report, logs=None))
