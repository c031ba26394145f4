"""What the code of a task says of it, as it travels to a server and is listed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tenuto.model.json import JSON
from tenuto.model.policy import BusinessRetryPolicy, RetryPolicy
from tenuto.model.task_definition import WorkerTask
from tenuto.model.working_time import written
from tenuto.tasks.function import TaskFunction


def worker_task(task: TaskFunction[..., Any]) -> WorkerTask:
    """A task with its policy, in milliseconds, and its input."""
    policy = task.policy
    return WorkerTask(
        id=task.name,
        retry=None if policy.retry is None else _retry(policy.retry),
        timeout=_milliseconds(policy.timeout),
        heartbeat_timeout=_milliseconds(policy.heartbeat_timeout),
        # One that undoes another gets the output of that, and not the input of its order.
        input_schema=task.input_schema if task.undoes is None else None,
        limits=policy.limits,
    )


def _retry(policy: RetryPolicy) -> dict[str, JSON]:
    found: dict[str, JSON] = {
        "maxAttempts": policy.max_attempts,
        "initialDelay": _milliseconds(policy.initial_delay),
        "multiplier": policy.multiplier,
        "maxDelay": _milliseconds(policy.max_delay),
        "nonRetryable": list(policy.non_retryable),
        "onLost": policy.on_lost,
    }
    if isinstance(policy, BusinessRetryPolicy):
        found["initialDelay"] = written(policy.first)
        found["maxDelay"] = written(policy.longest)
        found["calendar"] = policy.calendar
    return found


def _milliseconds(length: timedelta | None) -> int | None:
    return None if length is None else length // timedelta(milliseconds=1)
