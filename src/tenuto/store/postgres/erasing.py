"""Forgetting for good."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.erasing_protocol import DefinitionKey
from tenuto.store.outbox_columns import share_of
from tenuto.store.postgres.pool import Pool


async def erase_instance(pool: Pool, tenant: str, instance_id: str) -> bool:
    which = {"tenant": tenant, "id": instance_id, "share": share_of(instance_id)}
    return bool(await pool.rows("erase_instance", which))


async def erase_definition(pool: Pool, tenant: str, id: str) -> None:
    await pool.rows("erase_definition", {"tenant": tenant, "id": id})


async def old_rehearsals(pool: Pool, before: datetime, limit: int) -> list[DefinitionKey]:
    found = await pool.rows("old_rehearsals", {"before": epoch_ms(before), "limit": limit})
    return [DefinitionKey(*row) for row in found]
