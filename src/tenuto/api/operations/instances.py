"""Instances: listed and looked at."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, operation
from tenuto.api.searching import read_variables
from tenuto.api.shapes import (
    Answer,
    InstanceItem,
    InstanceView,
    Limit,
    Moment,
    Page,
    Query,
    Seconds,
    instance_item,
    split,
)
from tenuto.api.variables import value_at
from tenuto.api.waiting import ended_within
from tenuto.core.view import state_of
from tenuto.definition import to_graph_form
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.store.protocol import InstanceQuery
from tenuto.workspace.instance import history_view

TAG = "instances"


class InstancesQuery(Query, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which instances; several values of one parameter are separated by commas."""

    status: str | None = None
    workflow_id: str | None = None
    correlation_id: str | None = None
    current_step: str | None = None
    ids: str | None = None
    created_from: Moment | None = None
    created_before: Moment | None = None
    tenant: str | None = None
    """There are none but those of the tenant who asks."""
    variables: str | None = None
    """A JSON object: values of variables that the workflow lists in `options.searchable`."""
    limit: Limit = 100
    cursor: str | None = None


class InstanceWait(Query, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Whether to wait."""

    wait: Seconds = 0
    """Seconds to wait for the end; where that takes longer, the instance as it is then."""


@operation(
    "GET",
    f"{API}/instances",
    summary="List instances, newest first.",
    tag=TAG,
    permission=Permission.INSTANCES_READ,
    query=InstancesQuery,
    response=Page[InstanceItem],
)
async def list_instances(call: Call[InstancesQuery]) -> Page[InstanceItem]:
    asked = call.query
    if asked.tenant not in (None, call.workspace.tenant):
        return Page(items=[], next_cursor=None)
    query = InstanceQuery(
        statuses=tuple(split(asked.status, Status, "$.status")),
        definition_id=asked.workflow_id,
        correlation_id=asked.correlation_id,
        current_step=asked.current_step,
        ids=tuple(split(asked.ids, str, "$.ids")),
        created_from=asked.created_from,
        created_before=asked.created_before,
        limit=asked.limit,
        after=asked.cursor,
    )
    variables = None if asked.variables is None else read_variables(asked.variables)
    page = await call.workspace.page(query, variables)
    return Page(items=[instance_item(row) for row in page.items], next_cursor=page.next_after)


@operation(
    "GET",
    f"{API}/instances/{{id}}",
    summary="Look at an instance: its status, state, output and errors.",
    tag=TAG,
    permission=Permission.INSTANCES_READ,
    query=InstanceWait,
    response=InstanceView,
    other_statuses=(304,),
)
async def get_instance(call: Call[InstanceWait]) -> Object:
    reference = call.workspace.at(call.path["id"])
    view = await reference.details()
    if call.query.wait > 0 and not Status(str(view["status"])).is_final:
        await ended_within(call, reference.id, call.query.wait)
        view = await reference.details()
    call.response_headers["etag"] = f'"{view["version"]}"'
    return view


class HistoryQuery(Query, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which part of a log."""

    after: Annotated[int, Meta(ge=0)] | None = None
    """The number of the entry behind which the page begins; that is what `nextCursor` is, too."""
    cursor: Annotated[int, Meta(ge=0)] | None = None
    order: Literal["asc", "desc"] = "asc"
    limit: Limit = 100


class HistoryItem(Answer, frozen=True, kw_only=True, rename="camel"):
    """A line of an instance's log."""

    seq: int
    event_type: str
    node_id: str | None
    iteration: str
    attempt: int | None
    node_status: str | None
    output_variable: str | None
    payload: JSON
    error_message: str | None
    at: str


class ContextView(Answer, frozen=True, kw_only=True, rename="camel"):
    """What expressions see, and what the system noted beside it."""

    ctx: dict[str, JSON]
    system: dict[str, JSON]


class VariableView(Answer, frozen=True, kw_only=True, rename="camel"):
    """One value of an instance's context."""

    path: str
    value: JSON


class GraphView(Answer, frozen=True, kw_only=True, rename="camel"):
    """The workflow as a graph, and how far the instance has come in it."""

    instance_id: str
    workflow_definition_id: str
    definition_version: int
    status: Status
    nodes: list[dict[str, JSON]]
    """As in the graph form, each with its `run`: status, attempts and when."""
    edges: list[dict[str, JSON]]


class WaitsView(Answer, frozen=True, kw_only=True, rename="camel"):
    """What an instance waits for, the oldest first."""

    items: list[dict[str, JSON]]
    next_cursor: str | None


class UndoPlan(Answer, frozen=True, kw_only=True, rename="camel"):
    """What would be undone if the instance were cancelled now."""

    plan: list[dict[str, JSON]]
    skipped: list[dict[str, JSON]]


@operation(
    "GET",
    f"{API}/instances/{{id}}/history",
    summary="Read an instance's log.",
    tag=TAG,
    permission=Permission.INSTANCES_READ,
    query=HistoryQuery,
    response=Page[HistoryItem],
)
async def get_history(call: Call[HistoryQuery]) -> Object:
    asked, id = call.query, call.path["id"]
    begin = asked.cursor if asked.cursor is not None else asked.after
    newest = (await call.workspace.held(id)).state.version
    entries = call.workspace.engine.store.seen_by(call.workspace.tenant).entries
    if asked.order == "asc":
        begin = begin or 0
        rows = await entries(id, after=begin, limit=asked.limit)
        has_more = bool(rows) and rows[-1].seq < newest
    else:
        # Entries are numbered without holes, so that the page is known by its numbers.
        below = newest + 1 if begin is None else min(begin, newest + 1)
        first = max(below - asked.limit, 1)
        rows = await entries(id, after=first - 1, limit=below - first) if below > first else []
        rows.reverse()
        has_more = first > 1 and bool(rows)
    return {
        "items": [history_view(row) for row in rows],
        "nextCursor": str(rows[-1].seq) if has_more else None,
    }


@operation(
    "GET",
    f"{API}/instances/{{id}}/context",
    summary="Look at what the expressions of an instance see.",
    tag=TAG,
    permission=Permission.INSTANCES_READ,
    response=ContextView,
)
async def get_context(call: Call[NoQuery]) -> Object:
    return await call.workspace.at(call.path["id"]).context()


@operation(
    "GET",
    f"{API}/instances/{{id}}/variables/{{path:path}}",
    summary="Look at one value of an instance's context, such as `reservation.items[0].id`.",
    tag=TAG,
    permission=Permission.INSTANCES_READ,
    response=VariableView,
)
async def get_variable(call: Call[NoQuery]) -> VariableView:
    path = call.path["path"]
    held = await call.workspace.held(call.path["id"])
    return VariableView(path=path, value=value_at(held.plan, held.state, path))


@operation(
    "GET",
    f"{API}/instances/{{id}}/graph",
    summary="Look at an instance's workflow as a graph, and how far it has come.",
    tag=TAG,
    permission=Permission.INSTANCES_READ,
    response=GraphView,
)
async def get_graph(call: Call[NoQuery]) -> Object:
    held = await call.workspace.held(call.path["id"])
    document = to_graph_form(held.plan.definition)
    steps = state_of(held.plan, held.state)["steps"]
    assert isinstance(steps, dict)
    nodes = document["nodes"]
    assert isinstance(nodes, list)
    for node in nodes:
        assert isinstance(node, dict)
        run = steps.get(str(node["id"]))
        # What is in a loop has run once for each iteration: its entries tell how.
        node["run"] = _run(run) if isinstance(run, dict) else None
    return {
        "instanceId": held.state.id,
        "workflowDefinitionId": held.state.definition_id,
        "definitionVersion": held.state.definition_version,
        "status": held.state.status.value,
        "nodes": nodes,
        "edges": document["edges"],
    }


@operation(
    "GET",
    f"{API}/instances/{{id}}/waits",
    summary="Look at what an instance waits for, and at the events that it nearly took.",
    tag=TAG,
    permission=Permission.INSTANCES_READ,
    response=WaitsView,
)
async def get_waits(call: Call[NoQuery]) -> Object:
    return {"items": await call.workspace.at(call.path["id"]).waits(), "nextCursor": None}


@operation(
    "GET",
    f"{API}/instances/{{id}}/undo-plan",
    summary="See what would be undone if an instance were cancelled now.",
    tag=TAG,
    permission=Permission.INSTANCES_READ,
    response=UndoPlan,
)
async def get_undo_plan(call: Call[NoQuery]) -> Object:
    return await call.workspace.at(call.path["id"]).undo_plan()


def _run(step: Object) -> Object:
    shown = ("status", "attempts", "startedAt", "completedAt", "error", "errors")
    return {name: step[name] for name in shown if name in step}
