"""Statistics of one tenant: instances by status, workflow and minute, and queues."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from msgspec import Struct

from tenuto.model.checks import within
from tenuto.model.durations import iso
from tenuto.model.pauses import between_parts
from tenuto.model.status import Status
from tenuto.model.test_run import is_test_run
from tenuto.store.parts.stats import Tally
from tenuto.workspace.source import Source

MOST = 10_000
"""Of each status so many instances are looked at, the newest."""
MOST_HOURS = 168
_MINUTES = 60
_MANY = 500
"""So many tallies and durations take a millisecond to be summed."""
Made = TypeVar("Made")


class WorkflowCounts(Struct, frozen=True, kw_only=True, rename="camel"):
    """Instances of one workflow."""

    workflow_id: str
    total: int
    by_status: dict[str, int]


class Minute(Struct, frozen=True, kw_only=True, rename="camel"):
    """What happened in one minute, to instances of the time that is counted."""

    at: str
    started: int
    completed: int
    failed: int
    cancelled: int


class Waiting(Struct, frozen=True, kw_only=True, rename="camel"):
    """A queue: its length and the age of its oldest item."""

    count: int
    oldest: str | None


class StatsView(Struct, frozen=True, kw_only=True, rename="camel"):
    """Statistics of a tenant."""

    since: str
    is_complete: bool
    """False where there are more than 10,000 instances of a status: the newest are counted."""
    total: int
    by_status: dict[str, int]
    by_workflow: list[WorkflowCounts]
    """The largest first, at most a hundred."""
    per_minute: list[Minute]
    """Of the last hour, the oldest first."""
    jobs: Waiting
    """Attempts that no worker has claimed."""
    webhooks: Waiting
    """Requests that have not arrived at addresses outside."""
    is_catching_up: bool
    """Whether the process that answers still matches events that another left unmatched."""


async def read_stats(source: Source, tenant: str, hours: int = 24) -> StatsView:
    """Counts of the instances that came within so many hours, and of waiting jobs and webhooks."""
    within(hours, "hours", 1, MOST_HOURS)
    seen = source.store.seen_by(tenant)
    now = source.clock.now()
    since = now - timedelta(hours=hours)
    last = int(now.timestamp()) // 60
    first = last - _MINUTES + 1
    found = await seen.stats.tallies(tenant, since, _at(first), MOST)
    jobs = await seen.stats.waiting_jobs(tenant, MOST)
    backlogs = (await seen.listeners.backlogs(tenant)).values()
    waiting = Waiting(count=jobs.jobs, oldest=_moment(jobs.oldest))
    webhooks = Waiting(
        count=sum(each.size for each in backlogs),
        oldest=_moment(min((each.oldest for each in backlogs), default=None)),
    )

    def view() -> StatsView:
        tallies = [each for each in found if not is_test_run(each.definition_id)]
        looked_at = _summed((each.status, each.instances) for each in found)
        by_status = _summed((each.status, each.instances) for each in tallies)
        return StatsView(
            since=iso(since),
            is_complete=all(count < MOST for count in looked_at.values()),
            total=sum(by_status.values()),
            by_status=by_status,
            by_workflow=_by_workflow(tallies),
            per_minute=_per_minute(tallies, first, last),
            jobs=waiting,
            webhooks=webhooks,
            is_catching_up=source.is_catching_up,
        )

    return await of_many(source, tenant, len(found), view)


async def of_many(source: Source, tenant: str, rows: int, work: Callable[[], Made]) -> Made:
    """What `work` makes of so many tallies and durations: in a thread, if many; Overloaded."""
    if rows < _MANY:
        return work()
    return await source.plans.values.aside(work, tenant=tenant)


def _by_workflow(tallies: Iterable[Tally]) -> list[WorkflowCounts]:
    by_workflow: defaultdict[str, list[Tally]] = defaultdict(list)
    for each in tallies:
        between_parts()
        by_workflow[each.definition_id].append(each)
    counts = [
        WorkflowCounts(
            workflow_id=id,
            total=sum(each.instances for each in found),
            by_status=_summed((each.status, each.instances) for each in found),
        )
        for id, found in by_workflow.items()
    ]
    return sorted(counts, key=lambda each: (-each.total, each.workflow_id))[:100]


def _per_minute(tallies: Iterable[Tally], first: int, last: int) -> list[Minute]:
    happened: Counter[tuple[str, int]] = Counter()
    for each in tallies:
        between_parts()
        happened["started", each.started_minute] += each.instances
        happened[each.status.value, each.ended_minute] += each.instances
    return [
        Minute(
            at=iso(_at(minute)),
            started=happened["started", minute],
            completed=happened[Status.COMPLETED.value, minute],
            failed=happened[Status.FAILED.value, minute],
            cancelled=happened[Status.CANCELLED.value, minute],
        )
        for minute in range(first, last + 1)
    ]


def _summed(counts: Iterable[tuple[Status, int]]) -> dict[str, int]:
    summed: Counter[str] = Counter()
    for status, count in counts:
        between_parts()
        summed[status.value] += count
    return dict(summed)


def _at(minute: int) -> datetime:
    return datetime.fromtimestamp(minute * 60, UTC)


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)
