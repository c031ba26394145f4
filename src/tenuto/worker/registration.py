"""Sends the policies of a worker's tasks to its server, so that they hold as in process."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta

from tenuto.model.errors import (
    OVER_QUOTA,
    Forbidden,
    Overloaded,
    StoreUnavailable,
    TenutoError,
)
from tenuto.model.json import JSON
from tenuto.model.policy import RetryPolicy, TaskPolicy
from tenuto.model.task_definition import WorkerTask
from tenuto.worker.broker_client import BrokerClient

log = logging.getLogger("tenuto.worker")

_AT_ONCE = 1_000


async def register(
    broker: BrokerClient, worker_id: str, policies: Mapping[str, TaskPolicy]
) -> None:
    """Register the policies of tasks. Where the server takes none, the worker works without."""
    tasks = [worker_task(id, policy) for id, policy in sorted(policies.items())]
    for begin in range(0, len(tasks), _AT_ONCE):
        try:
            found = await broker.register(worker_id, tasks[begin : begin + _AT_ONCE])
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
                    "worker=%s task=%s: other retries or time-outs were registered by %s; "
                    "those of this worker are in force now",
                    worker_id,
                    each.task_id,
                    workers,
                )


def worker_task(id: str, policy: TaskPolicy) -> WorkerTask:
    """A task with its policy, in milliseconds."""
    return WorkerTask(
        id=id,
        retry=None if policy.retry is None else _retry(policy.retry),
        timeout=_milliseconds(policy.timeout),
        heartbeat_timeout=_milliseconds(policy.heartbeat_timeout),
    )


def _retry(policy: RetryPolicy) -> dict[str, JSON]:
    return {
        "maxAttempts": policy.max_attempts,
        "initialDelay": _milliseconds(policy.initial_delay),
        "multiplier": policy.multiplier,
        "maxDelay": _milliseconds(policy.max_delay),
        "nonRetryable": list(policy.non_retryable),
        "onLost": policy.on_lost,
    }


def _milliseconds(length: timedelta | None) -> int | None:
    return None if length is None else length // timedelta(milliseconds=1)
