"""One activation of a node, as the history tells it so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.kit.checker.expression import Json
from tests.kit.checker.graph import Node
from tests.kit.checker.record import Fields, Row


@dataclass(frozen=True, slots=True)
class Arm:
    """One of those that a wait takes; the only one of a plain wait has no name."""

    id: str
    pattern: str
    condition: str | None


@dataclass(slots=True)
class Wait:
    """An open wait for an event."""

    opened: Row
    scope: Fields | None
    """What expressions saw when it opened; kept only where a condition needs it."""
    arms: list[Arm]
    since: int | None
    timeout_at: int | None
    fail_at: int | None
    correlation: str | None


@dataclass(slots=True)
class Asked:
    """An approval: who may decide, and what is due until somebody does."""

    opened: Row
    users: set[str]
    roles: set[str]
    remind_at: int | None
    escalate_at: int | None
    escalate_to: Fields | None
    reminded: int = 0


@dataclass(slots=True)
class Life:
    """Where one activation stands. A number that names a row is 0 when there is none."""

    node: Node
    total: int
    iteration: str = ""
    taken: int = 0
    dead: int = 0
    arrivals: list[Json] = field(default_factory=list)
    """The items of a loop over arrivals, as its edges were taken."""
    begun: int = 0
    ended: int = 0
    outcome: str = ""
    """COMPLETED, FAILED, SKIPPED or CANCELLED once it has ended."""
    attempt: int = 0
    """The newest attempt that was ordered."""
    running: bool = False
    ordered_at: int = 0
    wait: Wait | None = None
    asked: Asked | None = None
    """Of an approval, from when it opened."""
    limit_at: int | None = None
    """When an approval times out."""
    waited: bool = False
    counted: list[Row] = field(default_factory=list)
    """The rows by which a wait for several events took one, and stayed open."""
    resolved: Row | None = None
    due: int | None = None
    """When its delay is over, while it sleeps."""
    slept: bool = False
    held: Json = None
    """The result of a task that asked for a delay, until that is over."""
    fail_at: int | None = None
    retry: Row | None = None
    """The retry that is scheduled."""
    then: str = ""
    """What was decided about the newest failure."""
    code: str = ""
    failed_at: int = 0
    failures: int = 0
    """Failures that use up the budget: neither lost nor stopped."""
    losses: int = 0
    """Attempts lost in a row; clean stops are passed over."""
    told: Row | None = None
    """The row that told its attempt to stop."""
    cut: bool = False
    """Its outgoing edges are resolved."""
    must_cancel: int = 0
    may_cancel: bool = False
    withdrawn: bool = False
    """The instance's end called it off, no part of the workflow: its edges stay open."""
    highest: int = 0
    """The newest attempt that any row is about."""
    reopened: int = 0
    """The newest attempt before a retry by hand re-opened it."""
    queued: bool = False
    """It asked for its mutex."""
    called_off: bool = False
    """A row says that it was cancelled, is being cancelled, or was skipped for that."""
    output: Json = None
    handles: tuple[str, ...] = ()
    child: Row | None = None
    """The row that started the child whose end it waits for."""
    child_ended: Row | None = None
    """The row that says how the newest child ended."""
    child_version: Json = None
    """The version that its children run."""
    outcomes: dict[int, str] = field(default_factory=dict)
    """The recorded outcome of each attempt."""

    @property
    def name(self) -> str:
        """`a`, or `a[2/0]` in an iteration."""
        return f"{self.node.id}[{self.iteration}]" if self.iteration else self.node.id

    @property
    def place(self) -> tuple[str, str] | None:
        """The iteration around it, as its loop and its path; None at the top."""
        return None if self.node.loop is None else (self.node.loop, self.iteration)

    @property
    def satisfied(self) -> bool:
        """Its join lets it go; a loop over arrivals begins with the first."""
        if self.node.takes_arrivals:
            return self.taken > 0
        if self.node.needs is None:
            return self.taken + self.dead == self.total and (self.taken > 0 or self.total == 0)
        return self.taken >= self.node.needs

    @property
    def dead_path(self) -> bool:
        """Its join can never let it go."""
        if self.node.needs is None:
            return self.total > 0 and self.dead == self.total
        return self.total - self.dead < self.node.needs

    def arrive(self, source: str, output: Json, *, taken: bool) -> None:
        """An edge to it is taken, or dead."""
        if not taken:
            self.dead += 1
            return
        self.taken += 1
        if self.node.takes_arrivals:
            self.arrivals.append({"from": source, "output": output})

    @property
    def open(self) -> bool:
        """It has begun and not ended."""
        return self.begun > 0 and self.ended == 0

    def pending_of_approval(self) -> list[tuple[str, int | None]]:
        """What is due of an approval until somebody decides, beside its limits."""
        if self.wait is None or self.asked is None:
            return []
        return [("reminder", self.asked.remind_at), ("escalation", self.asked.escalate_at)]

    @property
    def statuses(self) -> frozenset[str]:
        """What its step's status may be called."""
        if self.ended:
            if self.outcome == "CANCELLED" and self.then == "cancel":
                return frozenset({"CANCELLED", "FAILED"})
            return frozenset({self.outcome})
        if self.running or self.child is not None or self.then == "route":
            return frozenset({"RUNNING"})
        if self.retry is not None or self.then == "retry":
            return frozenset({"RETRYING"})
        if self.wait is not None:
            return frozenset({"WAITING"})
        if self.due is not None:
            return frozenset({"WAITING", "RUNNING"})
        return frozenset({"RUNNING" if self.begun else "PENDING"})
