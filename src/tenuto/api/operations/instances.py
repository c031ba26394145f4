"""Operations on instances: list, get, history, context, graph, waits, explain, widget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.completion import ended_within
from tenuto.api.operation import API, Resource
from tenuto.api.paging import Limit, Page
from tenuto.api.shapes import (
    Answer,
    Body,
    InstanceItem,
    InstanceView,
    Moment,
    Query,
    Seconds,
    instance_item,
    split,
)
from tenuto.api.variables import read_variables, value_at
from tenuto.core.snapshot import shown as shown_snapshot
from tenuto.core.view import state_of
from tenuto.definition import to_graph_form
from tenuto.engine.tenancy import held_by, stored_id
from tenuto.engine.turns.held import Held
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON, Object
from tenuto.model.log import LogRow
from tenuto.model.status import Status
from tenuto.store.parts.instances import InstanceQuery
from tenuto.workspace.history import history_view
from tenuto.workspace.instance_lists import instance_rows, schedules_of
from tenuto.workspace.large_instances import of_whole
from tenuto.workspace.portions import Portions, in_portions, size_of_parts
from tenuto.workspace.whole_instances import whole_page

INSTANCES = Resource(
    f"{API}/instances",
    tag="instances",
    read=Permission.INSTANCES_READ,
    write=Permission.INSTANCES_CONTROL,
)


class InstancesQuery(Query):
    """Which instances; several values of one parameter are separated by commas."""

    status: str | None = None
    workflow_id: str | None = None
    correlation_id: str | None = None
    key: str | None = None
    """The idempotency key that an instance was started with."""
    current_step: str | None = None
    ids: str | None = None
    created_from: Moment | None = None
    created_before: Moment | None = None
    updated_from: Moment | None = None
    """This or `updatedBefore` lists them by time of change, the latest first."""
    updated_before: Moment | None = None
    waiting_for: str | None = None
    """The pattern of an event for which a step waits, as its wait was opened."""
    roots: bool = False
    """Only instances that are no children of others."""
    parent_id: str | None = None
    text: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """In its workflow, correlation id, open steps, error or cancellation. A page that is searched
    for it ends after 10,000 instances, although there may be more: go on with `nextCursor`."""
    full: bool = False
    """Whole instances, as `GET /instances/{id}` shows them; only with `ids`."""
    tenant: str | None = None
    """Only the principal's own tenant has instances here."""
    variables: str | None = None
    """A JSON object: values of variables in the workflow's `options.searchable`."""
    limit: Limit = 100
    cursor: str | None = None


class InstanceWait(Query):
    """Whether to wait."""

    wait: Seconds = 0
    """Seconds to wait for the end; then the instance is shown as it is."""


@INSTANCES.get(response=Page[InstanceItem])
async def list_instances(call: Call[InstancesQuery]) -> Page[InstanceItem] | Page[Object]:
    """List instances, newest first."""
    asked = call.query
    if asked.full and not asked.ids:
        problem = Problem(
            code="TEN-2031",
            path="$.full",
            message="whole instances are listed by their ids alone",
            advice="Name them in `ids`, or list without `full`.",
        )
        raise InvalidInput("the query is not what this operation takes", [problem])
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
        updated_from=asked.updated_from,
        updated_before=asked.updated_before,
        waiting_for=asked.waiting_for,
        roots=asked.roots,
        parent_id=asked.parent_id,
        limit=asked.limit,
        after=asked.cursor,
    )
    if asked.full:
        whole = await whole_page(call.workspace.engine, call.workspace.tenant, query)
        return Page(items=whole.items, next_cursor=whole.next_cursor)
    variables = None if asked.variables is None else read_variables(asked.variables)
    page = await instance_rows(
        call.workspace.engine,
        call.workspace.tenant,
        query,
        variables,
        key=asked.key,
        text=asked.text,
    )
    ticks = await schedules_of(call.workspace.engine, call.workspace.tenant, page.items)
    items = [instance_item(row, ticks.get(row.id)) for row in page.items]
    return Page(items=items, next_cursor=page.next_after)


