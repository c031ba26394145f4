"""Pages of the instances of one tenant."""

from __future__ import annotations

from msgspec.structs import replace

from tenuto.model.json import Object
from tenuto.model.test_run import is_test_run
from tenuto.store.pages import cursor_after
from tenuto.store.parts.instances import InstancePage, InstanceQuery, InstanceRow
from tenuto.workspace.source import Source

_AT_ONCE = 500
"""So many instances are read together to pass over test runs."""


async def instance_rows(
    source: Source, tenant: str, query: InstanceQuery, variables: Object | None = None
) -> InstancePage:
    """A page of a tenant's instances, whatever tenant the query names.

    Test runs are listed only by their ids. `variables`: only those that have these values;
    InvalidInput where the workflow does not list them as searchable.
    """
    if variables is not None:
        # Loads compilers, which a list without variables does not need.
        from tenuto.engine.definitions.search_terms import terms_for  # noqa: PLC0415

        terms = await terms_for(source.plans, tenant, query.definition_id, variables)
        query = replace(query, terms=terms)
    rows: list[InstanceRow] = []
    query = replace(query, tenant=tenant)
    wanted, seen = query.limit, source.store.seen_by(tenant)
    while True:
        page = await seen.instances.page(query)
        if query.ids:
            return page
        rows += [row for row in page.items if not is_test_run(row.definition_id)]
        if len(rows) > wanted:
            return InstancePage(rows[:wanted], cursor_after(rows[wanted - 1]))
        if page.next_after is None or len(rows) == wanted:
            return InstancePage(rows, page.next_after)
        # There may be many test runs: they are passed over in few statements.
        ahead = max(wanted - len(rows), _AT_ONCE)
        query = replace(query, after=page.next_after, limit=ahead)
