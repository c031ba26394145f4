"""Operations on data queries: save, list, get, remove, run."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from tenuto.access.permissions import Permission
from tenuto.access.principal import refuse_unless
from tenuto.api.call import Call, NoQuery
from tenuto.api.entity_tags import version_to_change
from tenuto.api.named_document import named
from tenuto.api.operation import API, Resource
from tenuto.api.operations.data_sources import IF_MATCH
from tenuto.api.paging import Page, PageQuery
from tenuto.api.problems import Refusal
from tenuto.api.shapes import Body, Query
from tenuto.model.errors import Conflict
from tenuto.model.json import JSON
from tenuto.workspace import audit_values
from tenuto.workspace.data_values import QueryRun, SavedDataQuery

QUERIES = Resource(
    f"{API}/data-queries", tag="data", read=Permission.DATA_READ, write=Permission.DATA_WRITE
)


class DataQueryQuery(Query):
    """What to show beside the data query."""

    include: Literal["uses"] | None = None
    """`uses`: also the workflows that run it."""


class RunRequest(Body):
    """The arguments of a query."""

    args: dict[str, JSON] = msgspec.field(default_factory=dict)
    """A value for each parameter of the query."""


@QUERIES.post(status=201, other_statuses=(409,), size="value")
async def add_data_query(call: Call[NoQuery], body: JSON) -> SavedDataQuery:
    """Save a new data query; without an id it gets a free one, made of its name."""
    return _answer(call, await call.workspace.data_queries.create(body), is_new=True)


@QUERIES.get()
async def list_data_queries(call: Call[PageQuery]) -> Page[SavedDataQuery]:
    """List data queries, ordered by id."""
    asked = call.query
    found = await call.workspace.data_queries.page(limit=asked.limit, cursor=asked.cursor)
    return Page(items=found.items, next_cursor=found.next_cursor)


@QUERIES.get(
    "/{id}",
    headers=(("If-None-Match", 'The version that you have, such as "3": 304.'),),
    other_statuses=(304,),
)
async def get_data_query(call: Call[DataQueryQuery]) -> SavedDataQuery:
    """Get a data query."""
    queries, id = call.workspace.data_queries, call.path["id"]
    if call.query.include == "uses":
        refuse_unless(call.principal, Permission.WORKFLOWS_READ)
        return replace(await queries.get(id), used_by=await queries.uses(id))
    found = await queries.get(id)
    call.response_headers["etag"] = f'"{found.version}"'
    return found


@QUERIES.put("/{id}", headers=IF_MATCH, other_statuses=(201, 412), size="value")
async def put_data_query(call: Call[NoQuery], body: JSON) -> SavedDataQuery:
    """Save a data query, new or not; with If-Match only the version that it names."""
    queries, id = call.workspace.data_queries, call.path["id"]
    before = await audit_values.data_query_before(queries, id)
    only_after = version_to_change(call.headers, before, "TEN-3148")
    try:
        saved = await queries.save(named(body, id, "data query"), only_after=only_after)
    except Conflict as error:
        raise Refusal(412, error.code, error.message, error.advice) from None
    call.before = before
    return _answer(call, saved, is_new=before is None)


@QUERIES.delete("/{id}", other_statuses=(409,))
async def remove_data_query(call: Call[NoQuery]) -> None:
    """Remove a data query that no workflow runs."""
    queries, id = call.workspace.data_queries, call.path["id"]
    call.before = await audit_values.data_query_before(queries, id)
    await queries.remove(id)


@QUERIES.post("/{id}/run", permission=Permission.DATA_RUN, size="value", may_be_empty=True)
async def run_data_query(call: Call[NoQuery], body: RunRequest) -> QueryRun:
    """Try a data query: its rows, or the failure that a step would have."""
    ran = await call.workspace.data_queries.run(call.path["id"], body.args)
    call.after = audit_values.query_run(ran)
    return ran


def _answer(call: Call[NoQuery], saved: SavedDataQuery, *, is_new: bool) -> SavedDataQuery:
    call.status = 201 if is_new else 200
    call.response_headers["etag"] = f'"{saved.version}"'
    call.response_headers["location"] = f"{API}/data-queries/{saved.id}"
    call.after = audit_values.data_query(saved)
    return saved
