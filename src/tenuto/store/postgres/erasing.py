"""Forgetting for good."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.erasing import erasable
from tenuto.store.erasing_protocol import DefinitionKey, Erasure
from tenuto.store.outbox_columns import share_of
from tenuto.store.postgres.outbox import together
from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.session import Transaction


async def erase_instances(
    pool: Pool, tenant: str, ids: Collection[str], manner: Erasure
) -> list[str]:
    async def work(transaction: Transaction) -> list[str]:
        # Whoever would go on with one of them (`still_there`) waits, and finds that it is gone;
        # and whoever has done so before is seen by the statements after this.
        named = {"ids": list(ids), "tenant": tenant}
        roots = [id for (id,) in await transaction.rows("lock_roots", named)]
        if not roots:
            return []
        below = await transaction.rows("lock_children", {"ids": roots})
        members = [(root, root) for root in roots] + [(root, id) for root, id in below]
        asked = {
            "ids": [id for _, id in members],
            "shares": [share_of(id) for _, id in members],
            "with_dead_letters": manner.with_dead_letters,
            "with_debts": manner.with_debts,
        }
        busy = {id for (id,) in await transaction.rows("busy_instances", asked)}
        families = erasable((root, id, id not in busy) for root, id in members)
        if families and not manner.dry_run:
            gone = [id for family in families.values() for id in family]
            shares = [share_of(id) for id in gone]
            await transaction.rows("erase_instances", {"ids": gone, "shares": shares})
        return sorted(families)

    return await together(pool, work)


async def erase_definition(pool: Pool, tenant: str, id: str) -> None:
    await pool.rows("erase_definition", {"tenant": tenant, "id": id})


async def old_rehearsals(pool: Pool, before: datetime, limit: int) -> list[DefinitionKey]:
    found = await pool.rows("old_rehearsals", {"before": epoch_ms(before), "limit": limit})
    return [DefinitionKey(*row) for row in found]
