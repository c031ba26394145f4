"""Declared tasks: kept, looked at, changed, and run on their own."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.bodies import WRONG_FIELD
from tenuto.api.call import Call, NoQuery
from tenuto.api.cursors import read_cursor, write_cursor
from tenuto.api.operation import API, operation
from tenuto.api.operations import recorded
from tenuto.api.operations.starting import StartAnswer, StartQuery, StartRequest, answered
from tenuto.api.operations.workflows import PageQuery, matched
from tenuto.api.problems import Refusal
from tenuto.api.shapes import Answer, Page
from tenuto.definition.lone_task import RUNS, workflow_of
from tenuto.engine.definitions.declared_tasks import tag_of
from tenuto.executions.push_target import TargetState, breaker_state, in_flight
from tenuto.model.durations import epoch_ms, from_epoch_ms, iso
from tenuto.model.errors import Conflict, NotFound
from tenuto.model.task_definition import TaskDefinition, TaskLimits
from tenuto.task_definitions import Declared

TAG = "tasks"


class TaskView(TaskDefinition, frozen=True, kw_only=True, rename="camel"):
    """A declared task."""

    limits: TaskLimits
    version: int
    created_at: str
    updated_at: str


class TargetView(Answer, frozen=True, kw_only=True, rename="camel"):
    """How it stands with the address that a task is pushed to."""

    breaker: Literal["closed", "open", "half-open"]
    failures: int
    """In a row."""
    open_until: str | None
    in_flight: int
    """Requests that wait for an answer, of all processes together."""


class TaskDetails(TaskView, frozen=True, kw_only=True, rename="camel"):
    """A declared task, and how it stands with its address."""

    target: TargetView | UnsetType = UNSET


@operation(
    "POST",
    f"{API}/tasks",
    summary="Declare a task that workers pull, or that is pushed to an address.",
    tag=TAG,
    permission=Permission.TASKS_WRITE,
    request=TaskDefinition,
    response=TaskView,
    status=201,
    other_statuses=(409,),
    size="value",
)
async def add_task(call: Call[NoQuery], body: TaskDefinition) -> TaskView:
    added = await call.workspace.task_definitions.add(body)
    call.response_headers["location"] = f"{API}/tasks/{body.id}"
    call.after = recorded.task(added)
    return _view(call, added)


@operation(
    "GET",
    f"{API}/tasks",
    summary="List declared tasks.",
    tag=TAG,
    permission=Permission.TASKS_READ,
    query=PageQuery,
    response=Page[TaskView],
)
async def list_tasks(call: Call[PageQuery]) -> Page[TaskView]:
    after = read_cursor(call.query.cursor, str) or ""
    found = await call.workspace.task_definitions.list(after=after, limit=call.query.limit)
    is_full = len(found) == call.query.limit
    return Page(
        items=[_shown(each) for each in found],
        next_cursor=write_cursor(found[-1].task.id) if is_full else None,
    )


@operation(
    "GET",
    f"{API}/tasks/{{taskId}}",
    summary="Look at a declared task, and at how it stands with the address that it is pushed to.",
    tag=TAG,
    permission=Permission.TASKS_READ,
    response=TaskDetails,
)
async def get_task(call: Call[NoQuery]) -> TaskDetails:
    found = await call.workspace.task_definitions.get(call.path["taskId"])
    state = await call.service.pushing.state(call.principal.tenant, found.task.id)
    view = _view(call, found)
    fields = {name: getattr(view, name) for name in view.__struct_fields__}
    if found.task.kind == "pull":
        return TaskDetails(**fields)
    return TaskDetails(**fields, target=_target(state, epoch_ms(call.service.clock.now())))


@operation(
    "PUT",
    f"{API}/tasks/{{taskId}}",
    summary="Declare a task, or change it; with If-Match only the version that it names.",
    tag=TAG,
    permission=Permission.TASKS_WRITE,
    request=TaskDefinition,
    response=TaskView,
    other_statuses=(412,),
    size="value",
)
async def put_task(call: Call[NoQuery], body: TaskDefinition) -> TaskView:
    if body.id != call.path["taskId"]:
        message = f"the id {body.id[:80]!r} is not that of the path"
        raise Refusal(422, WRONG_FIELD, message)
    if_match = call.headers.get("if-match")
    version = None if if_match is None else matched(if_match)
    call.before = await recorded.task_before(call.workspace.task_definitions, body.id)
    try:
        changed = await call.workspace.task_definitions.put(body, only_after=version)
    except Conflict as error:
        raise Refusal(412, error.code, error.message, error.advice) from None
    call.after = recorded.task(changed)
    return _view(call, changed)


@operation(
    "DELETE",
    f"{API}/tasks/{{taskId}}",
    summary="Forget a declared task; what waits for it goes on waiting, for workers.",
    tag=TAG,
    permission=Permission.TASKS_WRITE,
    status=204,
)
async def remove_task(call: Call[NoQuery]) -> None:
    tasks, id = call.workspace.task_definitions, call.path["taskId"]
    call.before = await recorded.task_before(tasks, id)
    await tasks.remove(id)


@operation(
    "POST",
    f"{API}/tasks/{{taskId}}/execute",
    summary="Run a task on its own: an instance of a workflow of one step.",
    tag=TAG,
    permission=Permission.TASKS_EXECUTE,
    request=StartRequest,
    query=StartQuery,
    response=StartAnswer,
    status=201,
    other_statuses=(200, 202, 409),
    size="value",
    may_be_empty=True,
    is_frequent=True,
)
async def execute_task(call: Call[StartQuery], body: StartRequest) -> StartAnswer:
    id = call.path["taskId"]
    try:
        task = (await call.workspace.task_definitions.get(id)).task
    except NotFound as missing:
        # A function of this process needs no declaration.
        if id not in call.workspace.tasks:
            # What was run before under the same key is found all the same.
            return await answered(call, body, f"{RUNS}{id}", missing=missing)
        task = TaskDefinition(id=id, kind="pull")
    document = workflow_of(task)
    return await answered(call, body, str(document["id"]), saving=document)


def _view(call: Call[NoQuery], declared: Declared) -> TaskView:
    call.response_headers["etag"] = f'"{tag_of(declared.row)}"'
    return _shown(declared)


def _shown(declared: Declared) -> TaskView:
    task, row = declared
    fields = {name: getattr(task, name) for name in task.__struct_fields__}
    return TaskView(
        **fields,
        version=row.version,
        created_at=iso(row.created_at),
        updated_at=iso(row.updated_at),
    )


def _target(state: TargetState, now: int) -> TargetView:
    until = state.open_until
    return TargetView(
        breaker=breaker_state(state, now),
        failures=state.failures,
        open_until=None if until is None else iso(from_epoch_ms(until)),
        in_flight=in_flight(state, now),
    )
