"""The line of the audit log with what came of a bulk operation."""

from __future__ import annotations

from tenuto.access.redaction import recorded, storable
from tenuto.model.json import Object
from tenuto.ports import Clock
from tenuto.store.parts.audit import Audit, AuditEntry
from tenuto.store.parts.bulk import BulkRow
from tenuto.workspace.bulk.request import BulkAsked, Progress


async def record_end(
    audit: Audit, clock: Clock, row: BulkRow, asked: BulkAsked, progress: Progress
) -> None:
    """Return once the line is durable; the line of an operation that ends twice is written once.

    Its action is that of the request that started the operation, and its target the operation.
    """
    counts: Object = {
        "id": row.id,
        "action": asked.action,
        "status": progress.status,
        "matched": progress.matched,
        "done": progress.done,
        "failed": progress.failed,
    }
    line = AuditEntry(
        id=f"bulk-{row.id}",
        tenant=row.tenant,
        at=clock.now(),
        actor=storable(asked.by),
        kind="system",
        credential=storable(asked.by),
        action="backfill_schedule"
        if asked.is_backfill
        else "start_bulk"
        if asked.is_on_instances
        else "start_bulk_of_dead_letters",
        target=row.id,
        outcome="done",
        after=recorded(counts),
    )
    await audit.append([line])