@INSTANCES.get(
    "/{id}",
    response=InstanceView,
    headers=(("If-None-Match", 'The version that you have, such as "3": 304.'),),
    other_statuses=(304,),
)
async def get_instance(call: Call[InstanceWait]) -> Object:
    """Get an instance: its status, state, output and errors."""
    reference = call.workspace.at(call.path["id"])
    view = await reference.details()
    if call.query.wait > 0 and not Status(str(view["status"])).is_final:
        await ended_within(call, reference.id, call.query.wait)
        view = await reference.details()
    call.response_headers["etag"] = f'"{view["version"]}"'
    return view


class HistoryQuery(Query):
    """Which part of a log."""

    after: Annotated[int, Meta(ge=0)] | None = None
    """The page begins after the entry of this number; `nextCursor` is such a number, too."""
    cursor: Annotated[int, Meta(ge=0)] | None = None
    order: Literal["asc", "desc"] = "asc"
    limit: Limit = 100


class HistoryItem(Answer):
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


class ContextView(Answer):
    """The context of expressions, and the system's own values."""

    ctx: dict[str, JSON]
    system: dict[str, JSON]


class VariableView(Answer):
    """One value of an instance's context."""

    path: str
    value: JSON


class GraphView(Answer):
    """The workflow as a graph, with the progress of the instance."""

    instance_id: str
    workflow_definition_id: str
    definition_version: int
    status: Status
    nodes: list[dict[str, JSON]]
    """As in the graph form, each with its `run`: status, attempts and when."""
    edges: list[dict[str, JSON]]


class WaitsView(Answer):
    """The open waits of an instance, oldest first."""

    items: list[dict[str, JSON]]
    next_cursor: str | None


class UndoPlan(Answer):
    """The compensations that cancelling the instance now would run."""

    plan: list[dict[str, JSON]]
    skipped: list[dict[str, JSON]]


@INSTANCES.get("/{id}/history", response=Page[HistoryItem])
async def get_history(call: Call[HistoryQuery]) -> Object:
    """List the entries of an instance's log."""
    asked, id = call.query, call.path["id"]
    begin = asked.cursor if asked.cursor is not None else asked.after
    store = call.workspace.engine.store
    # The instance is not folded: each page of a long log would cost as much as the log.
    id = await stored_id(store, call.workspace.tenant, id)
    newest = (await store.instances.newest_seqs([id])).get(id, 0)
    entries = store.seen_by(call.workspace.tenant).instances.entries
    if asked.order == "asc":
        start = begin or 0

        async def read(count: int, before: Sequence[LogRow]) -> Sequence[LogRow]:
            return await entries(id, after=before[-1].seq if before else start, limit=count)
    else:
        end = newest + 1 if begin is None else min(begin, newest + 1)

        async def read(count: int, before: Sequence[LogRow]) -> Sequence[LogRow]:
            # Entries are numbered without gaps, so that a page is known by its numbers.
            below = before[-1].seq if before else end
            first = max(below - count, 1)
            found = await entries(id, after=first - 1, limit=below - first) if below > first else []
            return found[::-1]

    portions = Portions(call.workspace.engine.row_sizes, f"entries of {call.workspace.tenant}")
    rows, _ = await in_portions(asked.limit, read, _size_of_entry, portions)
    has_more = bool(rows) and (rows[-1].seq < newest if asked.order == "asc" else rows[-1].seq > 1)
    return {
        "items": [history_view(row) for row in rows],
        "nextCursor": str(rows[-1].seq) if has_more else None,
    }


def _size_of_entry(row: LogRow) -> int:
    return size_of_parts(row.payload, row.error_message)


class SnapshotView(Answer):
    """The state that a log leads to, for programs that fold logs."""

    instance_id: str
    version: int
    """The number of the entry that it is the state after."""
    snapshot: dict[str, JSON]
    entries: list[HistoryItem]
    """Those with values that are too large for a snapshot."""


