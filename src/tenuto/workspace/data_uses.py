"""What names data sources and data queries: queries, and the newest versions of definitions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tenuto.definition import check
from tenuto.definition.query_places import query_places
from tenuto.engine.definitions.plans import is_there
from tenuto.model.test_run import is_test_run
from tenuto.store.protocol import Parts

MOST = 100
"""So many are named."""
_PAGE = 200
_SHOWN = 5


async def queries_of(seen: Parts, tenant: str, source_id: str) -> list[str]:
    """The data queries of a data source."""
    rows = await seen.data_queries.page(tenant, data_source_id=source_id, limit=MOST)
    return [row.id for row in rows]


async def workflows_of(seen: Parts, tenant: str, query_id: str) -> list[str]:
    """The workflows whose newest versions run a data query."""
    found: list[str] = []
    after = ""
    while True:
        rows = await seen.definitions.newest(tenant, after=after, limit=_PAGE)
        found += [
            row.id
            for row in rows
            if is_there(row)
            and not is_test_run(row.id)
            and b"dataQueryID" in row.content
            and _names(row.content, query_id)
        ]
        if len(rows) < _PAGE or len(found) >= MOST:
            return found[:MOST]
        after = rows[-1].id


def listed(kind: str, ids: Sequence[str]) -> str:
    """Ids in words."""
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    many = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return f"the {kind if len(ids) == 1 else many} {', '.join(ids[:_SHOWN])}{more}"


def _names(content: bytes, id: str) -> bool:
    definition = check(msgspec.json.decode(content)).definition
    return definition is not None and any(place.query == id for place in query_places(definition))
