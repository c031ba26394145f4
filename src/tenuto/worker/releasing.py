"""Gives back what a worker that stops has not ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable

from tenuto.model.errors import TenutoError
from tenuto.model.executions import ReleasedTask
from tenuto.ports import Clock
from tenuto.tasks.attempt import Key
from tenuto.worker.desk import Desk
from tenuto.worker.held_task import HeldTask

log = logging.getLogger("tenuto.worker")

_MOST_AT_ONCE = 500


async def release(
    desk: Desk, clock: Clock, held: Iterable[HeldTask], fresh: Collection[Key], seconds: float
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
    is_told = asyncio.Event()
    telling = asyncio.get_running_loop().create_task(_tell(desk, tasks))
    telling.add_done_callback(lambda _: is_told.set())
    try:
        await clock.wait(is_told, seconds)
    finally:
        telling.cancel()
        [ended] = await asyncio.gather(telling, return_exceptions=True)
    if ended is None:
        log.warning("%d tasks are given back", len(tasks))
    else:
        reason = ended if isinstance(ended, TenutoError) else "the server does not answer"
        log.warning("%d tasks come back when their leases are over: %s", len(tasks), reason)


async def _tell(desk: Desk, tasks: list[ReleasedTask]) -> None:
    for at in range(0, len(tasks), _MOST_AT_ONCE):
        await desk.release(tasks[at : at + _MOST_AT_ONCE])
