"""What names data sources and data queries: queries, and the newest versions of definitions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import attrgetter

import msgspec

from tenuto.definition import check
from tenuto.definition.query_places import query_places
from tenuto.engine.definitions.large_documents import LargeDocuments
from tenuto.store.parts.data_queries import DataQueryRow
from tenuto.store.protocol import Parts
from tenuto.workspace.definition_uses import found_in_definitions
from tenuto.workspace.portions import page_by_name, size_of_parts

MOST = 100
"""So many are named."""
_SHOWN = 5


async def queries_of(seen: Parts, tenant: str, source_id: str) -> list[str]:
    """The data queries of a data source."""

    async def read(after: str, count: int) -> Sequence[DataQueryRow]:
        return await seen.data_queries.page(
            tenant, data_source_id=source_id, after=after, limit=count
        )

    rows, _ = await page_by_name(
        MOST, None, read, name=attrgetter("id"), size=lambda row: size_of_parts(row.document)
    )
    return [row.id for row in rows]


async def workflows_of(
    seen: Parts, values: LargeDocuments, tenant: str, query_id: str
) -> list[str]:
    """The workflows whose newest versions run a data query."""
    found: list[str] = []
    # An id has no letters that JSON writes in another way.
    written, look = f'"{query_id}"'.encode(), partial(_names, id=query_id)
    async for workflow, is_named in found_in_definitions(seen, values, tenant, written, look):
        if is_named:
            found.append(workflow)
        if len(found) == MOST:
            break
    return found


def listed(kind: str, ids: Sequence[str]) -> str:
    """Ids in words."""
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    many = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return f"the {kind if len(ids) == 1 else many} {', '.join(ids[:_SHOWN])}{more}"


def _names(content: bytes, id: str) -> bool:
    definition = check(msgspec.json.decode(content)).definition
    return definition is not None and any(place.query == id for place in query_places(definition))
