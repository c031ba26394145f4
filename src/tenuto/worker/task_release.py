"""Gives back the unfinished tasks of a worker that stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Sequence

from tenuto.model.errors import TenutoError
from tenuto.model.executions import ReleasedTask
from tenuto.ports import Clock
from tenuto.tasks.attempt import Key
from tenuto.worker.broker_client import BrokerClient
from tenuto.worker.held_task import HeldTask

log = logging.getLogger("tenuto.worker")

_MOST_AT_ONCE = 500
_PAUSE = 0.1
_OK = 200
_OVER = (404, 409)
"""Statuses of tasks whose leases were over already."""


async def release(
    broker: BrokerClient,
    clock: Clock,
    held: Iterable[HeldTask],
    fresh: Collection[Key],
    seconds: float,
) -> None:
    """Give tasks back to the server; those in `fresh` have not begun.

    It is tried for so many seconds. Tasks that the server does not take back come back when their
    leases lapse.
    """
    tasks = [
        ReleasedTask(
            execution_id=each.task.execution_id,
            lease_token=each.task.lease_token,
            has_begun=each.key not in fresh,
        )
        for each in held
    ]
    release = _Release(broker, clock, tasks, seconds)
    is_done = asyncio.Event()
    running = asyncio.get_running_loop().create_task(release.run())
    running.add_done_callback(lambda _: is_done.set())
    try:
        await clock.wait(is_done, seconds)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        release.log_result()


class _Release:
    """The tasks that the server has taken back, and those that are left."""

    def __init__(
        self, broker: BrokerClient, clock: Clock, tasks: Sequence[ReleasedTask], seconds: float
    ) -> None:
        self._broker = broker
        self._clock = clock
        self._left = list(tasks)
        self._patience = seconds / 2
        """How long one address may take, so that there is time for the next."""
        self._given_back = 0
        self._over = 0
        self._reason: object = "the server does not answer"

    async def run(self) -> None:
        """Send releases until the server has taken back all tasks."""
        while self._left:
            batch, self._left = self._left[:_MOST_AT_ONCE], self._left[_MOST_AT_ONCE:]
            refused = batch
            try:
                refused = await self._send(batch)
            except TenutoError as error:
                self._reason = error
            finally:
                self._left += refused
            if refused:
                await self._clock.sleep(_PAUSE)

    async def _send(self, batch: Sequence[ReleasedTask]) -> list[ReleasedTask]:
        """The tasks that the server could not take back."""
        refused: list[ReleasedTask] = []
        answers = await self._broker.release(batch, patience=self._patience)
        for task, answer in zip(batch, answers, strict=True):
            if answer.status == _OK:
                self._given_back += 1
            elif answer.status in _OVER:
                self._over += 1
            else:
                refused.append(task)
                self._reason = answer.error or f"it answered {answer.status}"
        return refused

    def log_result(self) -> None:
        """Log how many tasks were released."""
        if self._given_back:
            log.warning("released tasks=%d", self._given_back)
        if self._over:
            log.warning("not released, leases were over already tasks=%d", self._over)
        if self._left:
            left = len(self._left)
            log.warning("not released, leases lapse tasks=%d: %s", left, self._reason)
