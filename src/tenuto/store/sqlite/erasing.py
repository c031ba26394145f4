"""Forgetting for good; statements of one connection."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.erasing import erasable
from tenuto.store.erasing_protocol import DefinitionKey, Erasure
from tenuto.store.sqlite.session import Column, Session, as_json

_ABOUT_THEM = (
    "erase_steps",
    "delete_searchable",
    "erase_snapshots",
    "erase_logs",
    "erase_keys",
    "erase_waits",
    "erase_deliveries",
    "erase_timers",
    "erase_mail",
    "erase_owners",
    "erase_jobs",
    "erase_dead_letters",
    "erase_outbox",
    "erase_postings",
    "erase_instances",
)


def erase_instances(
    session: Session, tenant: str, ids: Collection[str], manner: Erasure
) -> list[str]:
    which: dict[str, Column] = {
        "tenant": tenant,
        "ids": as_json(list(ids)),
        "with_dead_letters": int(manner.with_dead_letters),
        "with_debts": int(manner.with_debts),
    }
    members = session.packed("families", which)
    families = erasable((root, id, bool(may_go)) for root, id, may_go in members)
    if families and not manner.dry_run:
        gone = as_json([id for family in families.values() for id in family])
        for name in _ABOUT_THEM:
            session.run(name, (gone,))
    return sorted(families)


def erase_definition(session: Session, tenant: str, id: str) -> None:
    session.run("erase_definition", {"tenant": tenant, "id": id})


def old_rehearsals(session: Session, before: datetime, limit: int) -> list[DefinitionKey]:
    found = session.rows("old_rehearsals", {"before": epoch_ms(before), "limit": limit})
    return [DefinitionKey(*row) for row in found]
