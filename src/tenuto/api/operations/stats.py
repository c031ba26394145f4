"""Statistics of a tenant."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tenuto.access.permissions import Permission
from tenuto.api.call import Call
from tenuto.api.operation import API, Resource
from tenuto.api.shapes import Query
from tenuto.workspace.series import MOST_POINTS, SeriesView, read_series
from tenuto.workspace.stats import MOST_HOURS, StatsView, read_stats

STATS = Resource(f"{API}/stats", tag="stats", read=Permission.STATS_READ)


class StatsQuery(Query):
    """The time to count."""

    hours: Annotated[int, Meta(ge=1, le=MOST_HOURS)] = 24
    """Instances of the last so many hours are counted."""


class SeriesQuery(Query):
    """The time, and how finely it is divided."""

    hours: Annotated[int, Meta(ge=1, le=MOST_HOURS)] = 1
    points: Annotated[int, Meta(ge=1, le=MOST_POINTS)] = 60
    """The most points; each is some whole minutes long."""


@STATS.get()
async def get_stats(call: Call[StatsQuery]) -> StatsView:
    """Get statistics: instances by status and workflow, the last hour, queue lengths."""
    return await read_stats(call.workspace.engine, call.principal.tenant, call.query.hours)


@STATS.get("/series")
async def get_series(call: Call[SeriesQuery]) -> SeriesView:
    """Get throughput, failures, latency, open instances and waiting tasks over time."""
    asked = call.query
    engine, tenant = call.workspace.engine, call.principal.tenant
    depths = await call.service.queue_depths.of(tenant)
    return await read_series(engine, tenant, asked.hours, asked.points, depths)
