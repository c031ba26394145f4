"""A task that somebody has declared: who does it, and within which bounds."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from tenuto.model.json import JSON


class TaskLimits(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """How much an address is sent at once; they hold for all processes together."""

    concurrency: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    """Requests that may wait for an answer at the same time."""
    rate_per_second: Annotated[float, Meta(gt=0, le=100_000)] | None = None


class BreakerPolicy(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """When an address is left alone, and for how long."""

    failures: Annotated[int, Meta(ge=1, le=10_000)] = 5
    """So many in a row: no answer, or 408, 429 or 5xx."""
    open_for: Annotated[float, Meta(gt=0, le=86_400_000)] = 30_000
    """Milliseconds until one request tries whether it answers again."""


class TaskDefinition(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """What is declared of a task."""

    id: str
    kind: Literal["pull", "push"]
    """Left to workers, or sent to an address."""
    description: str | None = None
    url: str | None = None
    """Where it is sent."""
    input_schema: dict[str, JSON] | None = None
    """An attempt whose input does not fit fails with `INVALID_INPUT`, and is not begun."""
    output_schema: dict[str, JSON] | None = None
    """An attempt whose output does not fit fails with `INVALID_OUTPUT`."""
    retry: dict[str, JSON] | None = None
    """As a step has it; like the time-outs it is for steps that do not say otherwise."""
    timeout: str | float | None = None
    heartbeat_timeout: str | float | None = None
    limits: TaskLimits = TaskLimits()
    breaker: BreakerPolicy = BreakerPolicy()
