"""The operation on the queues of tasks: list them."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.api.shapes import Answer
from tenuto.model.durations import epoch_ms
from tenuto.targets.state import breaker_state
from tenuto.workspace.task_queues import TaskQueue, task_queues

QUEUES = Resource(f"{API}/task-queues", tag="tasks", read=Permission.TASKS_READ)
_MOST_STATES = 200
"""Of so many tasks the breaker is looked up; the rest show theirs one by one."""


class TaskQueueView(TaskQueue, frozen=True, kw_only=True, rename="camel"):
    """The attempts of one task, what takes them, and whether its address is tried."""

    breaker: Literal["closed", "open", "half-open"] | UnsetType = UNSET
    """Of the address that it is pushed to."""


class TaskQueues(Answer):
    """The queues of all tasks that are declared, run by this service or workers, or waited for."""

    items: list[TaskQueueView]
    is_complete: bool
    """False where there are more than 1,000: those with attempts are listed first."""


@QUEUES.get()
async def list_task_queues(call: Call[NoQuery]) -> TaskQueues:
    """List the queue of each task: what waits, what is worked on, and how many take it."""
    service, tenant = call.service, call.principal.tenant
    queues, is_complete = await task_queues(call.workspace.engine, tenant)
    now = epoch_ms(service.clock.now())
    pushed = [each.task_id for each in queues if each.is_pushed][:_MOST_STATES]
    breakers = {id: breaker_state(await service.push.state(tenant, id), now) for id in pushed}
    return TaskQueues(
        items=[_view(each, breakers.get(each.task_id, UNSET)) for each in queues],
        is_complete=is_complete,
    )


def _view(
    queue: TaskQueue, breaker: Literal["closed", "open", "half-open"] | UnsetType
) -> TaskQueueView:
    fields = {name: getattr(queue, name) for name in queue.__struct_fields__}
    return TaskQueueView(**fields, breaker=breaker)
