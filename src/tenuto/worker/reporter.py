"""Tells a server how tasks ended: many at once, and again until it has heard.

A result is dropped when its lease is over, since nobody would take it then, and for no other
reason: a server that refuses a whole request is asked again, with less in it where that is why.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

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
"""So large a request grows at most, unless one result alone is larger."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_UNPROCESSABLE = 422
_DONE = (200, 404, 409)
"""Statuses after which nothing more is to be said about a task."""


class _Result(NamedTuple):
    held: HeldTask
    report: TaskReport
    size: int


class Reporter:
    """Results on their way to the server."""

    def __init__(
        self, broker: BrokerClient, clock: Clock, settled: Callable[[HeldTask], None]
    ) -> None:
        """`settled`: there is nothing more to be said about a task."""
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
        """Tell of one."""
        self._results.append(_Result(held, report, len(msgspec.json.encode(report))))
        self._is_done.clear()
        self._has_results.set()

    def drop(self, held: HeldTask) -> None:
        """Nobody wants to hear of it any more."""
        self._results = deque(each for each in self._results if each.held is not held)
        self._rest()

    def give_up(self) -> None:
        """Let nobody wait any longer in `finish`."""
        if self._is_last.is_set():
            self._is_done.set()

    async def finish(self, seconds: float) -> None:
        """Wait until all is told, but no longer than that."""
        self._is_last.set()
        await self._clock.wait(self._is_done, seconds)

    async def run(self) -> None:
        """Tell what there is to tell, until cancelled."""
        pause = _FIRST_PAUSE
        while True:
            await self._has_results.wait()
            try:
                await self._run_once()
                pause = _FIRST_PAUSE
            except TenutoError as error:
                log.warning("%d results wait for the server: %s", len(self._results), error)
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
        unheard = [
            each
            for each, answer in zip(batch, answers, strict=True)
            if not self._is_heard(each, answer)
        ]
        if unheard:
            self._again(unheard)
            raise StoreUnavailable(f"{len(unheard)} results were not taken")

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
        """Find out which of them is at fault, and tell of that one that it is."""
        if len(batch) > 1:
            self._most = len(batch) // 2
            self._again(batch)
            return
        code = TOO_LARGE if isinstance(error, TooLarge) else NOT_STORABLE
        self._refuse(batch[0], code, error.message)

    def _refuse(self, result: _Result, code: str, why: object) -> None:
        held = result.held
        if result.report.error is not None:
            log.warning("the failure of %s was refused: %s", held.task.step_id, why)
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

    def _is_heard(self, result: _Result, answer: ReportAnswer) -> bool:
        if answer.status == _UNPROCESSABLE:
            self._refuse(result, NOT_STORABLE, answer.error)
            return True
        if answer.status not in _DONE:
            return False
        held = result.held
        if answer.status != _DONE[0]:
            log.warning("the result of %s does not count: %s", held.task.step_id, answer.error)
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
            log.warning("the result of %s came to nobody in time", held.task.step_id)
            self._settled(held)

    def _rest(self) -> None:
        if not self._results and not self._is_sending:
            self._has_results.clear()
            self._is_done.set()
