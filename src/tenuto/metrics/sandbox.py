"""Metrics of the JavaScript sandbox of a process."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from tenuto.metrics.families import counter, counters, gauge, gauges
from tenuto.sandbox.messages import Ready
from tenuto.sandbox.outcomes import Figures


def of_sandbox(figures: Figures, ready: Ready | None) -> Iterator[Metric]:
    """Its calls and processes; `ready`: what the processes are protected by, once that is known."""
    failed = sum(figures.failures.values())
    yield counters(
        "tenuto_javascript_calls",
        "Calls of JavaScript code that have ended.",
        ("outcome",),
        {
            ("success",): figures.calls - failed,
            **{(code,): count for code, count in figures.failures.items()},
        },
    )
    yield counter("tenuto_javascript_call_seconds", "Seconds of these calls.", figures.seconds)
    yield gauge(
        "tenuto_javascript_calls_waiting", "Calls that wait for a process.", figures.waiting
    )
    yield gauges(
        "tenuto_javascript_processes",
        "Processes of the sandbox.",
        ("state",),
        {("busy",): figures.busy, ("idle",): figures.idle, ("spare",): figures.spare},
    )
    yield counter(
        "tenuto_javascript_processes_started", "Processes that were started.", figures.started
    )
    yield counter(
        "tenuto_javascript_processes_killed",
        "Processes that were killed because of their call.",
        figures.killed,
    )
    yield counter(
        "tenuto_javascript_processes_replaced",
        "Processes that were ended since another tenant needed their place.",
        figures.replaced,
    )
    if ready is not None:
        missing = [each.partition(":")[0] for each in ready.missing]
        yield gauges(
            "tenuto_javascript_protections",
            "What the processes are protected by; 0: the system did not allow it.",
            ("name",),
            {
                **{(each,): 1.0 for each in ready.protections},
                **{(each,): 0.0 for each in missing},
            },
        )
