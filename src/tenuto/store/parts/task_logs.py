"""Lines that tasks logged and printed, in chunks of one attempt each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from tenuto.model.durations import epoch_ms
from tenuto.model.task_logs import CHUNK_BYTES, MOST_BYTES, MOST_OF_INSTANCE
from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Ask, Script
from tenuto.store.cold.rows import columns_of
from tenuto.store.marks import for_tenants, writes

Whole = Annotated[int, Meta(ge=0, lt=1 << 53)]
_FROM_BEGINNING = (-1, "", "", 0, 0)


class TaskLogRow(Struct, frozen=True, gc=False, kw_only=True):
    """Successive lines of one attempt. They are opaque to the store."""

    instance_id: str
    step: str
    iteration: str
    attempt: int
    first: int
    """The number of its first line within the attempt."""
    size: int
    """What its lines count of the bytes that an attempt may have."""
    lines: bytes
    at: datetime | None = None
    """When it was written, which orders chunks; set by the store's verb.

    Moved to after the chunks before it of its step, by attempt and number, and before those after
    it, which another process may have written by another clock.
    """


class TaskLogPlace(NamedTuple):
    """A place in the list of an instance's chunks, which is ordered by these fields."""

    at_ms: Whole
    step: str
    iteration: str
    attempt: Whole
    first: Whole


class TaskLogs(ColdPart):
    """What tasks logged and printed; it goes with the instance. All verbs may be repeated."""

    @writes
    async def add(self, rows: Sequence[TaskLogRow], now: datetime) -> dict[str, int]:
        """Store chunks, written `now`; the bytes of those that were stored, by tenant.

        A chunk with the same first line replaces a smaller one, which is its beginning. Chunks of
        instances that are not there, or are being erased, are dropped, and those with which an
        attempt would have more than its bytes. The oldest chunks of an instance go when it has
        more than its bytes.
        """
        if not rows:
            return {}
        written = {"at": epoch_ms(now), "most": MOST_BYTES}

        def script() -> Script[dict[str, int]]:
            stored: dict[str, int] = {}
            # In the order of ids, as instances are erased: neither waits for the other in turn.
            for row in sorted(rows, key=lambda each: each.instance_id):
                for (tenant,) in (yield Ask("put_task_log", columns_of(row) | written)):
                    stored[tenant] = stored.get(tenant, 0) + row.size + CHUNK_BYTES
            for id in sorted({row.instance_id for row in rows}):
                bound = {"most": MOST_OF_INSTANCE, "row_bytes": CHUNK_BYTES}
                yield Ask("trim_task_logs", {"instance_id": id, **bound})
            return stored

        return await self._port.transaction(script)

    @for_tenants
    async def page(
        self,
        tenant: str,
        instance_id: str,
        limit: int,
        *,
        step: str | None = None,
        iteration: str | None = None,
        attempt: int | None = None,
        since: TaskLogPlace | None = None,
    ) -> list[TaskLogRow]:
        """Chunks of an instance in the order in which they were written, from `since` on."""
        at, from_step, from_iteration, from_attempt, first = since or _FROM_BEGINNING
        which = {
            "tenant": tenant,
            "instance_id": instance_id,
            "step": step,
            "iteration": iteration,
            "attempt": attempt,
            "from_at": at,
            "from_step": from_step,
            "from_iteration": from_iteration,
            "from_attempt": from_attempt,
            "from_first": first,
            "limit": limit,
        }
        return await self._found(TaskLogRow, "task_logs", which)
