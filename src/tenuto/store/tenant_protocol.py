"""The verbs of a store by which something is read for one tenant.

They are those of the store itself, with the same meaning. A store that can keeps the other tenants'
rows out of them by itself, whatever is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.store.access_protocol import AuditHead, AuditQuery, AuditRow, KeyRow
from tenuto.store.bulk_protocol import BulkPlace, BulkRow
from tenuto.store.outbox_protocol import Backlog, Listener
from tenuto.store.stats_protocol import Tally, WaitingJobs
from tenuto.store.task_protocol import TaskRow

if TYPE_CHECKING:
    from tenuto.store.protocol import (
        DeadLetterPlace,
        DeadLetterRow,
        DefinitionRow,
        Delivery,
        EventPlace,
        InboxEvent,
        InstancePage,
        InstanceQuery,
        PastEvents,
        PastPage,
        WaitKey,
        WaitRow,
        WaitTerm,
    )


class AuditReads(Protocol):
    """What is read of a tenant's audit log."""

    async def audit(self, query: AuditQuery) -> list[AuditRow]: ...

    async def audit_lines(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]: ...

    async def audit_head(self, tenant: str) -> AuditHead: ...


class TenantReads(AuditReads, Protocol):
    """A store as it is seen by one tenant."""

    async def instances(self, query: InstanceQuery) -> InstancePage: ...

    async def entries(
        self, instance_id: str, *, after: int = 0, limit: int = 1000
    ) -> list[LogRow]: ...

    async def definition(
        self, tenant: str, id: str, version: int | None = None
    ) -> DefinitionRow | None: ...

    async def definition_ids(self, tenant: str) -> list[str]: ...

    async def newest_definitions(
        self, tenant: str, *, after: str = "", limit: int
    ) -> list[DefinitionRow]: ...

    async def waits(self, instance_id: str) -> list[WaitRow]: ...

    async def wait_terms(self, tenant: str, pattern: str) -> list[WaitTerm]: ...

    async def waits_for(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int, after: WaitKey | None = None
    ) -> list[WaitRow]: ...

    async def waits_near(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int
    ) -> list[WaitRow]: ...

    async def past_events(
        self, asked: PastEvents, *, after: int = 0, limit: int = 100
    ) -> PastPage: ...

    async def latest_events(
        self,
        tenant: str,
        pattern: str | None,
        since: datetime,
        *,
        limit: int,
        below: EventPlace | None = None,
    ) -> list[tuple[int, Event]]: ...

    async def event(self, tenant: str, id: str) -> InboxEvent | None: ...

    async def deliveries_of(self, tenant: str, event_id: str) -> list[Delivery]: ...

    async def dead_letters(
        self, tenant: str, limit: int = 100, *, below: DeadLetterPlace | None = None
    ) -> list[DeadLetterRow]: ...

    async def dead_letter(self, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None: ...

    async def listeners(self, tenant: str | None) -> list[Listener]: ...

    async def backlogs(self, tenant: str) -> dict[str, Backlog]: ...

    async def task(self, tenant: str, id: str) -> TaskRow | None: ...

    async def tasks(self, tenant: str, *, after: str = "", limit: int = 1_000) -> list[TaskRow]: ...

    async def bulk(self, tenant: str, id: str) -> BulkRow | None: ...

    async def bulks(
        self, tenant: str, limit: int, *, below: BulkPlace | None = None
    ) -> list[BulkRow]: ...

    async def tallies(
        self, tenant: str, since: datetime, apart_from: datetime, most: int
    ) -> list[Tally]: ...

    async def waiting_jobs(self, tenant: str, most: int) -> WaitingJobs: ...

    async def keys(self, tenant: str) -> list[KeyRow]: ...


class SeenByTenants(Protocol):
    """A store of several tenants."""

    def seen_by(self, tenant: str) -> TenantReads:
        """The store as a tenant sees it; where it has no wall between them, the store itself.

        What is asked for still names the tenant: this is the second wall, for the day on which the
        first has a hole.
        """
