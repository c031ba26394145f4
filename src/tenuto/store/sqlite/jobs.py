"""Jobs and the leases on them. Each function is part of a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest

from tenuto.store.protocol import JobClaims, JobKey, Lapsed, Lease
from tenuto.store.sqlite.reads import jobs_of
from tenuto.store.sqlite.session import Column, Session, as_json


def claim(
    session: Session,
    process_id: str,
    task_ids: Sequence[str],
    limit: int,
    *,
    lapsed: int,
    now: int,
    until: int,
) -> JobClaims:
    """Lease what nobody works on, and tell of leases that nobody extended."""
    gone = session.packed("lapsed_jobs", {"now": now, "limit": lapsed})
    [(has_offered,)] = session.rows("has_offered_jobs")
    offered = (
        job
        for task_id in (dict.fromkeys(task_ids) if has_offered else ())
        for job in session.packed("first_jobs", {"task_id": task_id, "limit": limit})
    )
    chosen = nsmallest(limit, offered)
    if chosen:
        keys = as_json([job[1:5] for job in chosen])
        parameters: dict[str, Column] = {"process_id": process_id, "until": until, "keys": keys}
        session.run("lease_jobs", parameters)
    return JobClaims(
        [Lease(JobKey(*key), token + 1) for _, *key, token in chosen],
        [Lapsed(Lease(JobKey(*key), token), bool(is_clean)) for is_clean, *key, token in gone],
    )


def held(session: Session, process_id: str, now: int) -> list[Lease]:
    """What is leased to a process, also what it never heard of."""
    found = session.packed("leases_of", {"process_id": process_id, "now": now})
    return sorted(Lease(JobKey(*key), token) for *key, token in found)


def extend(session: Session, process_id: str, leases: Sequence[Lease], until: int) -> set[Lease]:
    """Hold on to jobs; which of them are still this process's."""
    wanted = as_json([(*lease.key, lease.token) for lease in leases])
    held: dict[str, Column] = {"process_id": process_id, "until": until, "leases": wanted}
    session.run("extend_leases", held)
    ids = (as_json(sorted({lease.key.instance_id for lease in leases})),)
    return set(leases).intersection(jobs_of(session, ids))
