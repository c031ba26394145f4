"""Schedules as values: when something is started, and what happens where that is not possible."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from tenuto.model.json import JSON
from tenuto.schedules.cron import Cron

Overlap: TypeAlias = Literal["allow", "skip", "queue", "cancel-running"]
CatchUpMode: TypeAlias = Literal["none", "one", "all"]
OnNonWorking: TypeAlias = Literal["skip", "next", "previous"]
DEFAULT_WINDOW = timedelta(days=1)


class WorkflowTarget(Struct, frozen=True, kw_only=True, tag="workflow", omit_defaults=True):
    """A workflow is started; without a version, its newest one."""

    workflow_id: str
    version: int | None = None


class TaskTarget(Struct, frozen=True, kw_only=True, tag="task"):
    """A task is executed by itself."""

    task_id: str


class CallbackRetry(Struct, frozen=True, kw_only=True):
    """How often a callback is sent again, and how long after."""

    max_retries: int = 3
    initial_delay: timedelta = timedelta(seconds=5)
    backoff_multiplier: float = 2.0


class CallbackTarget(Struct, frozen=True, kw_only=True, tag="callback"):
    """An address is called by HTTP."""

    callback_url: str
    retry: CallbackRetry = CallbackRetry()


Target: TypeAlias = WorkflowTarget | TaskTarget | CallbackTarget


class Dst(Struct, frozen=True, kw_only=True):
    """What happens at local times that a change of the clock leaves out or repeats."""

    missing: Literal["next", "skip"] = "next"
    """`next`: at the first moment after the times that are left out, once."""
    repeated: Literal["first", "both"] = "first"


class CatchUp(Struct, frozen=True, kw_only=True):
    """Which ticks are started late, after an outage."""

    mode: CatchUpMode = "one"
    window: timedelta = DEFAULT_WINDOW


class Recurring(Struct, frozen=True, kw_only=True, tag="recurring"):
    """A cron expression and the zone of its clock."""

    cron: Cron
    timezone: str = "UTC"
    start: datetime | None = None
    end: datetime | None = None
    """The first and the last moment that are possible."""
    dst: Dst = Dst()


class OneTime(Struct, frozen=True, kw_only=True, tag="one-time"):
    """One moment."""

    at: datetime


Timing: TypeAlias = Recurring | OneTime


class Schedule(Struct, frozen=True, kw_only=True):
    """When a target is started, and with which input."""

    id: str
    timing: Timing
    target: Target
    name: str | None = None
    input: JSON | UnsetType = UNSET
    overlap: Overlap = "skip"
    catch_up: CatchUp = CatchUp()
    jitter: timedelta = timedelta(0)
    """Each start is later than its nominal time by less than this, always by the same."""
    calendar: str | None = None
    """The id of a business calendar."""
    on_non_working: OnNonWorking = "skip"
    description: str | None = None
    definition: str | None = None
    """The workflow function that has it as an argument, and that changes and removes it."""
