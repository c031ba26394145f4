"""Forgetting for good; statements of one connection."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.erasing_protocol import DefinitionKey
from tenuto.store.sqlite.session import Session

_ABOUT_IT = (
    "erase_steps",
    "erase_snapshot",
    "erase_log",
    "erase_keys",
    "erase_waits",
    "erase_deliveries",
    "erase_timers",
    "erase_mail",
    "erase_owner",
    "erase_jobs",
    "erase_dead_letters",
    "erase_outbox",
    "erase_postings",
)


def erase_instance(session: Session, tenant: str, instance_id: str) -> bool:
    if not session.rows("erase_instance_row", {"id": instance_id, "tenant": tenant}):
        return False
    for name in _ABOUT_IT:
        session.run(name, (instance_id,))
    return True


def erase_definition(session: Session, tenant: str, id: str) -> None:
    session.run("erase_definition", {"tenant": tenant, "id": id})


def old_rehearsals(session: Session, before: datetime, limit: int) -> list[DefinitionKey]:
    found = session.rows("old_rehearsals", {"before": epoch_ms(before), "limit": limit})
    return [DefinitionKey(*row) for row in found]
