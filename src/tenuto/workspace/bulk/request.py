"""What is asked for, and how far it has come, as the store keeps it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct

from tenuto.model.status import FINAL, Status

Target: TypeAlias = Literal["instances", "dead-letters"]
Action: TypeAlias = Literal["cancel", "pause", "resume", "retry", "discard"]

MOST_FAILURES = 100
"""Of so many it is kept why they failed; the rest are counted."""

_OPEN = tuple(status for status in Status if status not in FINAL)
SENSIBLE: dict[Action, tuple[Status, ...]] = {
    "cancel": _OPEN,
    "pause": tuple(status for status in _OPEN if status is not Status.PAUSED),
    "resume": (Status.PAUSED,),
    "retry": (Status.FAILED,),
}
"""Where instances stand with which an action can do something."""


class Which(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of which instances or dead letters; what is not said does not count."""

    ids: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ()
    workflow_id: str | None = None
    correlation_id: str | None = None
    current_step: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
    kind: str | None = None
    """Of dead letters."""
    task_id: str | None = None
    """Of dead letters."""


class BulkAsked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An action over all that a filter finds."""

    target: Target
    action: Action
    which: Which
    by: str
    reason: str | None = None
    should_compensate: bool = True


class ItemFailure(Struct, frozen=True, kw_only=True):
    """Why it could not be done to one."""

    id: str
    code: str
    message: str


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far it has come."""

    status: Literal["running", "done", "cancelled"] = "running"
    done: int = 0
    failed: int = 0
    failures: tuple[ItemFailure, ...] = ()
    pending: tuple[str, ...] = ()
    """What is being done now: after a crash it is done again, and no more than that."""
    cursor: str | None = None
    """Where the next page begins."""
    is_found: bool = False
    """Whether nothing is left to be looked for."""
    ended_at: datetime | None = None

    @property
    def matched(self) -> int:
        """How many the filter has found so far."""
        return self.done + self.failed + len(self.pending)


class Found(Struct, frozen=True):
    """A page of what a filter finds."""

    ids: tuple[str, ...]
    cursor: str | None
    """Where the next page begins; None: this is the last."""