@INSTANCES.get("/{id}/snapshot", response=SnapshotView)
async def get_snapshot(call: Call[NoQuery]) -> Object:
    """Get the state of an instance as the fold of its log; the log after it goes on from there."""
    engine = call.workspace.engine
    held = await held_by(engine, call.workspace.tenant, call.path["id"])
    id = held.state.id
    snapshot, seqs = await of_whole(engine, held, lambda: shown_snapshot(held.state))
    rows = await engine.store.instances.entries_at(id, seqs) if seqs else []
    return {
        "instanceId": id,
        "version": held.state.version,
        "snapshot": snapshot,
        "entries": [history_view(row) for row in rows],
    }


@INSTANCES.get("/{id}/context", response=ContextView)
async def get_context(call: Call[NoQuery]) -> Object:
    """Get the context of an instance's expressions."""
    return await call.workspace.at(call.path["id"]).context()


@INSTANCES.get("/{id}/variables/{path:path}")
async def get_variable(call: Call[NoQuery]) -> VariableView:
    """Get one value of an instance's context, such as `reservation.items[0].id`."""
    path = call.path["path"]
    held = await held_by(call.workspace.engine, call.workspace.tenant, call.path["id"])
    return VariableView(path=path, value=value_at(held.plan, held.state, path))


@INSTANCES.get("/{id}/graph", response=GraphView)
async def get_graph(call: Call[NoQuery]) -> Object:
    """Get an instance's workflow as a graph, with its progress."""
    engine = call.workspace.engine
    held = await held_by(engine, call.workspace.tenant, call.path["id"])
    return await of_whole(engine, held, lambda: _graph(held))


def _graph(held: Held) -> Object:
    document = to_graph_form(held.plan.definition)
    steps = state_of(held.plan, held.state)["steps"]
    assert isinstance(steps, dict)
    nodes = document["nodes"]
    assert isinstance(nodes, list)
    for node in nodes:
        assert isinstance(node, dict)
        run = steps.get(str(node["id"]))
        # A node in a loop has a run for each iteration: those are in its entries.
        node["run"] = _run(run) if isinstance(run, dict) else None
    return {
        "instanceId": held.state.id,
        "workflowDefinitionId": held.state.definition_id,
        "definitionVersion": held.state.definition_version,
        "status": held.state.status.value,
        "nodes": nodes,
        "edges": document["edges"],
    }


@INSTANCES.get("/{id}/waits", response=WaitsView)
async def get_waits(call: Call[NoQuery]) -> Object:
    """List the open waits of an instance, and their near misses."""
    return {"items": await call.workspace.at(call.path["id"]).waits(), "nextCursor": None}


class UndoPlanQuery(Query):
    """How it would be cancelled."""

    reason: str | None = None
    """Inputs of compensations may have the reason in them."""


@INSTANCES.get("/{id}/undo-plan", response=UndoPlan)
async def get_undo_plan(call: Call[UndoPlanQuery]) -> Object:
    """Get the compensations that cancelling an instance now would run."""
    return await call.workspace.at(call.path["id"]).undo_plan(call.query.reason)


class ExplanationView(Answer):
    """Why an instance does not progress, or how it ended."""

    instance_id: str
    status: Status
    summary: str
    causes: list[dict[str, JSON]]


class WidgetRequest(Body):
    """The value, and the widget that shows it."""

    widget_type: Literal["table", "chart", "number", "text"]
    widget_config: JSON


class WidgetView(Answer):
    """A value shaped for a widget; `data` is null while there is none."""

    instance_id: str
    status: Status
    ready: bool
    data: JSON
    error: str | UnsetType = UNSET


@INSTANCES.get("/{id}/explain", response=ExplanationView)
async def explain_instance(call: Call[NoQuery]) -> Object:
    """Explain why an instance does not progress, as a tree of causes."""
    return await call.workspace.at(call.path["id"]).explain()


@INSTANCES.post(
    "/{id}/widget", permission=Permission.INSTANCES_READ, response=WidgetView, is_audited=False
)
async def shape_widget(call: Call[NoQuery], body: WidgetRequest) -> Object:
    """Shape a value of an instance for a table, a chart, a number or a text."""
    return await call.workspace.at(call.path["id"]).widget(body.widget_type, body.widget_config)


def _run(step: Object) -> Object:
    shown = ("status", "attempts", "startedAt", "completedAt", "error", "errors")
    return {name: step[name] for name in shown if name in step}
