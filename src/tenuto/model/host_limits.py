"""Limits of the hosts that http nodes call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

EVERY_HOST = "*"


class HostLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of the requests of one tenant to one host, for all processes together."""

    concurrency: Annotated[int, Meta(ge=1, le=10_000)] = 200
    """The most requests at once; others wait."""
    rate_per_second: Annotated[float, Meta(gt=0, le=100_000)] | None = None
    """The most requests in a second; others wait. None: any number."""
    breaker_failures: Annotated[int, Meta(ge=1, le=10_000)] = 5
    """So many failures in a row open the circuit breaker: no answer, or 408, 425, 429 or 5xx."""
    breaker_open_for: Annotated[float, Meta(gt=0, le=86_400)] = 30.0
    """Seconds until one request probes the host again; others wait."""


DEFAULT_HOST_LIMITS = HostLimits()


def limits_of(host: str, limits: Mapping[str, HostLimits]) -> HostLimits:
    """Those of a host: by its name, else by the longest `*.name` that it ends with, else `*`."""
    if not limits:
        return DEFAULT_HOST_LIMITS
    found = limits.get(host)
    labels = host.split(".")
    at = 1
    while found is None and at < len(labels):
        found = limits.get(f"*.{'.'.join(labels[at:])}")
        at += 1
    return found or limits.get(EVERY_HOST, DEFAULT_HOST_LIMITS)
