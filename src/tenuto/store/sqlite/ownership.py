"""Processes that come and go, and what they own. Each function is part of a transaction."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from datetime import datetime

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.protocol import WRONG_CLOCK, Orphan
from tenuto.store.sqlite.session import Session, as_json


def enter(session: Session, process_id: str, now: datetime, living: AbstractSet[str]) -> datetime:
    """Register a process; returns how far time has come.

    Who is not among the living has died without a word.
    """
    if session.rows("known_process", (process_id,)):
        raise ValueError(f"process id {process_id!r} was used before")
    [(seen,)] = session.rows("latest_moment", (epoch_ms(now + WRONG_CLOCK),))
    latest = max(epoch_ms(now), seen or 0)
    session.run("insert_process", (process_id, epoch_ms(now), latest))
    session.run("bury_processes", {"now": epoch_ms(now), "living": as_json(sorted(living))})
    session.run("forget_processes")
    return from_epoch_ms(latest)


def leave(session: Session, process_id: str, now: datetime, *, clean: bool) -> None:
    session.run("stop_process", {"id": process_id, "now": epoch_ms(now), "is_clean": int(clean)})


def claim_orphans(
    session: Session, process_id: str, living: AbstractSet[str] | None, limit: int
) -> list[Orphan]:
    """Own what the dead have left; `living` only if engines share the file."""
    if living is not None:
        # One of them may have died since it was opened; when, nobody knows.
        session.run("bury_processes", {"now": 0, "living": as_json(sorted(living))})
    orphans = [Orphan(id, bool(is_clean)) for id, is_clean in session.packed("orphans", (limit,))]
    if orphans:
        ids = as_json([orphan.instance_id for orphan in orphans])
        session.run("claim_instances", {"process_id": process_id, "ids": ids})
    return orphans
