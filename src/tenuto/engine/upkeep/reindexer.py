"""Writes the search terms of instances again, page by page.

Instances that were written before values were indexed, or by an older program since, are found by
no value until the next write. The process that reindexes writes them itself: running processes have
no part in it, and older programs see nothing of it. Only instances of other processes are left to
them, by a mailbox message.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

from msgspec.structs import replace

from tenuto.engine.definitions.plans import Plans
from tenuto.model.errors import NotFound, Overloaded, StoreUnavailable, TenutoError
from tenuto.model.status import Status
from tenuto.model.test_run import is_test_run
from tenuto.store.parts.instances import InstanceQuery, InstanceRow
from tenuto.store.protocol import Store

OPEN: Final = tuple(status for status in Status if not status.is_final)
"""Of a workflow whose newest version has no terms: open approvals of older versions have."""
PAGE: Final = 100
"""Instances in memory, and under way, at a time."""


class Reindexer:
    """Goes through the instances of workflows with searchable values or approvals."""

    def __init__(
        self,
        *,
        store: Store,
        plans: Plans,
        index_again: Callable[[str], Awaitable[None]],
        page: int = PAGE,
    ) -> None:
        """`index_again` returns once the terms are durable."""
        self._store = store
        self._plans = plans
        self._index_again = index_again
        self._page = page

    async def run(self, workflow: str | None = None) -> AsyncIterator[int]:
        """Reindex all instances, or those of one workflow; yields the count after each page.

        It may be stopped at any time: beginning anew loses nothing.
        """
        done = 0
        async for rows in self._pages(workflow):
            done += await self._indexed(rows)
            yield done

    async def _pages(self, workflow: str | None) -> AsyncIterator[Sequence[InstanceRow]]:
        is_there = workflow is None
        for tenant in await self._store.upkeep.tenants():
            for id in await self._store.definitions.ids(tenant):
                if is_test_run(id) or workflow not in (None, id):
                    continue
                is_there = True
                is_searched = await self._is_found(tenant, id, None)
                async for rows in self._instances(tenant, id, () if is_searched else OPEN):
                    yield rows
        if not is_there:
            raise NotFound(f"there is no workflow {workflow}", code="TEN-2002")

    async def _instances(
        self, tenant: str, id: str, statuses: tuple[Status, ...]
    ) -> AsyncIterator[Sequence[InstanceRow]]:
        """Newest first: what comes meanwhile is indexed from its beginning."""
        query = InstanceQuery(tenant=tenant, definition_id=id, statuses=statuses, limit=self._page)
        while True:
            page = await self._store.instances.page(query)
            yield page.items
            if page.next_after is None:
                return
            query = replace(query, after=page.next_after)

    async def _is_found(self, tenant: str, id: str, version: int | None) -> bool:
        try:
            deployed = await self._plans.get(tenant, id, version)
        except StoreUnavailable:
            raise
        except TenutoError:
            # It was removed, or a newer program wrote it: that one has indexed its instances.
            return False
        return deployed.plan.is_found

    async def _indexed(self, rows: Sequence[InstanceRow]) -> int:
        """Reindex a page; returns how many. An error is raised once all of them are done."""
        results = await asyncio.gather(*map(self._is_indexed, rows), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return sum(result is True for result in results)

    async def _is_indexed(self, row: InstanceRow) -> bool:
        if not await self._is_found(row.tenant, row.definition_id, row.definition_version):
            return False
        try:
            await self._index_again(row.id)
        except (StoreUnavailable, Overloaded):
            raise
        except TenutoError:
            # It was deleted meanwhile, or a newer program has written, and indexed, it.
            return False
        return True
