"""The checker's own fold: what is true of an instance after the rows read so far.

Written from the specification alone, not from the product's fold, so that the two can disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tests.kit.checker.expression import Json
from tests.kit.checker.graph import Graph, Node
from tests.kit.checker.life import Life, Wait
from tests.kit.checker.record import Fields, Row

FINAL: Final = frozenset({"COMPLETED", "FAILED", "CANCELLED"})
UNCOUNTED: Final = frozenset({"LOST", "STOPPED"})


@dataclass(slots=True)
class Picture:
    """An instance, rebuilt row by row."""

    instance: str
    graph: Graph
    status: str = "CREATED"
    ctx: Fields = field(default_factory=dict)
    system: Fields = field(default_factory=dict)
    lives: dict[tuple[str, str], Life] = field(default_factory=dict)
    seen: set[tuple[str | None, str, str, int]] = field(default_factory=set)
    version: int = 0
    created_at: int = 0
    started_at: int = 0
    deadline: int | None = None
    parent: Fields | None = None
    """Who started it from a step."""
    births: list[Row] = field(default_factory=list)
    """The rows that started children."""
    deaths: dict[str, Row] = field(default_factory=dict)
    """Child → the row that says how it ended."""
    given_up: dict[str, int] = field(default_factory=dict)
    """Child → the moment since which nobody waits for it."""
    definition: tuple[Json, Json] | None = None
    inputs: int = 0
    finals: list[Row] = field(default_factory=list)
    ending: list[tuple[str, Row]] = field(default_factory=list)
    """Why nothing new may start, in order: FAILED, CANCELLED or COMPLETED (by `terminate`)."""
    terminated: Row | None = None
    pause: Row | None = None
    """The newest request to pause."""
    paused: bool = False
    """From a request to pause until one to resume; the status may follow a few rows later."""
    ended_by_end: bool = False
    end_output: Json = None
    taken_events: dict[str, list[tuple[str, Row]]] = field(default_factory=dict)
    """Event id → the waits that it resolved."""
    cancel_rest: list[Node] = field(default_factory=list)
    fired_rest: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.graph.nodes.values():
            self.lives[node.id, ""] = Life(node, total=len(node.incoming))
        self.cancel_rest = self.graph.cancel_rest_joins()

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    def life(self, row: Row) -> Life | None:
        """The activation that a row is about; None for rows of the instance itself."""
        return None if row.node is None else self.lives.get((row.node, row.iteration))

    def begins(self, row: Row) -> bool:
        """Whether this row is the first sign that a node was started (dead paths are not)."""
        life = self.life(row)
        if life is None or life.begun or life.ended:
            return False
        if row.type == "NODE_SKIPPED":
            return row.payload.get("reason") == "when"
        return row.type in _BEGINNINGS

    def scope(self, expression: str, **more: Json) -> Fields:
        """What `expression` would see now."""
        wants_steps = "steps" in expression
        steps = {
            life.node.id: {"status": min(life.statuses), "output": life.output}
            for life in self.lives.values()
            if wants_steps and (life.begun or life.ended)
        }
        variables = {name: value for name, value in self.ctx.items() if name != "input"}
        state = {"steps": steps, "variables": variables}
        given = self.ctx.get("input")
        instance = {"id": self.instance, "status": self.status, "input": given, "state": state}
        workflow = {"input": given, "instance": instance}
        return {"ctx": dict(self.ctx), "workflow": workflow, "steps": steps, **more}

    def apply(self, row: Row) -> None:
        """Take a row in."""
        self.version = row.seq
        self.counts[row.type] = self.counts.get(row.type, 0) + 1
        self.seen.add((row.node, row.iteration, row.type, row.attempt))
        if row.node is None:
            self._apply_to_instance(row)
            return
        life = self.life(row)
        if life is None:
            return
        if not life.may_cancel and not self.ending and calls_off(row):
            join = self.firing_rest_of(life)
            if join is not None:
                self.mark_rest(join, row)
        if self.begins(row):
            self._count_beginning(life)
            life.begun = row.seq
            self.mark_rest(life.node, row)
        if (change := _CHANGES.get(row.type)) is not None:
            change(self, life, row)

    def mark_rest(self, join: Node, row: Row) -> None:
        """A join with `cancelRest` fires: mark what it has to, and what it may, call off."""
        if not join.cancels_rest or join.id in self.fired_rest or self.ending:
            return
        self.fired_rest.add(join.id)
        for id in self._reaching(join, only_live=True):
            self._mark(id, row)
        for id in self._reaching(join, only_live=False):
            if not self.lives[id, ""].ended:
                self.lives[id, ""].may_cancel = True

    def firing_rest_of(self, life: Life) -> Node | None:
        """A `cancelRest` join that may go but has not shown yet, and that reaches over `life`."""
        for join in self.cancel_rest:
            candidate = self.lives[join.id, ""]
            if candidate.begun or candidate.ended or not candidate.satisfied:
                continue
            if life.node.id in self._reaching(join, only_live=False):
                return join
        return None

    def _mark(self, id: str, row: Row) -> None:
        life = self.lives.get((id, ""))
        if life is not None and not life.ended and not life.called_off:
            life.must_cancel = life.must_cancel or row.seq
            life.may_cancel = True

    def _reaching(self, join: Node, *, only_live: bool) -> set[str]:
        """Nodes from which an edge of `join` that has not arrived can be reached.

        `only_live` leaves out paths through nodes that have begun: nothing arrives over these.
        """
        found: set[str] = set()
        queue = [edge.source for edge in join.incoming if not self.lives[edge.source, ""].cut]
        while queue:
            id = queue.pop()
            if id in found:
                continue
            found.add(id)
            life = self.lives[id, ""]
            if only_live and life.begun:
                continue
            queue.extend(
                edge.source
                for edge in life.node.incoming
                if not only_live or not self.lives[edge.source, ""].cut
            )
        return found

    def _count_beginning(self, life: Life) -> None:
        if life.total > 1:
            self.counts["join"] = self.counts.get("join", 0) + 1

    def _apply_to_instance(self, row: Row) -> None:
        match row.type:
            case "INPUT_SET":
                self.inputs += 1
                self.ctx["input"] = row.payload.get("input")
                self.created_at = row.at
                self.deadline = row.moment("deadline")
                self.parent = row.payload.get("parent")
                version = row.payload.get("definitionVersion")
                self.definition = (row.payload.get("definitionId"), version)
            case "SYSTEM_SET":
                self.system |= row.payload.get("values") or {}
            case "STATUS_CHANGED":
                self.paused = row.payload.get("to") == "PAUSED"
                self.status = str(row.payload.get("to"))
                if self.status == "RUNNING" and not self.started_at:
                    self.started_at = row.at
                if self.status in FINAL:
                    self.finals.append(row)
            case "CANCEL_REQUESTED":
                self.ending.append(("CANCELLED", row))
            case "PAUSE_REQUESTED":
                self.pause = row
                self.paused = True
            case "RESUME_REQUESTED":
                self.paused = False
            case _:
                pass

    # What each kind of row does to the node it is about.

    def _dispatched(self, life: Life, row: Row) -> None:
        life.attempt = max(life.attempt, row.attempt)
        life.running = True
        life.ordered_at = row.at
        life.retry = None
        life.then = ""
        life.child_ended = None

    def _child_started(self, life: Life, row: Row) -> None:
        life.running = False
        life.child = row
        life.child_version = row.payload.get("version")
        if row.moment("failAt") is not None:
            life.fail_at = row.moment("failAt")
        self.births.append(row)

    def _child_ended(self, life: Life, row: Row) -> None:
        life.child = None
        life.child_ended = row
        self.deaths[str(row.payload.get("childId"))] = row

    def _completed(self, life: Life, row: Row) -> None:
        if life.ended:
            return
        life.outcomes[row.attempt] = "COMPLETED"
        life.running = False
        life.output = row.payload.get("output")
        life.handles = tuple(row.handles)
        if row.variable is not None:
            self.ctx[row.variable] = life.output
        self.ctx.update(row.payload.get("variables") or {})
        if life.node.type == "end":
            self._merge_output(life.output)
            self.ctx["output"] = self.end_output
        self._resolve(life, set(row.handles))
        self._end(life, row, "COMPLETED" if row.status != "error" else "FAILED")
        for id in life.node.config.get("cancels") or ():
            if row.status != "error" and life.told is None and not self.ending:
                self._mark(id, row)
            elif (named := self.lives.get((id, ""))) is not None:
                named.may_cancel = True
        if life.node.type == "terminate" and life.told is None:
            self.terminated = row
            self.ending.append((str(life.node.config.get("status", "COMPLETED")), row))

    def _merge_output(self, output: Json) -> None:
        both = isinstance(self.end_output, dict) and isinstance(output, dict)
        self.end_output = {**self.end_output, **output} if both else output
        self.ended_by_end = True

    def _failed(self, life: Life, row: Row) -> None:
        if life.ended:
            return
        life.outcomes[row.attempt] = "FAILED"
        life.running = False
        life.attempt = max(life.attempt, row.attempt)
        life.then = str(row.payload.get("then"))
        life.code = row.code
        life.failed_at = row.at
        life.losses = _losses_after(life.losses, row.code)
        life.failures += row.code not in UNCOUNTED
        if row.code in UNCOUNTED or row.code == "POISON":
            self.counts[row.code] = self.counts.get(row.code, 0) + 1
        if life.then == "fail":
            self._end(life, row, "FAILED")
            self.ending.append(("FAILED", row))
        elif life.then == "cancel":
            life.called_off = True
            self._resolve(life, set())
            self._end(life, row, "CANCELLED")

    def _skipped(self, life: Life, row: Row) -> None:
        reason = row.payload.get("reason")
        life.called_off |= reason == "cancelled"
        name = f"skipped {reason}"
        self.counts[name] = self.counts.get(name, 0) + 1
        self._resolve(life, {"default"} if reason == "when" else set())
        self._end(life, row, "SKIPPED")

    def _told(self, life: Life, row: Row) -> None:
        life.told = row
        life.called_off = True
        self._resolve(life, set())

    def _cancelled(self, life: Life, row: Row) -> None:
        life.called_off = True
        self._resolve(life, set())
        self._end(life, row, "CANCELLED")

    def _retry_scheduled(self, life: Life, row: Row) -> None:
        life.retry = row

    def _wait_opened(self, life: Life, row: Row) -> None:
        life.waited = True
        life.fail_at = row.moment("failAt")
        condition = life.node.config.get("eventCondition")
        life.wait = Wait(
            opened=row,
            scope=None if condition is None else self.scope(condition),
            pattern=str(row.payload.get("pattern")),
            since=row.moment("since"),
            timeout_at=row.moment("timeoutAt"),
            fail_at=row.moment("failAt"),
            correlation=row.payload.get("correlationId"),
        )

    def _wait_resolved(self, life: Life, row: Row) -> None:
        life.wait = None
        life.resolved = row
        if row.payload.get("outcome") == "event":
            event = str(row.payload.get("eventId"))
            self.taken_events.setdefault(event, []).append((life.node.id, row))

    def _timer_set(self, life: Life, row: Row) -> None:
        life.slept = True
        life.due = row.moment("due")
        life.fail_at = row.moment("failAt")

    def _timer_fired(self, life: Life, row: Row) -> None:
        life.due = None

    def _resolve(self, life: Life, handles: set[str]) -> None:
        if life.cut:
            return
        life.cut = True
        for edge in life.node.outgoing:
            target = self.lives[edge.target, ""]
            if edge.handle in handles and not life.called_off:
                target.taken += 1
            else:
                target.dead += 1

    def _end(self, life: Life, row: Row, outcome: str) -> None:
        life.ended = life.ended or row.seq
        life.outcome = outcome
        life.running = False
        life.wait = None
        life.due = None
        life.retry = None
        if life.child is not None:
            self.given_up[str(life.child.payload.get("childId"))] = row.at
        life.child = None


def calls_off(row: Row) -> bool:
    """Whether a row says that a node was cancelled, is being cancelled, or was skipped for that."""
    if row.type == "NODE_SKIPPED":
        return row.payload.get("reason") == "cancelled"
    return row.type in ("NODE_CANCEL_REQUESTED", "NODE_CANCELLED")


def _losses_after(losses: int, code: str) -> int:
    if code == "LOST":
        return losses + 1
    return losses if code == "STOPPED" else 0


_BEGINNINGS = frozenset(
    {"NODE_DISPATCHED", "NODE_COMPLETED", "NODE_FAILED", "WAIT_OPENED", "TIMER_SET"}
)
_CHANGES = {
    "NODE_DISPATCHED": Picture._dispatched,
    "NODE_COMPLETED": Picture._completed,
    "NODE_FAILED": Picture._failed,
    "NODE_SKIPPED": Picture._skipped,
    "NODE_CANCEL_REQUESTED": Picture._told,
    "NODE_CANCELLED": Picture._cancelled,
    "RETRY_SCHEDULED": Picture._retry_scheduled,
    "WAIT_OPENED": Picture._wait_opened,
    "WAIT_RESOLVED": Picture._wait_resolved,
    "TIMER_SET": Picture._timer_set,
    "TIMER_FIRED": Picture._timer_fired,
    "CHILD_STARTED": Picture._child_started,
    "CHILD_ENDED": Picture._child_ended,
}
