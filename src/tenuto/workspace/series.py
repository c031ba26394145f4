"""Statistics over time: throughput, failures, latency and open instances, in so many points.

They are computed from the rows of instances, which outlive every process. Only the tasks that
waited are sampled, by the process that answers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from tenuto.model.checks import within
from tenuto.model.durations import epoch_ms, iso
from tenuto.model.pauses import between_parts
from tenuto.model.test_run import is_test_run
from tenuto.store.parts.stats import Completed, Tally
from tenuto.workspace.source import Source
from tenuto.workspace.stats import MOST, MOST_HOURS, of_many

MOST_POINTS = 240
_EARLIER = timedelta(hours=MOST_HOURS)
"""An instance that ends now may have begun so long ago."""


class Percentiles(Struct, frozen=True, kw_only=True, rename="camel"):
    """How long completed instances took, in milliseconds; null where there were none."""

    p50: int | None
    p95: int | None
    p99: int | None


class Point(Struct, frozen=True, kw_only=True, rename="camel"):
    """What happened from one moment on, until the next point."""

    at: str
    started: int
    completed: int
    failed: int
    cancelled: int
    open: int
    """Instances that had not ended at the end of it."""
    latency: Percentiles
    queued: int | None = None
    """The most tasks that no process and no worker had taken, as the process that answers has
    sampled it; null: it has not."""


class SeriesView(Struct, frozen=True, kw_only=True, rename="camel"):
    """Statistics of a tenant over time."""

    since: str
    seconds: int
    """The time between two points; whole minutes."""
    is_complete: bool
    """False where there are more than 10,000 instances of a status: the newest are counted."""
    latency: Percentiles
    """Of the whole time."""
    points: list[Point]
    """The oldest first."""


async def read_series(
    source: Source, tenant: str, hours: int, points: int, depths: Mapping[int, int]
) -> SeriesView:
    """Statistics of the last `hours`, of instances that began within a week before.

    `depths`: how many tasks waited, by minute.
    """
    within(hours, "hours", 1, MOST_HOURS)
    within(points, "points", 1, MOST_POINTS)
    seen, now = source.store.seen_by(tenant), source.clock.now()
    width = max(1, -(-hours * 60 // points))
    last = int(now.timestamp()) // 60
    first = last - width * -(-hours * 60 // width) + 1
    begins = [*range(first, last + 1, width)]
    start = _at(first)
    found = await seen.stats.tallies(tenant, start - _EARLIER, start, MOST)
    ended = await seen.stats.durations(tenant, start - _EARLIER, MOST)

    def view() -> SeriesView:
        tallies = [each for each in found if not is_test_run(each.definition_id)]
        looked_at = Counter[str]()
        for each in found:
            looked_at[each.status] += each.instances
        took = _took(ended, begins)
        return SeriesView(
            since=iso(start),
            seconds=width * 60,
            is_complete=all(count < MOST for count in looked_at.values()),
            latency=_percentiles([each for some in took.values() for each in some]),
            points=_points(tallies, begins, took, _queued(depths, begins)),
        )

    return await of_many(source, tenant, len(found) + len(ended), view)


def _took(ended: Sequence[Completed], begins: Sequence[int]) -> dict[int, list[int]]:
    """By point: how long those took that ended in it."""
    took: dict[int, list[int]] = {}
    start = epoch_ms(_at(begins[0]))
    for at, milliseconds in ended:
        between_parts()
        if at >= start:
            place = bisect_right(begins, at // 60_000) - 1
            took.setdefault(place, []).append(milliseconds)
    return took


def _points(
    tallies: Sequence[Tally],
    begins: Sequence[int],
    took: dict[int, list[int]],
    queued: Mapping[int, int],
) -> list[Point]:
    happened = Counter[tuple[str, int]]()
    is_open = 0
    for each in tallies:
        between_parts()
        has_ended = each.status.is_final
        started = bisect_right(begins, each.started_minute) - 1
        ended = bisect_right(begins, each.ended_minute) - 1 if has_ended else -1
        happened["started", started] += each.instances
        happened[each.status.value, ended] += each.instances
        happened["ended", ended] += each.instances
        # Those of before the first point: still open, or ended later.
        if started < 0 and (not has_ended or ended >= 0):
            is_open += each.instances
    points: list[Point] = []
    for place, minute in enumerate(begins):
        between_parts()
        is_open += happened["started", place] - happened["ended", place]
        points.append(
            Point(
                at=iso(_at(minute)),
                started=happened["started", place],
                completed=happened["COMPLETED", place],
                failed=happened["FAILED", place],
                cancelled=happened["CANCELLED", place],
                open=is_open,
                latency=_percentiles(took.get(place, [])),
                queued=queued.get(place),
            )
        )
    return points


def _queued(depths: Mapping[int, int], begins: Sequence[int]) -> dict[int, int]:
    """By point: the highest of its minutes."""
    highest: dict[int, int] = {}
    for minute, depth in depths.items():
        place = bisect_right(begins, minute) - 1
        highest[place] = max(depth, highest.get(place, 0))
    return highest


def _percentiles(milliseconds: Sequence[int]) -> Percentiles:
    ordered = sorted(milliseconds)

    def at(share: int) -> int | None:
        """The nearest rank: one of the times themselves."""
        return ordered[max(0, -(-len(ordered) * share // 100) - 1)] if ordered else None

    return Percentiles(p50=at(50), p95=at(95), p99=at(99))


def _at(minute: int) -> datetime:
    return datetime.fromtimestamp(minute * 60, UTC)
