"""What names something in the newest definitions of a tenant: each is looked at beside the loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final, TypeVar

from tenuto.engine.definitions.large_documents import LargeDocuments
from tenuto.engine.definitions.plans import is_there
from tenuto.model.test_run import is_test_run
from tenuto.store.protocol import Parts
from tenuto.workspace.portions import Portions, size_of_parts

T = TypeVar("T")

_PAGE: Final = 1_000


async def found_in_definitions(
    seen: Parts, values: LargeDocuments, tenant: str, written: bytes, look: Callable[[bytes], T]
) -> AsyncIterator[tuple[str, T]]:
    """The id of each definition in whose content something is written, and what a look finds."""
    after, portions = "", Portions()
    while True:
        wanted = portions.next(_PAGE, 0)
        rows = await seen.definitions.newest(tenant, after=after, limit=wanted)
        portions.add(size_of_parts(row.content) for row in rows)
        for row in rows:
            if written not in row.content or not is_there(row) or is_test_run(row.id):
                continue
            # To compile one of a megabyte takes seconds.
            yield row.id, await values.aside(partial(look, row.content), tenant=tenant)
        if len(rows) < wanted:
            return
        after = rows[-1].id
