"""Settings that say how a node is tried, how long and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from tenuto.model.failure import Failure
from tenuto.model.json import JSON
from tenuto.model.sizes import Size, refuse_sizes
from tenuto.model.slots import SlotRules
from tenuto.model.task_definition import TaskLimits
from tenuto.model.working_time import Span, WorkingCalendar, WorkingDuration


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often a failing node is tried again, and how long it waits in between."""

    max_attempts: int = 3
    initial_delay: timedelta = timedelta(seconds=1)
    multiplier: float = 2.0
    max_delay: timedelta = timedelta(seconds=30)
    non_retryable: tuple[str, ...] = ()
    on_lost: Literal["retry", "fail"] = "retry"


class BusinessRetryPolicy(RetryPolicy, frozen=True, kw_only=True):
    """A retry policy whose delays are in working time."""

    calendar: str
    """The id of the calendar; its delays replace `initial_delay` and `max_delay`."""
    first: WorkingDuration
    longest: WorkingDuration


class Verdict(NamedTuple):
    """Why a value cannot be taken, if it cannot, and how much work it was to find out."""

    failure: Failure | None
    steps: int = 0
    """About as many as those of an expression that takes as long."""


Check: TypeAlias = Callable[[JSON], Verdict]
"""Whether a value can be taken; the same value always gets the same verdict."""


class TaskPolicy(Struct, frozen=True, kw_only=True):
    """Defaults of a task for steps that set none."""

    retry: RetryPolicy | None = None
    timeout: timedelta | None = None
    heartbeat_timeout: timedelta | None = None
    check_input: Check | None = None
    check_output: Check | None = None
    limits: TaskLimits | None = None
    """How many of its attempts run at once, and begin in a second; None: any number."""
    version: str | None = None
    """Which declaration of a tenant it comes from; None: no tenant has declared the task."""


NO_POLICY = TaskPolicy()


MOST_ENTRIES = 1_000
"""The most entries of one decision; further decisions continue it."""


class Policies(Struct, frozen=True, kw_only=True):
    """The policies of all tasks that a decision may ask for: a value, swapped as a whole."""

    tasks: Mapping[str, TaskPolicy] = {}
    """By the id of the task; it never changes."""
    calendars: Mapping[str, WorkingCalendar] = {}
    """The calendars of the tenant, by id; it never changes."""
    version: str = ""
    """A digest of what a tenant has declared, tasks and calendars; empty where nothing is."""
    limited: Mapping[str, TaskLimits] = {}
    """The tasks that have limits, by id; it never changes."""
    slots: SlotRules | None = None
    """None: no limit counts instances of the tenant, beside those that definitions set."""
    most_entries: int = MOST_ENTRIES
    """The most entries of a decision at the moment: fewer while others wait for it."""

    def policy(self, task_id: str) -> TaskPolicy:
        """How a task wants to be tried."""
        return self.tasks.get(task_id, NO_POLICY)


class _AnyCalendar(Mapping[str, WorkingCalendar]):
    """Whatever a calendar is called, all time is working time in it."""

    def __getitem__(self, id: str) -> WorkingCalendar:
        day = (Span(0, 1440),)
        week = (day, day, day, day, day, day, day)
        return WorkingCalendar(id=id, timezone="UTC", week=week, first_year=1, last_year=1)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


NO_POLICIES = Policies()
FORESEEN = Policies(calendars=_AnyCalendar())
"""For decisions that are made to see whether they are refused, where policies and calendars are not
at hand: a calendar is taken to exist."""
DEFAULT_RETRY = RetryPolicy()


def default_longest(first: WorkingDuration) -> WorkingDuration:
    """The longest delay in working time where none is set: not shorter than the first."""
    usual = WorkingDuration(span=DEFAULT_RETRY.max_delay)
    is_longer = first.span > usual.span or first.days or first.weeks or first.months
    return first if is_longer else usual


ONCE = RetryPolicy(max_attempts=1)
DEFAULT_TIMEOUT = timedelta(minutes=10)
DEFAULT_CANCEL_GRACE = timedelta(seconds=10)
NEAR = timedelta(seconds=10)
"""Timers set at most this far ahead live in the memory of the instance's owner."""
OUTAGE_RETRY_SECONDS = 1.0
"""Seconds until an unavailable store is tried again."""
MOST_STEPS = 2_500
"""The most steps of the expressions and schemas of one decision, beyond the last; further decisions
continue it."""
LOSSES_UNTIL_POISON = 5
"""How many attempts in a row may be lost with their process before the node counts as poison."""


EVENTS_KEPT = timedelta(days=7)
"""For how long events are kept by default."""


class Limits(Struct, frozen=True, kw_only=True):
    """Limits on sizes, so that one value or one family cannot starve other instances."""

    input_bytes: Size = 1_000_000
    output_bytes: Size = 1_000_000
    event_bytes: Size = 1_000_000
    context_bytes: Size = 16_000_000
    log_entries: Size = 1_000_000
    loop_items: Size = 100_000
    max_descendants: Size = 100_000
    """The most instances at once that one instance has led to: as children and their children, or
    by events. A further one is cut (`TOO_MANY_DESCENDANTS`)."""

    def __post_init__(self) -> None:
        refuse_sizes(self, least=1)


DEFAULT_LIMITS = Limits()
