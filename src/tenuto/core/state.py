"""The state of an instance at one version of its log: a value that only `fold` makes.

Maps never change (`core.maps`): the cost of an entry depends on its changes, not on the size of the
state, and an older state stays valid beside the newer one. Only the code that folds entries assigns
fields, and only of an unshared copy: for all other code a state never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from tenuto.core.due_order import NONE_DUE, DueOrder
from tenuto.core.keys import NO_KEYS, Keys
from tenuto.model.approvals import People
from tenuto.model.entries import HeldResult, PlannedUndo, ScheduledBy, SkippedUndo
from tenuto.model.failure import Cancellation, Failure, LastError
from tenuto.model.family import Parent, origin_of
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey
from tenuto.model.json import JSON, Object
from tenuto.model.policy import NEAR
from tenuto.model.secret_place import SecretPlace
from tenuto.model.slots import SLOT
from tenuto.model.status import NodeStatus, Status


class Asked(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The extra fields of a wait for a person's decision."""

    assignees: People
    """Who may decide now."""
    escalate_to: People | None = None
    """Who may as well, once it escalates; None: it has, or never does."""
    reminded: int = 0
    reminders: tuple[datetime, ...] = ()
    """The moments after the first, where one of them is in working time."""
    escalated_at: datetime | None = None

    @property
    def is_overdue(self) -> bool:
        """Whether it was reminded of, or has escalated."""
        return bool(self.reminded) or self.escalated_at is not None


