"""Pages of the instances of one tenant."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tenuto.model.checks import refuse_bad_ids
from tenuto.model.durations import iso
from tenuto.model.family import read_tick_key, scheduled_id
from tenuto.model.json import Object
from tenuto.model.test_run import is_test_run
from tenuto.store.pages import cursor_after
from tenuto.store.parts.instances import InstancePage, InstanceQuery, InstanceRow
from tenuto.workspace.instance_text import MOST_SEARCHED, has_text
from tenuto.workspace.portions import Portions, size_of_parts
from tenuto.workspace.source import Source

_AT_ONCE = 500
"""So many instances more are read together to pass over test runs and those without a text."""


async def instance_rows(
    source: Source,
    tenant: str,
    query: InstanceQuery,
    variables: Object | None = None,
    *,
    key: str | None = None,
    text: str | None = None,
) -> InstancePage:
    """A page of a tenant's instances, whatever tenant the query names.

    Test runs are listed only by their ids. `key`: only the instance that was started with this
    idempotency key, which the table of keys tells. `variables`: only those that have these values;
    InvalidInput where the workflow does not list them as searchable. `text`: only those that have
    it in what a list shows; a page ends after 10,000 others, although there may be more.
    """
    if variables is not None:
        # Loads compilers, which a list without variables does not need.
        from tenuto.engine.definitions.search_terms import terms_for  # noqa: PLC0415

        terms = await terms_for(source.plans, tenant, query.definition_id, variables)
        query = replace(query, terms=terms)
    rows: list[InstanceRow] = []
    query = replace(query, tenant=tenant)
    seen, after = source.store.seen_by(tenant), query.after
    if key is not None:
        refuse_bad_ids(key=key)
        used = await seen.instances.used_key(tenant, key)
        if used is None or (query.ids and used.instance_id not in query.ids):
            return InstancePage([], None)
        query = replace(query, ids=(used.instance_id,))
    portions = Portions(source.row_sizes, f"instances of {tenant}")
    ahead = searched = 0
    while wanted := portions.next(query.limit + ahead, len(rows)):
        page = await seen.instances.page(replace(query, after=after, limit=wanted))
        after = page.next_after
        shown = [row for row in page.items if query.ids or not is_test_run(row.definition_id)]
        if text is not None:
            shown = [row for row in shown if has_text(row, text)]
            searched += len(page.items)
        rows += shown
        portions.add(map(_size, page.items))
        if after is None or len(rows) >= query.limit or searched >= MOST_SEARCHED:
            break
        # There may be many others: they are passed over in few statements.
        ahead = _AT_ONCE if len(shown) < len(page.items) else 0
    if len(rows) > query.limit:
        return InstancePage(rows[: query.limit], cursor_after(query, rows[query.limit - 1]))
    return InstancePage(rows, after)


async def schedules_of(
    source: Source, tenant: str, rows: Sequence[InstanceRow]
) -> dict[str, Object]:
    """By instance, the tick of a schedule that started it: `{id, nominal}`."""
    if not rows:
        return {}
    keys = await source.store.seen_by(tenant).instances.keys(tenant, [row.id for row in rows])
    found: dict[str, Object] = {}
    for instance_id, key in keys.items():
        tick = read_tick_key(key)
        # A principal may choose such a key, too; the id is that of the tick alone.
        if tick is not None and scheduled_id(tenant, *tick) == instance_id:
            id, nominal = tick
            found[instance_id] = {"id": id, "nominal": iso(nominal)}
    return found


def _size(row: InstanceRow) -> int:
    return size_of_parts(row.output, row.last_error, row.cancellation)
