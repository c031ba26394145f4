"""How much waits in a file, and forgetting instances that have ended."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.columns import from_ms
from tenuto.store.erasing import ACTIVE, erasable
from tenuto.store.sqlite.session import Column, Session, as_json
from tenuto.store.upkeep_protocol import COUNTED, Depths

_FORGOTTEN = (
    "forget_log",
    "forget_snapshots",
    "forget_current_steps",
    "forget_keys",
    "forget_deliveries",
    "forget_dead_letters",
    "forget_instances",
)


def depths(session: Session, now: datetime) -> Depths:
    asked: dict[str, Column] = {"now": epoch_ms(now), "most": COUNTED, "statuses": as_json(ACTIVE)}
    found = session.packed("depths", asked)
    active, waits, mail, jobs, timers, untold, postings = found[:7]
    oldest = [from_ms(moment) for moment in found[7:]]
    return Depths(
        active=active,
        waits=waits,
        mail=mail,
        jobs=jobs,
        timers_due=timers,
        untold=untold,
        postings=postings,
        oldest_mail=oldest[0],
        oldest_job=oldest[1],
        oldest_timer=oldest[2],
        oldest_untold=oldest[3],
        oldest_posting=oldest[4],
    )


def erase_instances(
    session: Session, tenant: str, ids: Collection[str], *, with_dead_letters: bool, dry_run: bool
) -> list[str]:
    which: dict[str, Column] = {
        "tenant": tenant,
        "ids": as_json(list(ids)),
        "with_dead_letters": int(with_dead_letters),
    }
    members = session.packed("families", which)
    families = erasable((root, id, bool(may_go)) for root, id, may_go in members)
    gone = as_json([id for family in families.values() for id in family])
    if families and not dry_run:
        for name in _FORGOTTEN:
            session.run(name, (gone,))
    return sorted(families)
