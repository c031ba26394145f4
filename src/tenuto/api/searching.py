"""Instances whose variables have some values: found by looking at a bounded number of them."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from tenuto.api.bodies import WRONG_FIELD
from tenuto.api.variables import value_at
from tenuto.core import InstanceState, Plan
from tenuto.engine.held import Held
from tenuto.model.errors import InvalidInput, NotFound, Problem
from tenuto.model.json import JSON, Object
from tenuto.store.pages import cursor_after
from tenuto.store.protocol import InstancePage, InstanceQuery, InstanceRow
from tenuto.workspace import Workspace

MOST_LOOKED_AT = 500
"""So many instances are looked at for one page, which may be short: its cursor goes on."""
_AT_ONCE = 100

NOT_SEARCHABLE = "TEN-2615"


def read_variables(text: str) -> Object:
    """The values that are asked for, by the names of variables; InvalidInput."""
    try:
        return msgspec.json.decode(text, type=Object)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        problem = Problem(
            code=WRONG_FIELD,
            path="$.variables",
            message="it is not a JSON object",
            advice='Write names and values, such as `{"orderId":7}`, percent-encoded.',
        )
        raise InvalidInput("the query is not valid", [problem]) from None


async def page_with(workspace: Workspace, query: InstanceQuery, wanted: Object) -> InstancePage:
    """A page of those instances that a query finds whose variables have the wanted values."""
    await _refuse_unsearchable(workspace, query.definition_id, wanted)
    limit, found, looked_at = query.limit, list[InstanceRow](), 0
    query = replace(query, limit=_AT_ONCE)
    while True:
        page = await workspace.page(query)
        fitting = await _fitting(workspace, page.items, wanted)
        found += fitting
        looked_at += len(page.items)
        if len(found) > limit or (len(found) == limit and page.next_after is not None):
            return InstancePage(found[:limit], cursor_after(found[limit - 1]))
        if page.next_after is None or looked_at >= MOST_LOOKED_AT:
            return InstancePage(found, page.next_after)
        query = replace(query, after=page.next_after)


async def _refuse_unsearchable(workspace: Workspace, workflow: str | None, wanted: Object) -> None:
    if workflow is None:
        problem = Problem(
            code=NOT_SEARCHABLE,
            path="$.variables",
            message="which variables can be searched by depends on the workflow",
            advice="Name it as `workflowId`.",
        )
        raise InvalidInput("the query is not valid", [problem])
    definition = (await workspace.engine.plans.get(workspace.tenant, workflow)).plan.definition
    searchable = definition.options.searchable
    problems = [
        Problem(
            code=NOT_SEARCHABLE,
            path=f"$.variables.{name}",
            message=f"{workflow} does not list {name} as searchable",
            advice="List it in the `options.searchable` of the workflow.",
        )
        for name in wanted
        if name not in searchable
    ]
    if problems:
        raise InvalidInput("the query is not valid", problems)


async def _fitting(
    workspace: Workspace, rows: list[InstanceRow], wanted: Object
) -> list[InstanceRow]:
    loaded = await workspace.engine.loader.load([row.id for row in rows])
    return [
        row
        for row in rows
        if isinstance(held := loaded.get(row.id), Held) and _has(held.plan, held.state, wanted)
    ]


def _has(plan: Plan, state: InstanceState, wanted: Object) -> bool:
    try:
        return all(_is_same(value_at(plan, state, name), wanted[name]) for name in wanted)
    except (NotFound, InvalidInput):
        return False


def _is_same(value: JSON, wanted: JSON) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, dict) and isinstance(wanted, dict):
        return value.keys() == wanted.keys() and all(
            _is_same(value[name], wanted[name]) for name in value
        )
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(_is_same, value, wanted))
    return value == wanted
