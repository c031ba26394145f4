"""Instances and their logs, and how they are erased."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tenuto.model.log import LogRow
from tenuto.model.status import Status
from tenuto.store.columns import InstanceColumns, instance_row
from tenuto.store.erasing import erasable
from tenuto.store.looking import looked_for
from tenuto.store.outbox_columns import share_of
from tenuto.store.pages import cursor_after, is_by_change, page_bounds
from tenuto.store.parts.instances import (
    ANY_DEFINITION,
    CAREFULLY,
    Erasure,
    InstancePage,
    InstanceQuery,
    Instances,
    UsedKey,
)
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.queries import Column, page_of_instances
from tenuto.store.postgres.session import Transaction


class PostgresInstances(Instances):
    """Instances and entries in tables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, query: InstanceQuery) -> InstancePage:
        look = _page(self._database.connections, self._database.address.schema, query)
        return await looked_for(look, nothing=InstancePage([], None))

    async def entries(self, instance_id: str, *, after: int = 0, limit: int = 1000) -> list[LogRow]:
        page = {"instance_id": instance_id, "after": after, "limit": limit}
        look = self._database.connections.rows("entries_after", page)
        return [LogRow._make(row) for row in await looked_for(look, nothing=[])]

    async def entries_at(self, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
        wanted = {"instance_id": instance_id, "seqs": list(seqs)}
        found = await self._database.connections.rows("entries_at", wanted)
        return [LogRow._make(row) for row in found]

    async def newest_seqs(self, instance_ids: Collection[str]) -> dict[str, int]:
        pool = self._database.connections
        ids = list(dict.fromkeys(instance_ids))
        found = await pool.rows("newest_seqs", {"ids": ids}) if ids else ()
        return {row[0]: row[1] for row in found}

    async def ended(self, instance_ids: Collection[str]) -> dict[str, bool]:
        ids = list(dict.fromkeys(instance_ids))
        pool = self._database.connections
        found = await pool.rows("ended_instances", {"ids": ids}) if ids else ()
        return {row[0]: row[1] for row in found}

    async def used_key(self, tenant: str, key: str) -> UsedKey | None:
        which = {"tenant": [tenant], "key": [key]}
        look = self._database.connections.rows("used_keys", which)
        found = await looked_for(look, nothing=[])
        return UsedKey(*found[0][2:]) if found else None

    async def keys(self, tenant: str, instance_ids: Collection[str]) -> dict[str, str]:
        which = {"ids": list(instance_ids), "tenant": tenant}
        found = await self._database.connections.rows("keys_of_instances", which)
        return {row[0]: row[1] for row in found}

    async def open_of_origin(self, origin_id: str, most: int) -> int:
        which = {"origin_id": origin_id, "most": most}
        [(found,)] = await self._database.connections.rows("open_of_origin", which)
        return int(found)

    async def erase(
        self, tenant: str, ids: Collection[str], manner: Erasure = CAREFULLY
    ) -> list[str]:
        async def work(transaction: Transaction) -> list[str]:
            # A turn that continues one of them (`still_there`) waits, and finds that it is gone;
            # and a turn that has done so before is seen by the statements after this.
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

        self._database.require_writer()
        return await self._database.pool.transaction(work)


async def _page(pool: Pool, schema: str, query: InstanceQuery) -> InstancePage:
    terms = list(query.terms)
    lead = query.mark
    if terms and not query.ids and not is_by_change(query):
        lead = terms.pop(await _rarest(pool, query))
    filters: dict[str, Column] = {
        **page_bounds(query),
        "ids": list(dict.fromkeys(query.ids)),
        "statuses": [status.value for status in query.statuses or Status],
        "definition_id": query.definition_id if query.mark is None else ANY_DEFINITION,
        "correlation_id": query.correlation_id,
        "step_id": query.current_step,
        "waiting_for": query.waiting_for,
        "roots": query.roots,
        "parent_id": query.parent_id,
        "names": [term.name for term in terms],
        "values": [term.value for term in terms],
        "name": lead and lead.name,
        "value_text": lead and lead.value,
    }
    found = await pool.fetch(page_of_instances(_narrowest(query), schema), filters)
    rows = [instance_row(InstanceColumns._make(row)) for row in found]
    shown = rows[: query.limit]
    if len(rows) <= query.limit or not shown:
        return InstancePage(shown, None)
    return InstancePage(shown, cursor_after(query, shown[-1]))


async def _rarest(pool: Pool, query: InstanceQuery) -> int:
    """The most selective term; the other terms filter its results."""
    if len(query.terms) == 1:
        return 0
    asked = {
        "tenant": query.tenant,
        "definition_id": query.definition_id,
        "names": [term.name for term in query.terms],
        "values": [term.value for term in query.terms],
    }
    [(rarest,)] = await pool.rows("rarest_term", asked)
    return int(rarest)


def _narrowest(query: InstanceQuery) -> str:
    if query.ids:
        return "positions_by_id"
    if is_by_change(query):
        return "positions_by_change"
    if query.terms or query.mark is not None:
        return "positions_by_value"
    if query.current_step is not None:
        return "positions_by_step"
    if query.correlation_id is not None:
        return "positions_by_correlation"
    if query.waiting_for is not None:
        return "positions_by_wait"
    if query.parent_id is not None:
        return "positions_by_parent"
    if query.definition_id is not None:
        return "positions_by_root_definition" if query.roots else "positions_by_definition"
    if query.roots:
        return "positions_by_root_status" if query.statuses else "positions_by_root"
    return "positions_by_status"
