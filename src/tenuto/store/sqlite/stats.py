"""Numbers; statements of one connection."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.model.status import Status
from tenuto.store.columns import from_ms
from tenuto.store.sqlite.session import Column, Session
from tenuto.store.stats_protocol import Tally, WaitingJobs


def tallies(
    session: Session, tenant: str, since: datetime, apart_from: datetime, most: int
) -> list[Tally]:
    which: dict[str, Column] = {
        "tenant": tenant,
        "since": epoch_ms(since),
        "apart_from": epoch_ms(apart_from),
        "most": most,
    }
    return [
        Tally(definition_id, status, started, ended, count)
        for status in Status
        for definition_id, started, ended, count in session.rows(
            "tallies", which | {"status": status.value}
        )
    ]


def waiting_jobs(session: Session, tenant: str, most: int) -> WaitingJobs:
    [(count, oldest)] = session.rows("waiting_jobs", {"tenant": tenant, "most": most})
    return WaitingJobs(count, from_ms(oldest))
