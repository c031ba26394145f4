"""Circuit breakers of the addresses that tasks are pushed to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import Metric

from tenuto.metrics.families import gauges


def of_breakers(counts: Mapping[str, int]) -> Iterator[Metric]:
    """Counted by state, so that the number of series does not grow with the addresses."""
    yield gauges(
        "tenuto_push_targets",
        "Addresses that tasks are pushed to, by the state of their circuit breakers.",
        ("breaker",),
        {(state,): count for state, count in counts.items()},
    )
