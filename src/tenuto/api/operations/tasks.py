"""Declared tasks: kept, looked at, changed, and run on their own."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.bodies import WRONG_FIELD
from tenuto.api.call import Call, NoQuery
from tenuto.api.cursors import read_cursor
from tenuto.api.operation import API, Resource
from tenuto.api.operations import recorded
from tenuto.api.operations.starting import StartAnswer, StartQuery, StartRequest, answered
from tenuto.api.operations.workflows import matched
from tenuto.api.paging import Page, PageQuery, page_of
from tenuto.api.problems import Refusal
from tenuto.api.shapes import Answer
from tenuto.definition.lone_task import RUNS
from tenuto.executions.push_target import TargetState, breaker_state, in_flight
from tenuto.model.durations import epoch_ms, from_epoch_ms, iso
from tenuto.model.errors import Conflict, NotFound
from tenuto.model.task_definition import TaskDefinition, TaskLimits
from tenuto.workspace.task_definitions import Declared

TASKS = Resource(
    f"{API}/tasks", tag="tasks", read=Permission.TASKS_READ, write=Permission.TASKS_WRITE
)


class TaskView(TaskDefinition, frozen=True, kw_only=True, rename="camel"):
    """A declared task."""

    limits: TaskLimits
    version: int
    created_at: str
    updated_at: str


class TargetView(Answer):
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


@TASKS.post(status=201, other_statuses=(409,), size="value")
async def add_task(call: Call[NoQuery], body: TaskDefinition) -> TaskView:
    """Declare a task that workers pull, or that is pushed to an address."""
    added = await call.workspace.task_definitions.add(body)
    call.response_headers["location"] = f"{API}/tasks/{body.id}"
    call.after = recorded.task(added)
    return _view(call, added)


@TASKS.get()
async def list_tasks(call: Call[PageQuery]) -> Page[TaskView]:
    """List declared tasks."""
    after = read_cursor(call.query.cursor, str) or ""
    found = await call.workspace.task_definitions.list(after=after, limit=call.query.limit)
    is_full = len(found) == call.query.limit
    return page_of(found, _shown, lambda each: each.id, has_more=is_full)


@TASKS.get("/{taskId}")
async def get_task(call: Call[NoQuery]) -> TaskDetails:
    """Look at a declared task, and at how it stands with the address that it is pushed to."""
    found = await call.workspace.task_definitions.get(call.path["taskId"])
    state = await call.service.pushing.state(call.principal.tenant, found.id)
    view = _view(call, found)
    fields = {name: getattr(view, name) for name in view.__struct_fields__}
    if found.kind == "pull":
        return TaskDetails(**fields)
    return TaskDetails(**fields, target=_target(state, epoch_ms(call.service.clock.now())))


@TASKS.put(
    "/{taskId}",
    headers=(("If-Match", "The ETag of what was changed; `*`: whatever is there."),),
    other_statuses=(412,),
    size="value",
)
async def put_task(call: Call[NoQuery], body: TaskDefinition) -> TaskView:
    """Declare a task, or change it; with If-Match only the version that it names."""
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


@TASKS.delete("/{taskId}")
async def remove_task(call: Call[NoQuery]) -> None:
    """Forget a declared task; what waits for it goes on waiting, for workers."""
    tasks, id = call.workspace.task_definitions, call.path["taskId"]
    call.before = await recorded.task_before(tasks, id)
    await tasks.remove(id)


@TASKS.post(
    "/{taskId}/execute",
    permission=Permission.TASKS_EXECUTE,
    status=201,
    headers=(("Idempotency-Key", "At most one instance is started under a key."),),
    other_statuses=(200, 202, 409),
    size="value",
    may_be_empty=True,
    is_frequent=True,
)
async def execute_task(call: Call[StartQuery], body: StartRequest) -> StartAnswer:
    """Run a task on its own: an instance of a workflow of one step."""
    id = call.path["taskId"]
    try:
        document = await call.workspace.task_definitions.lone_workflow(id)
    except NotFound as missing:
        # An earlier run under the same key is found all the same.
        return await answered(call, body, f"{RUNS}{id}", missing=missing)
    return await answered(call, body, str(document["id"]), saving=document)


def _view(call: Call[NoQuery], declared: Declared) -> TaskView:
    call.response_headers["etag"] = f'"{declared.tag}"'
    return _shown(declared)


def _shown(declared: Declared) -> TaskView:
    fields = {name: getattr(declared, name) for name in TaskDefinition.__struct_fields__}
    return TaskView(
        **fields,
        version=declared.version,
        created_at=iso(declared.created_at),
        updated_at=iso(declared.updated_at),
    )


def _target(state: TargetState, now: int) -> TargetView:
    until = state.open_until
    return TargetView(
        breaker=breaker_state(state, now),
        failures=state.failures,
        open_until=None if until is None else iso(from_epoch_ms(until)),
        in_flight=in_flight(state, now),
    )
