"""Operations on declared tasks: add, list, get, put, remove, execute."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.entity_tags import read_if_match
from tenuto.api.operation import API, Resource
from tenuto.api.operations.instance_starts import StartAnswer, StartQuery, StartRequest, answered
from tenuto.api.paging import Page, PageQuery
from tenuto.api.problems import Refusal
from tenuto.api.request_parser import WRONG_FIELD
from tenuto.api.shapes import Answer, shaped
from tenuto.definition.lone_task import RUNS
from tenuto.model.durations import epoch_ms, from_epoch_ms, iso
from tenuto.model.errors import Conflict, NotFound
from tenuto.model.task_definition import TaskDefinition, TaskLimits
from tenuto.targets.state import TargetState, breaker_state, in_flight
from tenuto.workspace import audit_values
from tenuto.workspace.task_definitions import Declared
from tenuto.workspace.values import DeclaredTask, KnownTask

TASKS = Resource(
    f"{API}/tasks", tag="tasks", read=Permission.TASKS_READ, write=Permission.TASKS_WRITE
)


class TaskView(TaskDefinition, frozen=True, kw_only=True, rename="camel"):
    """A declared task."""

    limits: TaskLimits
    version: int
    created_at: str
    updated_at: str


class TaskItem(KnownTask, frozen=True, kw_only=True, rename="camel"):
    """A task that is declared, run by this service, or taken by connected workers."""

    limits: TaskLimits
    created_at: str | None
    updated_at: str | None


class TargetView(Answer):
    """The state of the address that a task is pushed to."""

    breaker: Literal["closed", "open", "half-open"]
    failures: int
    """In a row."""
    open_until: str | None
    in_flight: int
    """Unanswered requests of all processes."""


class TaskDetails(TaskView, frozen=True, kw_only=True, rename="camel"):
    """A declared task, with the state of its address."""

    target: TargetView | UnsetType = UNSET


@TASKS.post(status=201, other_statuses=(409,), size="value")
async def add_task(call: Call[NoQuery], body: TaskDefinition) -> TaskView:
    """Declare a task that workers claim, or that is pushed to an address."""
    added = await call.workspace.task_definitions.add(body)
    call.response_headers["location"] = f"{API}/tasks/{body.id}"
    call.after = audit_values.task(added)
    return _view(call, added)


@TASKS.get()
async def list_tasks(call: Call[PageQuery]) -> Page[TaskItem]:
    """List tasks that are declared, run by this service, or taken by connected workers."""
    asked = call.query
    found = await call.workspace.task_definitions.page(limit=asked.limit, cursor=asked.cursor)
    items = [shaped(TaskItem, each) for each in found.items]
    return Page(items=items, next_cursor=found.next_cursor)


@TASKS.get("/{taskId}")
async def get_task(call: Call[NoQuery]) -> TaskDetails:
    """Get a declared task, with the state of the address that it is pushed to."""
    found = await call.workspace.task_definitions.get(call.path["taskId"])
    state = await call.service.push.state(call.principal.tenant, found.id)
    target = _target(state, epoch_ms(call.service.clock.now()))
    view = _view(call, found)
    return shaped(TaskDetails, view, target=UNSET if found.kind == "pull" else target)


@TASKS.put(
    "/{taskId}",
    headers=(("If-Match", "The ETag of the version to change; `*`: any."),),
    other_statuses=(412,),
    size="value",
)
async def put_task(call: Call[NoQuery], body: TaskDefinition) -> TaskView:
    """Declare or change a task; with If-Match only the version that it names."""
    if body.id != call.path["taskId"]:
        message = f"the id {body.id[:80]!r} is not that of the path"
        raise Refusal(422, WRONG_FIELD, message)
    if_match = call.headers.get("if-match")
    version = None if if_match is None else read_if_match(if_match)
    call.before = await audit_values.task_before(call.workspace.task_definitions, body.id)
    try:
        changed = await call.workspace.task_definitions.put(body, only_after=version)
    except Conflict as error:
        raise Refusal(412, error.code, error.message, error.advice) from None
    call.after = audit_values.task(changed)
    return _view(call, changed)


@TASKS.delete("/{taskId}")
async def remove_task(call: Call[NoQuery]) -> None:
    """Remove the declaration of a task; its waiting attempts stay, for workers."""
    tasks, id = call.workspace.task_definitions, call.path["taskId"]
    call.before = await audit_values.task_before(tasks, id)
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


def _shown(declared: DeclaredTask) -> TaskView:
    return shaped(TaskView, declared)


def _target(state: TargetState, now: int) -> TargetView:
    until = state.open_until
    return TargetView(
        breaker=breaker_state(state, now),
        failures=state.failures,
        open_until=None if until is None else iso(from_epoch_ms(until)),
        in_flight=in_flight(state, now),
    )
