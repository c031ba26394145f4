"""Bounds the bytes of what stays in the store: schedules, data queries, bulk operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Literal, TypeAlias, TypeVar

from tenuto.engine.bounded_counts import BoundedCounts
from tenuto.model.quotas import QuotaExceeded, Quotas
from tenuto.ports import Clock
from tenuto.store.protocol import Store

T = TypeVar("T")

DocumentQuota: TypeAlias = Literal["schedule_bytes", "data_query_bytes", "bulk_bytes"]
_Ask: TypeAlias = Callable[[str, int], Awaitable[int]]


class DocumentBytes:
    """Counts what this process stores and removes, and asks for what others do, now and then."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        spawn: Callable[[Coroutine[None, None, None]], object],
        quotas: Quotas,
    ) -> None:
        def counts(most: int, ask: _Ask) -> BoundedCounts:
            return BoundedCounts(ask, clock, spawn, most=most, is_shared=True, counts_first=True)

        self.counts: dict[str, BoundedCounts] = {
            "schedule_bytes": counts(
                quotas.schedule_bytes, lambda tenant, _: store.schedules.stored_bytes(tenant)
            ),
            "data_query_bytes": counts(
                quotas.data_query_bytes, lambda tenant, _: store.data_queries.stored_bytes(tenant)
            ),
            "bulk_bytes": counts(
                quotas.bulk_bytes, lambda tenant, _: store.bulk.stored_bytes(tenant)
            ),
        }

    async def keep(
        self, quota: DocumentQuota, tenant: str, more: int, save: Callable[[], Awaitable[T]]
    ) -> T:
        """Save a document with so many bytes more than before; what `save` returns.

        It is stored if that is true, or unknown after an error. QuotaExceeded.
        """
        counts = self.counts[quota]
        if more <= 0:
            saved = await save()
            if saved:
                counts.ended(tenant, -more)
            return saved
        if not await counts.admit(tenant, more):
            raise QuotaExceeded(quota, counts.known(tenant), counts.most)
        is_added = True
        try:
            saved = await save()
            is_added = bool(saved)
            return saved
        finally:
            counts.settled(tenant, more, added=is_added)

    def removed(self, quota: DocumentQuota, tenant: str, size: int) -> None:
        """A document of so many bytes is gone."""
        self.counts[quota].ended(tenant, size)