class Counted(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The events that a wait for several has taken."""

    events: tuple[JSON, ...] = ()
    ids: tuple[str, ...] = ()
    size: int = 0
    """How long their JSON is."""


class NodeState(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One activation of a node, from its first entry on."""

    status: NodeStatus
    attempt: int = 1
    """The number of the newest attempt; of the one to come where it was re-opened (PENDING)."""
    failures: int = 0
    """Attempts that count against the retry budget."""
    losses: int = 0
    """Attempts lost with their process, in a row."""
    opened: int = 0
    """The seq of the entry that opened it."""
    started_at: datetime | None = None
    dispatched_at: datetime | None = None
    """When a further attempt than the first was ordered."""
    timeout_at: datetime | None = None
    """When the newest attempt times out, where its `timeout` is in working time."""
    completed_at: datetime | None = None
    execution_time: int | None = None
    """Milliseconds that the newest attempt ran; None: it has not ended, or that is unknown."""
    queue_time: int | None = None
    """Milliseconds between its order and when it began, as far as that is known."""
    worker: str | None = None
    """The worker that ran the newest attempt that has ended; None: a process of the service."""
    input: JSON | UnsetType = UNSET
    """The input that was recorded, while a further attempt may need it."""
    secrets: tuple[SecretPlace, ...] = ()
    """Where secrets belong in it."""
    output: JSON = None
    written: int = 0
    """The seq of the entry that holds the output."""
    error: LastError | None = None
    held: HeldResult | None = None
    """The result of a task that asked for a delay, until that is over."""
    is_wait: bool = False
    approval: Asked | None = None
    """Set where the wait is for a decision and not for an event."""
    counted: Counted | None = None
    """The events so far, of a wait for several that has taken one."""
    is_loop: bool = False
    hears: bool = False
    """A loop to which events append items."""
    errors: list[JSON] = []
    """Errors of single iterations of a loop that goes on in spite of them."""
    grace_until: datetime | None = None
    """Set once a running attempt was asked to stop; its edges are dead since then."""
    child_id: str | None = None
    """The instance that was started for the newest attempt."""
    is_withdrawn: bool = False
    """Cancelled by the instance's end and not by a part of the workflow: its edges have not
    arrived."""
    held_back: tuple[str, ...] = ()
    """The handles that it ended with all the same, for a retry to continue from."""
    given_up: tuple[int, ...] = ()
    """Attempts that an end cancelled and that never reported, before a retry re-opened it."""
    child_version: int = 0
    """The version of the workflow that its children run; 0 until it is known."""
    can_be_undone: bool = False
    """Whether its child has completed steps that it could undo."""
    was_done: bool = False
    """It did not complete, and yet its work was done: there may be something to undo."""
    is_taken_over: bool = False
    """It ran in an earlier instance, which alone undoes it."""
    mutex: str | None = None
    """The mutex that it waits for, or has while it is open."""
    is_queued: bool = False
    """Whether it waits for its mutex."""

    @property
    def is_open(self) -> bool:
        return self.status in _OPEN

    @property
    def patience(self) -> timedelta | None:
        """How long its newest attempt may run, where its `timeout` is in working time."""
        since = self.dispatched_at or self.started_at
        return None if self.timeout_at is None or since is None else self.timeout_at - since

    @property
    def leaves_work(self) -> bool:
        """Whether it did something here that an end other than COMPLETED may have to undo."""
        return (self.status is _COMPLETED or self.was_done) and not self.is_taken_over

    @property
    def listens(self) -> bool:
        """Whether events are matched for it while it is open: a decision is none."""
        return (self.is_wait and self.approval is None) or self.hears

    @property
    def is_in_flight(self) -> bool:
        """Whether an attempt needs a process: a child does not, once its start message is sent."""
        return self.status is _RUNNING and not self.is_loop and self.child_id is None


_RUNNING, _COMPLETED = NodeStatus.RUNNING, NodeStatus.COMPLETED
_OPEN = (NodeStatus.RUNNING, NodeStatus.WAITING, NodeStatus.RETRYING)


def attempt_of(state: InstanceState, key: NodeKey) -> int:
    """The attempt that a node is at, or would begin with."""
    node = state.nodes.get(key)
    return 1 if node is None else node.attempt


class Join(NamedTuple):
    """How many edges of a node with several have arrived, and how."""

    taken: int = 0
    dead: int = 0


class Variable(NamedTuple):
    """A name in the context, the seq of the entry that wrote it, and how long its JSON is."""

    value: JSON
    written: int
    size: int


class Added(NamedTuple):
    """An item that was appended to a loop under way, and the event that appended it."""

    item: JSON
    event_id: str | None = None


class LoopState(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A loop with iterations under way, or still to come."""

    items: list[JSON] | None = None
    """What its source gave; None: it goes on while a condition holds. Arrivals are not in it."""
    items_size: int = 0
    """How long their JSON is, and that of the items that were appended."""
    added: Mapping[int, Added] = {}
    """By index, items that were appended to those of the source."""
    heard: Mapping[str, None] = {}
    """The events that appended them."""
    variables: Mapping[str, Variable] = {}
    """What the next iteration starts from: as the loop was entered, or as the one before ended."""
    size: int = 0
    """How long the JSON of those is that iterations wrote."""
    started: int = 0
    fresh_from: int = 0
    """How many had begun when it was re-opened last: a `while` has its whole budget again."""
    active: int = 0
    succeeded: int = 0
    results: Mapping[int, JSON] = {}
    results_size: int = 0
    """How long their JSON is."""
    errors: Mapping[int, JSON] = {}
    last: JSON = None
    """What the iteration that ended last gave."""
    ended: Mapping[int, int] = {}
    """By their order, the indexes of iterations that ended; kept where `enough` may ask for it."""
    skipped: int = 0
    """Items that never begin, since the loop has enough."""
    has_enough: bool = False
    """It ends with what it has, once its other items are recorded as skipped."""
    ends_all: bool = False
    """A step that `completes` it was done: its iterations under way are cancelled."""

    @property
    def length(self) -> int:
        """How many items it has."""
        return len(self.items or ()) + len(self.added)

    def item(self, index: int) -> JSON:
        assert self.items is not None
        return self.items[index] if index < len(self.items) else self.added[index].item


class Iteration(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One iteration under way: its own variables, and how much in it is open."""

    variables: Mapping[str, Variable]
    size: int = 0
    """How long the JSON of the variables that it wrote is."""
    open: int = 0
    """Its open nodes, and the iterations of loops in it."""
    failure: Failure | None = None
    called_off: bool = False
    """Whether it was cancelled. The name is stored in snapshots."""
    has_undo: bool = False
    """Whether an iteration of an inner loop is kept, since something in it may be undone."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more in it may begin: it ends once its open nodes have ended."""
        return self.called_off or self.failure is not None


class PastIteration(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The data of an ended iteration in which something may be undone."""

    variables: Mapping[str, Variable]
    names: Object
    """Its index, and its item or the result of the iteration before it."""
    is_added: bool = False
    """Its item was appended, and is not among those of the source."""


class Compensation(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The undo of an instance: its plan, its progress, and its failures."""

    plan: tuple[PlannedUndo, ...]
    skipped: tuple[SkippedUndo, ...] = ()
    started_at: datetime
    completed_at: datetime | None = None
    position: int = 0
    """How many items of the plan have had their turn."""
    failed: Mapping[int, LastError] = {}
    """Items that were given up, by their place in the plan."""
    current: int | None = None
    """The place of the item under way."""
    work: NodeState | None = None
    """The state of that item."""
    asked: int = 0
    """The number of the parent's last request, by which a duplicate message is recognised."""
    again: tuple[int, ...] = ()
    """The places of items that were given up and that the parent asked to try again."""

    @property
    def status(self) -> Literal["IN_PROGRESS", "COMPLETED", "COMPLETED_WITH_ERRORS"]:
        if self.completed_at is None:
            return "IN_PROGRESS"
        return self.outcome

    @property
    def outcome(self) -> Literal["COMPLETED", "COMPLETED_WITH_ERRORS"]:
        """How it ends, or ended: one that was broken off has not undone everything."""
        is_whole = not self.failed and self.position == len(self.plan)
        return "COMPLETED" if is_whole else "COMPLETED_WITH_ERRORS"

    @property
    def is_under_way(self) -> bool:
        return self.completed_at is None

    @property
    def is_idle(self) -> bool:
        """Whether it is for the next decision to go on with it."""
        return self.completed_at is None and self.work is None

    @property
    def is_in_flight(self) -> bool:
        """Whether an attempt of one needs a process."""
        return self.work is not None and self.work.is_in_flight

    @property
    def place(self) -> tuple[str, str, int] | None:
        """The compensation step, iteration and attempt of the one under way."""
        if self.current is None or self.work is None:
            return None
        item = self.plan[self.current]
        return item.step_id, item.iteration, self.work.attempt

    @property
    def has_begun(self) -> bool:
        """Whether anything of it was tried."""
        return self.position > 0 or self.work is not None


class Timer(NamedTuple):
    """When a timer is due; `set_at` tells the shell whether it was near enough for memory."""

    due: datetime
    set_at: datetime

    @property
    def is_near(self) -> bool:
        """Whether it needs no row: it was set so short ahead that its owner keeps it in memory."""
        return self.due - self.set_at <= NEAR


class SlaState(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The SLA of an instance or of an open step: its moments, and when they were told."""

    warn_at: datetime | None = None
    breach_at: datetime | None = None
    warned_at: datetime | None = None
    breached_at: datetime | None = None


class Pause(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Why and until when nothing new is dispatched."""

    by: str
    at: datetime
    reason: str | None = None
    until: datetime | None = None


class Ending(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The end that an instance is on its way to, while running nodes are cancelled."""

    because: Literal["failed", "cancelled", "terminated"]
    status: Status
    output: JSON = None


class InstanceState(Struct, gc=False, kw_only=True):
    """The fold of a log."""

    id: str
    version: int
    """How many entries have been folded."""
    status: Status
    definition_id: str = ""
    definition_version: int = 0
    rerun_of: str | None = None
    input: JSON = None
    correlation_id: str | None = None
    traceparent: str | None = None
    """The trace that it was started in."""
    priority: int = 0
    deadline: datetime | None = None
    parent: Parent | None = None
    chain: int = 0
    """How many starts by events of instances led to it, as `Event.chain` counts them."""
    origin: str | None = None
    """The instance that led to it by events, if one did."""
    schedule: ScheduledBy | None = None
    """The tick of a schedule that started it, if one did."""
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None
    nodes: Mapping[NodeKey, NodeState]
    joins: Mapping[NodeKey, Join]
    ready: Keys
    """Nodes whose join has fired and that have not begun."""
    unreachable: Keys
    """Nodes that can never run and have not been skipped yet."""
    quiet: Keys
    """Iterations, each as its loop and its path, of which no node is open."""
    short: Keys
    """Loops over items that have room for further iterations and have not begun them yet, or whose
    last edge has arrived when none was under way."""
    enough: Keys
    """Loops that have enough, and have not ended yet."""
    open: int = 0
    """How many nodes have begun and not ended."""
    open_steps: Mapping[str, int]
    """How many of them each step has."""
    open_inside: Mapping[NodeKey, None]
    """Those of them that are in iterations."""
    stopping: int = 0
    """How many of them were asked to stop."""
    open_waits: int = 0
    open_loops: int = 0
    loops: Mapping[NodeKey, LoopState]
    arrivals: Mapping[NodeKey, tuple[str, ...]]
    """By loop over arrivals, the steps whose edges to it were taken, in order."""
    iterations: Mapping[NodeKey, Iteration]
    """By loop and path, those under way."""
    running: int = 0
    """Attempts in flight, including those that were asked to stop."""
    near_timers: int = 0
    timers: Mapping[TimerKey, Timer]
    sla: Mapping[NodeKey, SlaState]
    """Of steps that have not ended for good; under no name that of the instance."""
    sla_order: DueOrder = NONE_DUE
    """Those of `timers` that are of SLAs, in the order in which they are due."""
    variables: Mapping[str, Variable]
    context_bytes: int = 0
    """How long the JSON of all variables is."""
    taken_events: Mapping[str, None]
    output: JSON | UnsetType = UNSET
    """What `end` nodes have collected so far."""
    system: Object = {}
    pause: Pause | None = None
    ending: Ending | None = None
    last_error: LastError | None = None
    may_retry: bool = True
    """Whether the failure that ended it is one that trying again might mend; a parent asks."""
    cancellation: Cancellation | None = None
    past: Mapping[NodeKey, PastIteration]
    """By loop and path, iterations that have ended and in which something may be undone."""
    compensation: Compensation | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens by itself: one that has its end may be undone after it."""
        return self.status.is_final and (
            self.compensation is None or not self.compensation.is_under_way
        )

    @property
    def led_to_by(self) -> str:
        """The instance that it counts for: its own, its root, or what led to that by events."""
        return origin_of(self.id, self.parent, self.origin)

    @property
    def needs_owner(self) -> bool:
        """Whether it has work that lives in a process, and not only rows."""
        if self.running > 0 and not self.status.is_final:
            return True
        if self.has_ended:
            return False
        return self.running > 0 or self.near_timers > 0 or self.is_unsettled

    @property
    def is_unsettled(self) -> bool:
        """Whether something follows from it that no decision has come to yet."""
        if self.compensation is not None:
            return self.compensation.is_idle
        begins = self.ready or self.unreachable or self.quiet or self.short or self.enough
        if not begins and self.ending is None:
            return False
        if self.pause is not None or self.status.is_final or self.status is Status.CREATED:
            return False
        if self.ending is None and self.is_without_slot:
            return False
        return bool(begins) if self.ending is None else self.open > self.stopping

    @property
    def is_without_slot(self) -> bool:
        """Whether nothing of it begins until it is admitted: a limit counts it, and may be full."""
        slot = self.system.get(SLOT) if self.system else None
        return isinstance(slot, dict) and slot.get("state") != "held"

    @property
    def begins_nothing(self) -> bool:
        """Whether no nodes or iterations are about to begin or to end."""
        return not (self.ready or self.unreachable or self.quiet or self.short or self.enough)

    @property
    def weight(self) -> int:
        """Of how many parts it consists, about."""
        return len(self.nodes) + sum(len(loop.results) for loop in self.loops.values())

    def length_of(self, loop: NodeKey) -> int:
        """How many items a loop over items has so far."""
        return self.loops[loop].length + len(self.arrivals.get(loop, ()))

    def arrival(self, loop: NodeKey, index: int) -> Object:
        """An item of a loop over arrivals: a step, and its output.

        Outputs never change once an edge was taken, so that nothing of them is kept twice.
        """
        source = self.arrivals[loop][index]
        # A loop around this one, whose body it begins, has no output yet.
        node = self.nodes.get(NodeKey(source, loop.iteration))
        return {"from": source, "output": None if node is None else node.output}

    def open_nodes(self) -> list[NodeKey]:
        """The nodes that have begun and not ended, in no order."""
        steps = (NodeKey(name) for name in self.open_steps)
        # A step of a loop's body is only ever in its iterations.
        return [*(key for key in steps if key in self.nodes), *self.open_inside]

    def before_its_end(self) -> InstanceState:
        """As it was while it was being undone: how it ended then is not seen."""
        if not self.status.is_final or self.status is Status.COMPLETED:
            return self
        before = self.copied()
        before.status = Status.RUNNING
        return before

    def copied(self) -> InstanceState:
        """A copy to go on from; what it consists of is shared."""
        if self.ready or self.unreachable or self.quiet or self.short or self.enough:
            self.ready.is_shared = self.unreachable.is_shared = True
            self.quiet.is_shared = self.short.is_shared = self.enough.is_shared = True
        copy: InstanceState = self.__copy__()  # type: ignore[attr-defined] # every Struct has it
        return copy


_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


_BLANK = InstanceState(
    id="",
    version=0,
    status=Status.CREATED,
    created_at=_BEGINNING,
    updated_at=_BEGINNING,
    nodes={},
    joins={},
    ready=NO_KEYS,
    unreachable=NO_KEYS,
    quiet=NO_KEYS,
    short=NO_KEYS,
    enough=NO_KEYS,
    open_steps={},
    open_inside={},
    loops={},
    arrivals={},
    iterations={},
    timers={},
    sla={},
    variables={},
    taken_events={},
    past={},
)
"""What all states begin from and share: every start and every reading makes one."""


def blank(instance_id: str) -> InstanceState:
    """An instance before its first entry."""
    state = _BLANK.copied()
    state.id = instance_id
    return state
