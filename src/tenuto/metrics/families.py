"""Prometheus metric families."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from tenuto.engine.meters import Histogram

Labelled = Mapping[tuple[str, ...], float]


def gauge(name: str, help: str, value: float) -> Metric:  # noqa: A002 - their word
    return GaugeMetricFamily(name, help, value=value)


def gauges(name: str, help: str, labels: Sequence[str], values: Labelled) -> Metric:  # noqa: A002
    family = GaugeMetricFamily(name, help, labels=labels)
    for label, value in values.items():
        family.add_metric(label, value)
    return family


def counter(name: str, help: str, value: float) -> Metric:  # noqa: A002
    return CounterMetricFamily(name, help, value=value)


def counters(name: str, help: str, labels: Sequence[str], values: Labelled) -> Metric:  # noqa: A002
    family = CounterMetricFamily(name, help, labels=labels)
    for label, value in values.items():
        family.add_metric(label, value)
    return family


def histogram(name: str, help: str, measured: Histogram) -> Metric:  # noqa: A002
    return HistogramMetricFamily(
        name, help, buckets=measured.cumulative(), sum_value=measured.total
    )


def histograms(
    name: str,
    help: str,  # noqa: A002
    labels: Sequence[str],
    measured: Iterable[tuple[tuple[str, ...], Histogram]],
) -> Metric:
    family = HistogramMetricFamily(name, help, labels=labels)
    for label, each in measured:
        family.add_metric(label, buckets=each.cumulative(), sum_value=each.total)
    return family


def of_breakers(counts: Mapping[str, int]) -> Iterator[Metric]:
    """Counted by state, so that the number of series does not grow with the addresses."""
    yield gauges(
        "tenuto_push_targets",
        "Addresses that tasks are pushed to, by the state of their circuit breakers.",
        ("breaker",),
        {(state,): count for state, count in counts.items()},
    )


def of_targets(
    breakers: Labelled,
    waiting: Labelled,
    under_way: Labelled,
) -> Iterator[Metric]:
    """Hosts of http nodes and data sources, counted by kind."""
    yield gauges(
        "tenuto_request_targets",
        "Hosts and data sources in use, by the state of their circuit breakers.",
        ("kind", "breaker"),
        breakers,
    )
    yield gauges(
        "tenuto_requests_waiting",
        "Requests of steps that may not be sent yet, by what they wait for.",
        ("kind", "obstacle"),
        waiting,
    )
    yield gauges(
        "tenuto_requests_under_way",
        "Requests of steps that are not answered yet.",
        ("kind",),
        under_way,
    )


def of_connections(*, files: int, most: int, is_open: int, refused: int) -> Iterator[Metric]:
    """The open connections of a server, and their bounds."""
    yield gauge("tenuto_open_files_limit", "Files that may be open.", files)
    yield gauge("tenuto_connections_limit", "The most connections at once.", most)
    yield gauge("tenuto_connections_open", "Connections that are open.", is_open)
    yield counter("tenuto_connections_refused", "Connections refused.", refused)
