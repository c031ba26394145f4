"""Jobs and the leases on them. Each function is part of a transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from heapq import nsmallest

from tenuto.model.durations import from_epoch_ms
from tenuto.store.job_columns import overrun
from tenuto.store.job_protocol import (
    Beat,
    Extension,
    Grant,
    JobClaims,
    JobKey,
    Lapsed,
    Lease,
    WorkerClaim,
)
from tenuto.store.sqlite.session import Column, Session, as_json

_MILLISECOND = timedelta(milliseconds=1)
_LONG_AGO = -(1 << 62)


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
        [
            Lapsed(Lease(JobKey(*key), token), bool(is_clean), overrun(**end) if end else None)
            for is_clean, *key, token, end in gone
        ],
    )


def held(session: Session, process_id: str, now: int) -> list[Lease]:
    """What is leased to a process, also what it never heard of."""
    found = session.packed("leases_of", {"process_id": process_id, "now": now})
    return sorted(Lease(JobKey(*key), token) for *key, token in found)


def extend(session: Session, process_id: str, leases: Sequence[Lease], until: int) -> set[Lease]:
    """Hold on to jobs; which of them are still this process's."""
    wanted = as_json([(*lease.key, lease.token) for lease in leases])
    session.run("extend_leases", {"process_id": process_id, "until": until, "leases": wanted})
    return set(leases).intersection(_all_of(session, process_id))


def _all_of(session: Session, process_id: str) -> list[Lease]:
    """Also what has lapsed, and nobody has acted upon."""
    return held(session, process_id, _LONG_AGO)


def claim_for_worker(session: Session, wanted: WorkerClaim, now: int) -> list[Grant]:
    """Lease a tenant's jobs to a worker."""
    task_ids = _offered(session, wanted.tenant) if wanted.task_ids is None else wanted.task_ids
    offered = (
        job
        for task_id in dict.fromkeys(task_ids)
        for job in session.packed(
            "first_jobs_of_tenant",
            {"tenant": wanted.tenant, "task_id": task_id, "limit": wanted.limit},
        )
    )
    chosen = nsmallest(wanted.limit, offered)
    if not chosen:
        return []
    keys = as_json([job[1:5] for job in chosen])
    lease = wanted.lease // _MILLISECOND
    session.run(
        "lease_to_worker",
        {"worker_id": wanted.worker_id, "lease": lease, "now": now, "keys": keys},
    )
    granted = _of_workers(session, keys, _LONG_AGO)
    leases = (Lease(JobKey(*key), token + 1) for _, *key, token in chosen)
    return [Grant(lease, granted[lease].until) for lease in leases]


def _offered(session: Session, tenant: str) -> Iterator[str]:
    """Of which tasks a tenant has jobs that nobody works on and that are not pushed."""
    after = ""
    pushed = {id for (id,) in session.rows("pushed_of_tenant", (tenant,))}
    while True:
        [(task_id,)] = session.rows("next_offered_task", {"tenant": tenant, "after": after})
        if task_id is None:
            return
        if task_id not in pushed:
            yield task_id
        after = task_id


def extend_for_workers(session: Session, beats: Sequence[Beat], now: int) -> dict[Lease, Extension]:
    """Let workers' leases go on; those that have."""
    rows = as_json([(*lease.key, lease.token, details) for lease, details in beats])
    session.run("extend_for_workers", {"beats": rows, "now": now})
    keys = as_json(list(dict.fromkeys(beat.lease.key for beat in beats)))
    held = _of_workers(session, keys, now)
    return {lease: held[lease] for lease, _ in beats if lease in held}


def _of_workers(session: Session, keys: str, now: int) -> dict[Lease, Extension]:
    return {
        Lease(JobKey(*key), token): Extension(from_epoch_ms(until), bool(is_called_off))
        for *key, token, until, is_called_off in session.packed(
            "workers_leases", {"keys": keys, "now": now}
        )
    }


def hand_over(session: Session, leases: Sequence[Lease], now: int) -> set[Lease]:
    """Let workers' leases go on until the time-outs of their attempts; those that do."""
    rows = as_json([(*lease.key, lease.token) for lease in leases])
    session.run("hand_over", {"leases": rows, "now": now})
    keys = as_json([lease.key for lease in leases])
    return _of_workers(session, keys, now).keys() & set(leases)


def put_back(session: Session, leases: Sequence[Lease]) -> None:
    """Have jobs as if no worker had been granted them."""
    rows = as_json([(*lease.key, lease.token) for lease in leases])
    session.run("put_back_jobs", {"leases": rows})


def take_called_off(
    session: Session, process_id: str, keys: Sequence[JobKey], until: int
) -> list[Lease]:
    """Lease to a process what was called off and nobody has."""
    found = sorted(session.packed("called_off_jobs", {"keys": as_json(list(keys))}))
    if found:
        taken = as_json([job[:4] for job in found])
        session.run("lease_jobs", {"process_id": process_id, "until": until, "keys": taken})
    return [Lease(JobKey(*key), token + 1) for *key, token in found]


def next_lapse(session: Session, now: int) -> timedelta | None:
    """How long it is until the next lease of a worker lapses."""
    [(until,)] = session.rows("next_lapse", {"now": now})
    return None if until is None else (until - now) * _MILLISECOND


def keep_secret(session: Session, name: str, proposed: bytes) -> bytes:
    """What is kept under a name from now on, if nothing was before."""
    session.run("keep_secret", {"name": name, "value": proposed})
    [(value,)] = session.rows("secret", {"name": name})
    return bytes(value)
