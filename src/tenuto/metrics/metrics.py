"""All metrics of a process, in the text format of Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime

from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from tenuto.engine.engine import Engine
from tenuto.engine.meters import Histogram
from tenuto.metrics.families import (
    counter,
    counters,
    gauge,
    gauges,
    histogram,
    histograms,
    of_targets,
)
from tenuto.metrics.limits import HeldSlots, limits_of, of_limits
from tenuto.metrics.load import of_load
from tenuto.metrics.names import Names
from tenuto.metrics.requests import RequestCounts
from tenuto.metrics.steps import StepCounts
from tenuto.model.errors import TenutoError
from tenuto.store.parts.schedules import ScheduleNumbers, TickOutcome
from tenuto.store.parts.upkeep import Depths

MEDIA = CONTENT_TYPE_PLAIN_0_0_4
LOOK_EVERY = 5.0
"""Seconds for which figures read from the store are reused."""
_MOST_COUNTED = 100_000
_PATIENCE = 2.0
"""Seconds within which a healthy store answers."""

Source = Callable[[], Iterable[Metric]]
"""A further source of metrics of this process."""


class Metrics:
    """Counters of this process since its start, and depths of the queues in its store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._depths: Depths | None = None
        self._schedules: ScheduleNumbers | None = None
        self._waiting: dict[str, int] | None = None
        """Waiting instances and steps, by the kind of the limit that they wait for."""
        self._held: list[HeldSlots] = []
        """Of the tenant that looks."""
        self._looked_at = -LOOK_EVERY
        self._looking = asyncio.Lock()
        self.steps = StepCounts()
        engine.estimate = self.steps.past.estimate
        self.requests = RequestCounts()
        gate = engine.gate
        self.sources: list[Source] = [
            lambda: of_targets(
                breakers=gate.breakers(),
                waiting=gate.waiting(),
                under_way=gate.under_way(),
            )
        ]
        engine.listen(self.steps.heard)

    async def page(self, tenant: str) -> bytes:
        """All metrics as text; workflows and steps of other tenants are `other`."""
        await self._look()
        self._held = await self._slots_held(tenant)
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Once(list(self._families(tenant))))
        return generate_latest(registry)

    async def _look(self) -> None:
        """Read the store, unless it was read a moment ago or is unavailable."""
        async with self._looking:
            ticks = self._engine.clock.ticks()
            if ticks - self._looked_at < LOOK_EVERY:
                return
            self._looked_at = ticks
            self._depths, self._schedules, self._waiting = None, None, None
            store, now = self._engine.store, self._engine.clock.now()
            with suppress(TenutoError, TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    self._schedules = await store.schedules.numbers(now, _MOST_COUNTED)
                    # Also where no limit is set: definitions have keys, rates and mutexes.
                    self._waiting = await store.slots.depths(_MOST_COUNTED)
                    self._depths = await store.upkeep.depths(now)

    async def _slots_held(self, tenant: str) -> list[HeldSlots]:
        """The limits of the service and of a tenant; none where the store does not answer."""
        named = limits_of(self._engine.limits, self._engine.load, tenant)
        with suppress(TenutoError, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                counts = await self._engine.store.slots.counts([*named]) if named else {}
                return [
                    HeldSlots(each.label, counts.get(key, 0), each.most)
                    for key, each in named.items()
                ]
        return []

    def _families(self, tenant: str) -> Iterator[Metric]:
        yield from self._of_instances(tenant)
        yield from self._of_process()
        yield from self._of_requests()
        yield from self._of_quotas(tenant)
        yield from self._of_schedules()
        yield from of_limits(self._held, self._waiting, self._engine.admissions.waits)
        engine = self._engine
        refused = len(engine.shared.loops.refused)
        yield from of_load(engine.load, engine.store.retries, refused)
        yield gauge(
            "tenuto_store_up", "Whether the store answered.", float(self._depths is not None)
        )
        if self._depths is not None:
            yield from _of_store(self._depths, self._engine.clock.now())
        for source in self.sources:
            yield from source()

    def _of_instances(self, tenant: str) -> Iterator[Metric]:
        instances = self.steps.instances.seen_by(tenant)
        for word in ("started", "completed", "failed", "cancelled"):
            yield counters(
                f"workflow_instances_{word}",
                f"Workflow instances {word}.",
                ("workflow",),
                _summed(((name,), getattr(each, word)) for name, _, each in instances),
            )
        yield histograms(
            "workflow_execution_time_seconds",
            "Seconds from the start of an instance to its end, its waits included.",
            ("workflow",),
            _merged_by_workflow(self.steps.execution_seconds, tenant),
        )
        yield histograms(
            "workflow_step_execution_time_seconds",
            "Seconds from the beginning of an attempt to its end.",
            ("workflow", "step"),
            _merged(self.steps.seconds, tenant),
        )
        yield histograms(
            "workflow_step_queue_time_seconds",
            "Seconds from the order of an attempt to its beginning.",
            ("workflow", "step"),
            _merged(self.steps.queue_seconds, tenant),
        )
        failures = self.steps.failures.seen_by(tenant)
        yield counters(
            "workflow_step_failures",
            "Attempts that failed.",
            ("workflow", "step"),
            _summed(((name, step), each.count) for name, step, each in failures),
        )
        yield counter("task_execution_requests", "Attempts of tasks ordered.", self.steps.attempts)

    def _of_process(self) -> Iterator[Metric]:
        engine = self._engine
        waiting: dict[tuple[str, ...], float] = {
            ("promised",): float(sum(each.promised for each in engine.turns.intakes)),
            ("new",): float(sum(each.new for each in engine.turns.intakes)),
        }
        yield gauges("tenuto_intake_depth", "What waits for the next turn.", ("kind",), waiting)
        yield gauge("tenuto_attempts_running", "Attempts in flight.", engine.runner.in_flight)
        yield gauge(
            "tenuto_catching_up",
            "Whether events that others left unmatched are still being matched.",
            float(engine.is_catching_up),
        )
        yield gauge(
            "tenuto_quarantined_instances",
            "Instances that no process decides on, since that did not end or killed processes.",
            len(engine.quarantine.held),
        )
        meter = engine.turns.meter
        yield histogram("tenuto_commit_seconds", "Seconds of a commit.", meter.commit_seconds)
        yield histogram("tenuto_turn_instances", "Instances and events in a turn.", meter.instances)
        yield counter("tenuto_log_entries", "Entries written.", meter.entries)
        yield gauge(
            "tenuto_loop_lag_seconds",
            "The longest that the event loop was late since the last look.",
            engine.load.pressure.take_lag(),
        )

    def _of_quotas(self, tenant: str) -> Iterator[Metric]:
        """Only what is nearly used up: series do not grow with tenants."""
        used: dict[tuple[str, ...], float] = {}
        limits: dict[tuple[str, ...], float] = {}
        tenants: dict[tuple[str, ...], float] = {}
        for (quota, of_tenant), (number, most) in self._engine.usage.shown().items():
            tenants[quota,] = tenants.get((quota,), 0) + 1
            if of_tenant == tenant:
                used[quota,], limits[quota,] = number, most
        about = "of a quota of the tenant that is used by more than 80 %."
        yield gauges("tenuto_quota_used", f"What is used {about}", ("quota",), used)
        yield gauges("tenuto_quota_limit", f"The limit {about}", ("quota",), limits)
        help = "Tenants that have used more than 80 % of a quota."  # noqa: A001
        yield gauges("tenuto_quota_tenants", help, ("quota",), tenants)

    def _of_schedules(self) -> Iterator[Metric]:
        meter = self._engine.schedules.meter
        outcomes: tuple[TickOutcome, ...] = ("started", "skipped", "refused", "missed", "queued")
        yield counters(
            "tenuto_schedule_ticks",
            "What became of ticks of schedules.",
            ("outcome",),
            {(outcome,): meter.ticks[outcome] for outcome in outcomes},
        )
        yield histogram(
            "tenuto_schedule_lateness_seconds",
            "Seconds from the moment at which a tick was to be started until it was.",
            meter.lateness,
        )
        if self._schedules is not None:
            about = "counting stops at 100,000."
            active, due = self._schedules
            yield gauge("tenuto_schedules_active", f"Schedules with work to come; {about}", active)
            yield gauge("tenuto_schedules_due", f"Schedules that are due now; {about}", due)

    def _of_requests(self) -> Iterator[Metric]:
        requests = self.requests
        yield counters(
            "tenuto_http_requests",
            "Requests answered.",
            ("operation", "status"),
            {(name, str(status)): count for (name, status), count in requests.answers.items()},
        )
        yield histograms(
            "tenuto_http_request_seconds",
            "Seconds until a request was answered.",
            ("operation",),
            [((name,), each) for name, each in requests.seconds.items()],
        )
        yield gauges(
            "tenuto_live_connections",
            "Who is connected: sockets, streams, and requests under way.",
            ("kind",),
            {(kind,): requests.connected[kind] for kind in ("request", "socket", "stream")},
        )


def _of_store(depths: Depths, now: datetime) -> Iterator[Metric]:
    yield gauge("workflow_instances_active", "Instances that have not ended.", depths.active)
    yield gauge("event_subscriptions_active", "Open waits and triggers.", depths.waits)
    yield gauges(
        "tenuto_queue_depth",
        "How much waits in the store; counting stops at 100,000.",
        ("queue",),
        {
            ("mail",): depths.mail,
            ("jobs",): depths.jobs,
            ("timers_due",): depths.timers_due,
            ("outbox",): depths.untold,
            ("webhooks",): depths.postings,
        },
    )
    yield gauges(
        "tenuto_queue_lag_seconds",
        "For how long the oldest of it has waited.",
        ("queue",),
        {
            ("mail",): _age(depths.oldest_mail, now),
            ("jobs",): _age(depths.oldest_job, now),
            ("timers_due",): _age(depths.oldest_timer, now),
            ("outbox",): _age(depths.oldest_untold, now),
            ("webhooks",): _age(depths.oldest_posting, now),
        },
    )
    yield gauge("tenuto_pool_size", "Shared connections to the store.", depths.connections)
    yield gauge("tenuto_pool_in_use", "Those that are at work.", depths.connections_in_use)


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max((now - since).total_seconds(), 0.0)


def _summed(
    found: Iterable[tuple[tuple[str, ...], float]],
) -> dict[tuple[str, ...], float]:
    """Merged by name, since several series can have the name `other`."""
    sums: dict[tuple[str, ...], float] = {}
    for label, count in found:
        sums[label] = sums.get(label, 0) + count
    return sums


def _merged(measured: Names[Histogram], tenant: str) -> list[tuple[tuple[str, ...], Histogram]]:
    merged: dict[tuple[str, ...], Histogram] = {}
    for workflow, step, each in measured.seen_by(tenant):
        merged.setdefault((workflow, step), Histogram()).include(each)
    return list(merged.items())


def _merged_by_workflow(
    measured: Names[Histogram], tenant: str
) -> list[tuple[tuple[str, ...], Histogram]]:
    return [((workflow,), each) for (workflow, _), each in _merged(measured, tenant)]


class _Once(Collector):
    """Returns the metrics that were gathered before."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families
