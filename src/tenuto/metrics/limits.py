"""Metrics of limits and of the queue; labels are limits by name, and kinds of limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client.core import Metric

from tenuto.engine.limits.known_limits import KnownLimits
from tenuto.engine.load.load import Load
from tenuto.engine.meters import Histogram
from tenuto.metrics.families import gauges, histograms
from tenuto.metrics.names import MOST_NAMES
from tenuto.model.slots import ANY, GLOBAL, tenant_key, type_key, user_key
from tenuto.store.parts.slot_rows import KINDS, SERVICE


class HeldSlots(NamedTuple):
    """How many slots of a limit are held."""

    label: str
    held: int
    most: int


class _Named(NamedTuple):
    label: str
    most: int


def limits_of(limits: KnownLimits, load: Load, tenant: str) -> dict[str, _Named]:
    """The limits that count a tenant, by key: those that have a name, and not too many."""
    service, own = limits.config(SERVICE), limits.config(tenant)
    found: dict[str, _Named] = {}
    most, in_force = service.global_max_concurrent, load.adaptive.in_force
    if service.is_global:
        of_all = [each for each in (most, in_force) if each is not None]
        found[GLOBAL] = _Named(GLOBAL, min(of_all, default=0))
    of_tenant = service.tenant_limits.get(tenant, service.tenant_limits.get(ANY))
    if of_tenant is not None:
        found[tenant_key(tenant)] = _Named("tenant", of_tenant)
    for name, limit in own.workflow_type_limits.items():
        if name != ANY:
            found[type_key(tenant, name)] = _Named(f"type:{name}", limit)
    for name, limit in own.user_limits.items():
        if name != ANY:
            found[user_key(tenant, name)] = _Named(f"user:{name}", limit)
    return dict([*found.items()][:MOST_NAMES])


def of_limits(
    held: Iterable[HeldSlots], waiting: Mapping[str, int] | None, waits: Mapping[str, Histogram]
) -> Iterator[Metric]:
    """What is held of each limit, and what waits for each kind; None: the store did not answer."""
    slots = list(held)
    yield gauges(
        "tenuto_limit_held",
        "Slots of a limit that are held; limits of all others of a kind (`*`) have no series.",
        ("limit",),
        {(each.label,): each.held for each in slots},
    )
    yield gauges(
        "tenuto_limit_max",
        "How many slots a limit has, the adaptive one as it is in force.",
        ("limit",),
        {(each.label,): each.most for each in slots},
    )
    if waiting is not None:
        yield gauges(
            "tenuto_limit_queue_depth",
            "Instances, and steps with a mutex, that wait, by the kind of the limit that is full; "
            "`debounce`: that are debounced; `new`: not looked at yet. Counting stops at 100,000.",
            ("kind",),
            {(kind,): waiting.get(kind, 0) for kind in KINDS},
        )
    yield histograms(
        "tenuto_limit_wait_seconds",
        "Seconds for which those that were admitted had waited, by the kind of the limit that "
        "was full; `new`: none was.",
        ("kind",),
        [((kind,), each) for kind, each in waits.items()],
    )
