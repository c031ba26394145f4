"""What tenants have stored, about, and the refusal of more: their quotas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from tenuto.engine.bounded_counts import BoundedCounts
from tenuto.engine.document_bytes import DocumentBytes
from tenuto.engine.shared import Shared
from tenuto.engine.turns.draft import Draft
from tenuto.model.events import Event
from tenuto.model.json import size_of
from tenuto.model.quotas import QuotaExceeded
from tenuto.store.parts.upkeep import ROW_BYTES, WEIGHED, Place, Stored

_SHOWN = 0.8
"""Quotas of which more than this share is used are shown in metrics."""

Sizes: TypeAlias = Callable[[], Mapping[str, int]]
"""The bytes of each tenant, of what a process has in memory."""


class Usage:
    """Counts instances, waits, events, bytes of tenants; an index of the store has the last word.

    Ends of waits and of events, and what is erased, are not counted here: they are found when the
    store is asked.
    """

    def __init__(self, shared: Shared) -> None:
        quotas, is_shared = shared.settings.quotas, shared.store.is_shared
        self._instances = _counts(shared, "instances", quotas.instances, is_shared=is_shared)
        self._waits = _counts(shared, "waits", quotas.waits, is_shared=True)
        self._events = _counts(shared, "events", quotas.events, is_shared=True)
        self._bytes = BoundedCounts(
            partial(_weighed, shared),
            shared.clock,
            shared.background.spawn,
            most=quotas.bytes,
            is_shared=True,
            full_seconds=shared.settings.bounds.weigh_again,
        )
        self._of_starts = (
            ("instances", self._instances),
            ("waits", self._waits),
            ("bytes", self._bytes),
        )
        self.documents = DocumentBytes(shared.store, shared.clock, shared.background.spawn, quotas)
        self._counts: dict[str, BoundedCounts] = {
            "instances": self._instances,
            "waits": self._waits,
            "events": self._events,
            "bytes": self._bytes,
            **self.documents.counts,
        }
        self._held: dict[str, tuple[Sizes, int]] = {}

    def watch(self, quota: str, sizes: Sizes, most: int) -> None:
        """Show a quota of what this process has in memory, which refuses by itself."""
        self._held[quota] = (sizes, most)

    async def refuse_start(self, tenant: str) -> None:
        """QuotaExceeded where a tenant has too many instances, waits or bytes for another start."""
        for name, counts in self._of_starts:
            if not counts.has_room(tenant):
                await _refuse(name, counts, tenant)

    async def admit_document(self, tenant: str, size: int) -> None:
        """QuotaExceeded where a tenant has too many bytes for a document; it counts from now on."""
        await _refuse("bytes", self._bytes, tenant)
        self._bytes.added(tenant, size)

    async def admit_event(self, tenant: str) -> None:
        """QuotaExceeded where a tenant has too many events, or bytes, for another from outside."""
        if not self._bytes.has_room(tenant):
            await _refuse("bytes", self._bytes, tenant)
        if not (self._events.admits(tenant) or await self._events.admit(tenant)):
            raise QuotaExceeded("events", self._events.most, self._events.most)

    def settle_event(self, event: Event, *, is_stored: bool) -> None:
        """An event that was admitted is in the inbox, or was not stored."""
        self._events.settled(event.tenant, added=is_stored)
        if is_stored:
            self._bytes.added(event.tenant, size_of(event.payload) + ROW_BYTES)

    def stored_lines(self, tenant: str, size: int) -> None:
        """Lines of a tenant's tasks are stored."""
        self._bytes.added(tenant, size)

    def concluded(self, drafts: Sequence[Draft]) -> None:
        """Instances have grown, begun, opened waits, published events, or ended."""
        sizes: dict[str, int] = {}
        for draft in drafts:
            tenant, before = draft.held.tenant, draft.before
            sizes[tenant] = sizes.get(tenant, 0) + draft.size
            is_moved = draft.state.status is not before.status or not before.version
            if is_moved or draft.owed is not None:
                self._count(draft)
        for tenant, size in sizes.items():
            if size:
                self._bytes.added(tenant, size)

    def _count(self, draft: Draft) -> None:
        tenant, state, before = draft.held.tenant, draft.state, draft.before
        if state.version and not before.version:
            self._instances.added(tenant)
        if (
            state.status is not before.status
            and state.status.is_final
            and not before.status.is_final
        ):
            self._instances.ended(tenant)
        if draft.owed is not None:
            if opened := draft.waits_opened:
                self._waits.added(tenant, opened)
            if published := draft.events_published:
                self._events.added(tenant, published)

    def shown(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Used and limit by quota and tenant, of those that are nearly used up."""
        return {
            (name, tenant): (used, counts.most)
            for name, counts in self._counts.items()
            for tenant, used in counts.above(_SHOWN).items()
        } | {
            (name, tenant): (used, most)
            for name, (sizes, most) in self._held.items()
            for tenant, used in sizes().items()
            if used > _SHOWN * most
        }


def _counts(shared: Shared, what: Stored, most: int, *, is_shared: bool) -> BoundedCounts:
    return BoundedCounts(
        partial(shared.store.upkeep.stored, what),
        shared.clock,
        shared.background.spawn,
        most=most,
        is_shared=is_shared,
    )


async def _weighed(shared: Shared, tenant: str, most: int) -> int:
    """The bytes of a tenant, about, up to a bound: what changes meanwhile may be left out."""
    upkeep, until = shared.store.upkeep, shared.clock.now()
    rows = shared.settings.bounds.weighed_rows
    size = 0
    for what in WEIGHED:
        after: Place | None = Place()
        while after is not None and size < most:
            weight = await upkeep.weigh(what, tenant, after=after, until=until, limit=rows)
            size += weight.size
            after = weight.after
    return size


async def _refuse(name: str, counts: BoundedCounts, tenant: str) -> None:
    verdict = counts.has_room(tenant)
    if not verdict and not (verdict is None and await counts.room(tenant)):
        raise QuotaExceeded(name, counts.most, counts.most)
