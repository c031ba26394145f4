"""Operations on data sources: save, list, get, remove, test."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.entity_tags import version_to_change
from tenuto.api.named_document import named
from tenuto.api.operation import API, Resource
from tenuto.api.paging import Page, PageQuery
from tenuto.api.problems import Refusal
from tenuto.api.shapes import Query
from tenuto.model.errors import Conflict
from tenuto.model.json import JSON
from tenuto.workspace import audit_values
from tenuto.workspace.data_values import SavedDataSource, SourceTest

SOURCES = Resource(
    f"{API}/data-sources", tag="data", read=Permission.DATA_READ, write=Permission.DATA_WRITE
)
IF_MATCH = (("If-Match", 'The version that was changed, such as "3"; `*`: any.'),)


class DataSourceQuery(Query):
    """What to show beside the data source."""

    include: Literal["uses"] | None = None
    """`uses`: also the data queries that name it."""


@SOURCES.post(status=201, other_statuses=(409,), size="value")
async def add_data_source(call: Call[NoQuery], body: JSON) -> SavedDataSource:
    """Save a new data source; without an id it gets a free one, made of its name."""
    return _answer(call, await call.workspace.data_sources.create(body), is_new=True)


@SOURCES.get()
async def list_data_sources(call: Call[PageQuery]) -> Page[SavedDataSource]:
    """List data sources, ordered by id."""
    asked = call.query
    found = await call.workspace.data_sources.page(limit=asked.limit, cursor=asked.cursor)
    return Page(items=found.items, next_cursor=found.next_cursor)


@SOURCES.get(
    "/{id}",
    headers=(("If-None-Match", 'The version that you have, such as "3": 304.'),),
    other_statuses=(304,),
)
async def get_data_source(call: Call[DataSourceQuery]) -> SavedDataSource:
    """Get a data source; a password is never part of it."""
    sources, id = call.workspace.data_sources, call.path["id"]
    found = await sources.get(id)
    if call.query.include == "uses":
        return replace(found, used_by=await sources.uses(id))
    call.response_headers["etag"] = f'"{found.version}"'
    return found


@SOURCES.put("/{id}", headers=IF_MATCH, other_statuses=(201, 412), size="value")
async def put_data_source(call: Call[NoQuery], body: JSON) -> SavedDataSource:
    """Save a data source, new or not; with If-Match only the version that it names."""
    sources, id = call.workspace.data_sources, call.path["id"]
    before = await audit_values.data_source_before(sources, id)
    only_after = version_to_change(call.headers, before, "TEN-3144")
    try:
        saved = await sources.save(named(body, id, "data source"), only_after=only_after)
    except Conflict as error:
        raise Refusal(412, error.code, error.message, error.advice) from None
    call.before = before
    return _answer(call, saved, is_new=before is None)


@SOURCES.delete("/{id}", other_statuses=(409,))
async def remove_data_source(call: Call[NoQuery]) -> None:
    """Remove a data source that no data query names."""
    sources, id = call.workspace.data_sources, call.path["id"]
    call.before = await audit_values.data_source_before(sources, id)
    await sources.remove(id)


@SOURCES.post("/{id}/test", permission=Permission.DATA_RUN, may_be_empty=True)
async def test_data_source(call: Call[NoQuery]) -> SourceTest:
    """Connect to the database of a data source, and say what it is, or why that failed."""
    tested = await call.workspace.data_sources.test(call.path["id"])
    call.after = audit_values.source_test(tested)
    return tested


def _answer(call: Call[NoQuery], saved: SavedDataSource, *, is_new: bool) -> SavedDataSource:
    call.status = 201 if is_new else 200
    call.response_headers["etag"] = f'"{saved.version}"'
    call.response_headers["location"] = f"{API}/data-sources/{saved.id}"
    call.after = audit_values.data_source(saved)
    return saved
