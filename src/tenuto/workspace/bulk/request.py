"""The request and the progress of a bulk operation, as the store keeps them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct

from tenuto.model.status import FINAL, Status

Target: TypeAlias = Literal[
    "instances", "instances-by-family", "dead-letters", "dead-letters-by-cause", "ticks"
]
"""By family, by cause: the filter says something that older programs would not compare. They cannot
read such a request, and so leave it to others, instead of acting on more than was asked for.
Ticks: nominal times of a schedule."""
Action: TypeAlias = Literal["cancel", "pause", "resume", "retry", "discard", "backfill"]
Overlap: TypeAlias = Literal["allow", "skip", "queue", "cancel-running"]

ACTIONS: dict[Target, tuple[Action, ...]] = {
    "instances": ("cancel", "pause", "resume", "retry"),
    "instances-by-family": ("cancel", "pause", "resume", "retry"),
    "dead-letters": ("retry", "discard"),
    "dead-letters-by-cause": ("retry", "discard"),
    "ticks": ("backfill",),
}
MOST_FAILURES = 100
"""So many failures are kept; the rest are counted."""

_OPEN = tuple(status for status in Status if status not in FINAL)
SENSIBLE: dict[Action, tuple[Status, ...]] = {
    "cancel": _OPEN,
    "pause": tuple(status for status in _OPEN if status is not Status.PAUSED),
    "resume": (Status.PAUSED,),
    "retry": (Status.FAILED,),
}
"""The statuses in which an action is possible."""


class Which(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which instances or dead letters; a field that is not given does not count."""

    ids: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ()
    workflow_id: str | None = None
    correlation_id: str | None = None
    current_step: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
    waiting_for: str | None = None
    """Of instances: the pattern of an event for which a step waits."""
    roots: bool = False
    """Of instances: without children of others."""
    parent_id: str | None = None
    """Of instances."""
    kind: str | None = None
    """Of dead letters."""
    task_id: str | None = None
    """Of dead letters."""
    step_id: str | None = None
    """Of dead letters."""
    code: str | None = None
    """Of dead letters."""
    instance_id: str | None = None
    """Of dead letters."""
    schedule_id: str | None = None
    """Of ticks, this and the following ones."""
    nominal_from: datetime | None = None
    nominal_to: datetime | None = None


class BulkAsked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request for an action on all items that a filter finds."""

    target: Target
    action: Action
    which: Which
    by: str
    reason: str | None = None
    should_compensate: bool = True
    stopped_by: str | None = None
    """The principal that asked to stop it."""
    concurrency: int | None = None
    """Of a backfill: so many of its instances run at the same time."""
    overlap: Overlap | None = None
    """Of a backfill: what a tick does while another instance of its schedule runs."""

    def __post_init__(self) -> None:
        if self.action not in ACTIONS[self.target]:
            raise ValueError(f"{self.action} is no action on {self.target}")

    @property
    def is_backfill(self) -> bool:
        """Whether it starts ticks of a schedule."""
        return self.target == "ticks"

    @property
    def is_on_instances(self) -> bool:
        """Whether it acts on instances, and not on dead letters."""
        return self.target in ("instances", "instances-by-family")


class ItemFailure(Struct, frozen=True, kw_only=True):
    """Why the action failed for one item."""

    id: str
    code: str
    message: str


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The progress of an operation."""

    status: Literal["running", "done", "cancelled"] = "running"
    done: int = 0
    failed: int = 0
    failures: tuple[ItemFailure, ...] = ()
    pending: tuple[str, ...] = ()
    """Items that are acted on now: after a crash these alone are acted on again."""
    cursor: str | None = None
    """Where the next page begins."""
    is_found: bool = False
    """Whether the last page was found."""
    ended_at: datetime | None = None
    unreached: int = 0
    """Items that a stop left as they were, at least: a count ends somewhere."""
    running: tuple[str, ...] = ()
    """Ticks that were started, and whose instances had not ended when that was looked at last."""

    @property
    def matched(self) -> int:
        """How many the filter has found so far; of a stopped one at least so many in all."""
        return self.done + self.failed + len(self.pending) + self.unreached


class Found(Struct, frozen=True):
    """A page of the items that a filter finds."""

    ids: tuple[str, ...]
    cursor: str | None
    """Where the next page begins; None: this is the last."""
