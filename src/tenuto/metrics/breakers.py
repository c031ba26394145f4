"""How it stands with the addresses that tasks are pushed to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import Metric

from tenuto.metrics.families import gauges


def of_breakers(counts: Mapping[str, int]) -> Iterator[Metric]:
    """By their breakers alone: however many addresses there are, there are as many series."""
    yield gauges(
        "tenuto_push_targets",
        "Addresses that tasks are pushed to, by the state of their circuit breakers.",
        ("breaker",),
        {(state,): count for state, count in counts.items()},
    )
