"""Metrics of the load of a process: readings, pressure, refused requests, the adaptive limit."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from tenuto.engine.load.load import Load
from tenuto.engine.load.pressure import ORDER
from tenuto.metrics.families import counters, gauge, gauges
from tenuto.store.retry_budget import RetryCounts


def of_load(load: Load, retries: RetryCounts, loops_refused: int) -> Iterator[Metric]:
    """The load of this process, and what follows from it."""
    watch, adaptive = load.pressure, load.adaptive
    readings = watch.readings
    yield gauges(
        "tenuto_load",
        "The newest readings: milliseconds, and percent of the memory.",
        ("reading",),
        {
            ("loopLagMs",): readings.loop_lag_ms,
            ("commitMs",): readings.commit_ms,
            ("intakeMs",): watch.intake_ms,
            ("memoryPercent",): readings.memory_percent,
        },
    )
    yield gauge(
        "tenuto_pressure",
        "The worst reading by its bound: above 1 starts are refused, above 2 expensive reads too.",
        watch.pressure.value,
    )
    yield counters(
        "tenuto_requests_shed",
        "Requests that were refused under load.",
        ("kind",),
        {(kind,): watch.refused[kind] for kind in ORDER},
    )
    if adaptive.state is not None:
        yield gauge(
            "tenuto_adaptive_limit_asked",
            "The limit of all instances that this process asks for.",
            adaptive.state.limit,
        )
        if adaptive.in_force is not None:
            yield gauge(
                "tenuto_adaptive_limit",
                "The adaptive limit that is in force: the lowest that a process asks for.",
                adaptive.in_force,
            )
    yield counters(
        "tenuto_store_retries",
        "Database operations that were repeated, and those that were not for want of a budget.",
        ("outcome",),
        {("repeated",): retries.repeated, ("refused",): retries.refused},
    )
    yield gauge(
        "tenuto_loops_refused",
        "Loops of the engine that stand still, since the store refuses what they write.",
        loops_refused,
    )
