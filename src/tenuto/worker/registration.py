"""Sends the settings of a worker's tasks to its server, so that they hold as in process."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import msgspec

from tenuto.model.errors import (
    OVER_QUOTA,
    Forbidden,
    Overloaded,
    StoreUnavailable,
    TenutoError,
)
from tenuto.model.task_definition import WorkerTask
from tenuto.tasks.registry import Registry
from tenuto.tasks.worker_task import worker_task
from tenuto.worker.broker_client import BrokerClient, NotTaken, RegisteredTask

log = logging.getLogger("tenuto.worker")

_AT_ONCE = 1_000
_BYTES_AT_ONCE = 500_000
_encode = msgspec.json.Encoder().encode


async def register(broker: BrokerClient, worker_id: str, registry: Registry) -> None:
    """Register the settings of tasks. Where the server takes none, the worker works without."""
    for tasks in _portions(registry):
        try:
            found = await _registered(broker, worker_id, tasks)
        except TenutoError as error:
            if isinstance(error, StoreUnavailable | Forbidden) or (
                isinstance(error, Overloaded) and error.code != OVER_QUOTA
            ):
                raise
            log.warning("worker=%s: its task policies are not registered: %s", worker_id, error)
            return
        for each in found:
            if each.others:
                workers = ", ".join(sorted({other.worker_id for other in each.others}))
                log.warning(
                    "worker=%s task=%s: other retries, time-outs, limits or inputs were registered "
                    "by %s; those of this worker are in force now",
                    worker_id,
                    each.task_id,
                    workers,
                )


async def _registered(
    broker: BrokerClient, worker_id: str, tasks: list[WorkerTask]
) -> list[RegisteredTask]:
    try:
        return await broker.register(worker_id, tasks)
    except NotTaken:
        # An older server knows no inputs, which the worker checks itself, too, and no limits.
        bare = [msgspec.structs.replace(each, input_schema=None, limits=None) for each in tasks]
        if bare == tasks:
            raise
        return await broker.register(worker_id, bare)


def _portions(registry: Registry) -> Iterator[list[WorkerTask]]:
    """The tasks, as many at once as fit into a request."""
    portion: list[WorkerTask] = []
    size = 0
    for name in registry:
        function = registry.get(name)
        if function is None:
            continue
        task = worker_task(function)
        length = len(_encode(task))
        if portion and (len(portion) >= _AT_ONCE or size + length > _BYTES_AT_ONCE):
            yield portion
            portion, size = [], 0
        portion.append(task)
        size += length
    if portion:
        yield portion
