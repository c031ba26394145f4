"""Gives back what a worker that stops has not ended."""

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
"""Statuses of what is this worker's no more: somebody else has it, or will."""


async def release(
    broker: BrokerClient,
    clock: Clock,
    held: Iterable[HeldTask],
    fresh: Collection[Key],
    seconds: float,
) -> None:
    """Have others go on with tasks; of those in `fresh` nothing has been done.

    It is tried for so many seconds. What the server does not hear of comes back when its leases
    are over.
    """
    tasks = [
        ReleasedTask(
            execution_id=each.task.execution_id,
            lease_token=each.task.lease_token,
            has_begun=each.key not in fresh,
        )
        for each in held
    ]
    giving = _GivingBack(broker, clock, tasks, seconds)
    is_told = asyncio.Event()
    telling = asyncio.get_running_loop().create_task(giving.run())
    telling.add_done_callback(lambda _: is_told.set())
    try:
        await clock.wait(is_told, seconds)
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        giving.say()


class _GivingBack:
    """What a server has heard of, and what it has not."""

    def __init__(
        self, broker: BrokerClient, clock: Clock, tasks: Sequence[ReleasedTask], seconds: float
    ) -> None:
        self._broker = broker
        self._clock = clock
        self._left = list(tasks)
        self._patience = seconds / 2
        """How long one address has to answer, so that there is time to ask the next."""
        self._given_back = 0
        self._over = 0
        self._reason: object = "the server does not answer"

    async def run(self) -> None:
        """Tell the server, again and again until it has heard of all."""
        while self._left:
            batch, self._left = self._left[:_MOST_AT_ONCE], self._left[_MOST_AT_ONCE:]
            unheard = batch
            try:
                unheard = await self._tell(batch)
            except TenutoError as error:
                self._reason = error
            finally:
                self._left += unheard
            if unheard:
                await self._clock.sleep(_PAUSE)

    async def _tell(self, batch: Sequence[ReleasedTask]) -> list[ReleasedTask]:
        """What the server could not take back."""
        unheard: list[ReleasedTask] = []
        answers = await self._broker.release(batch, patience=self._patience)
        for task, answer in zip(batch, answers, strict=True):
            if answer.status == _OK:
                self._given_back += 1
            elif answer.status in _OVER:
                self._over += 1
            else:
                unheard.append(task)
                self._reason = answer.error or f"it answered {answer.status}"
        return unheard

    def say(self) -> None:
        """What became of them."""
        if self._given_back:
            log.warning("%d tasks are given back", self._given_back)
        if self._over:
            log.warning("%d tasks were this worker's no more", self._over)
        if self._left:
            left = len(self._left)
            log.warning("%d tasks come back when their leases are over: %s", left, self._reason)
