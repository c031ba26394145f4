"""Declared tasks: their executor, limits and schemas."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta

from tenuto.model.durations import parse_duration
from tenuto.model.json import JSON, Body


class TaskLimits(Body, frozen=True, kw_only=True):
    """How much of a task, of a host or of a data source is done at once, by all processes together.

    Those of a task count its attempts, wherever they run, and hold for each tenant by itself.
    """

    concurrency: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    """The most that are under way at once."""
    rate_per_second: Annotated[float, Meta(gt=0, le=100_000)] | None = None
    """The most that begin in a second; after a rest, those of one second may begin at once."""

    def __bool__(self) -> bool:
        """Whether anything is limited."""
        return self.concurrency is not None or self.rate_per_second is not None

    def over(self, other: TaskLimits) -> TaskLimits:
        """Those of this one, and where it sets none, those of the other."""
        rate = other.rate_per_second if self.rate_per_second is None else self.rate_per_second
        concurrency = other.concurrency if self.concurrency is None else self.concurrency
        return TaskLimits(concurrency=concurrency, rate_per_second=rate)


NO_LIMITS = TaskLimits()


class BreakerPolicy(Body, frozen=True, kw_only=True):
    """The circuit breaker of an address."""

    failures: Annotated[int, Meta(ge=1, le=10_000)] = 5
    """How many failures in a row open it: no answer, or 408, 429 or 5xx."""
    open_for: str | Annotated[float, Meta(gt=0, le=86_400_000)] = 30_000
    """How long until one request probes the address again, at most a day: ISO 8601 text or
    milliseconds."""

    @property
    def open_span(self) -> timedelta:
        """The same as a value; ValueError if it is none from a millisecond to a day."""
        length = parse_duration(self.open_for)
        if length.months or not timedelta(0) < length.span <= _LONGEST_OPEN:
            message = f"{self.open_for!r} is not more than nothing and at most 24 hours"
            raise ValueError(message)
        return length.span


_LONGEST_OPEN = timedelta(days=1)


class TaskSettings(Body, frozen=True, kw_only=True):
    """What holds for steps of a task that set nothing themselves."""

    retry: dict[str, JSON] | None = None
    timeout: str | float | None = None
    heartbeat_timeout: str | float | None = None
    input_schema: dict[str, JSON] | None = None
    """In code: made from the types of its parameters."""
    limits: TaskLimits | None = None

    @property
    def policy(self) -> tuple[object, ...]:
        return (self.retry, self.timeout, self.heartbeat_timeout, self.input_schema, self.limits)


class WorkerTask(TaskSettings, frozen=True, kw_only=True):
    """A task of a worker, with the settings of its code."""

    id: str


class Registration(TaskSettings, frozen=True, kw_only=True):
    """The settings of a task in the code of a worker."""

    worker_id: str
    """The last worker that registered these settings."""


class TaskDefinition(Body, frozen=True, kw_only=True):
    """The declaration of a task."""

    id: str
    kind: Literal["pull", "push"]
    """`pull`: claimed by workers; `push`: sent to an address."""
    description: str | None = None
    url: str | None = None
    """Where it is sent."""
    secret: str | None = None
    """Signs what is sent, as of a webhook; made unless it is given, and shown once, when it is
    made."""
    input_schema: dict[str, JSON] | None = None
    """An attempt whose input does not conform fails with `INVALID_INPUT` and is not started."""
    output_schema: dict[str, JSON] | None = None
    """An attempt whose output does not conform fails with `INVALID_OUTPUT`."""
    retry: dict[str, JSON] | None = None
    """As in a step; like the time-outs a default for steps that set none."""
    timeout: str | float | None = None
    heartbeat_timeout: str | float | None = None
    limits: TaskLimits = NO_LIMITS
    """Of its attempts, whether claimed by workers, sent to an address, or run by the service."""
    breaker: BreakerPolicy = BreakerPolicy()
    registered: tuple[Registration, ...] = ()
    """The settings in the code of workers, the newest first: that one is in force where neither the
    step nor the declaration sets one. Only workers change it."""
