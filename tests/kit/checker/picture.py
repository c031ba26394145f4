"""The checker's own fold: what is true of an instance after the rows read so far.

Written from the specification alone, not from the product's fold, so that the two can disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tests.kit.checker.expression import Json
from tests.kit.checker.graph import Graph, Node
from tests.kit.checker.life import Arm, Asked, Life, Wait
from tests.kit.checker.moments import end_of, moment_ms
from tests.kit.checker.record import Fields, Row
from tests.kit.checker.turns import Iteration, Turns, index_of, outcome_of, outer

FINAL: Final = frozenset({"COMPLETED", "FAILED", "CANCELLED"})
UNCOUNTED: Final = frozenset({"LOST", "STOPPED"})


@dataclass(slots=True)
class Promise:
    """An SLA: when what is due, and what was told."""

    due: dict[str, int]
    told: dict[str, Row] = field(default_factory=dict)


@dataclass(slots=True)
class Picture:
    """An instance, rebuilt row by row."""

    instance: str
    graph: Graph
    status: str = "CREATED"
    ctx: Fields = field(default_factory=dict)
    system: Fields = field(default_factory=dict)
    lives: dict[tuple[str, str], Life] = field(default_factory=dict)
    turns: dict[tuple[str, str], Turns] = field(default_factory=dict)
    """Loop and the iteration around it → its iterations."""
    iterations: dict[tuple[str, str], Iteration] = field(default_factory=dict)
    """Loop and path → one iteration."""
    seen: set[tuple[str | None, str, str, int]] = field(default_factory=set)
    version: int = 0
    created_at: int = 0
    started_at: int = 0
    deadline: int | None = None
    parent: Fields | None = None
    """Who started it from a step."""
    started_by: str | None = None
    """The event that started it."""
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
    was_set_aside: bool = False
    """It could not be decided on, and failed with everything left as it was."""
    terminated: Row | None = None
    pause: Row | None = None
    """The newest request to pause."""
    paused: bool = False
    """From a request to pause until one to resume; the status may follow a few rows later."""
    ended_by_end: bool = False
    end_output: Json = None
    taken_events: dict[str, list[tuple[str, Row]]] = field(default_factory=dict)
    """Event id → the waits that it resolved."""
    heard_events: dict[str, list[tuple[str, Row]]] = field(default_factory=dict)
    """Event id → the loops to which it appended an item."""
    decided: set[tuple[str, ...]] = field(default_factory=set)
    """Node, iteration, decision and who decided."""
    cancel_rest: list[Node] = field(default_factory=list)
    fired_rest: set[tuple[str, str]] = field(default_factory=set)
    unexplained: list[tuple[Life, Row]] = field(default_factory=list)
    """What was called off in a loop, which may be about to fail."""
    counts: dict[str, int] = field(default_factory=dict)
    rerun_of: str | None = None
    reused: dict[str, Row] = field(default_factory=dict)
    """What was copied from that instance."""
    retrying: bool = False
    """From a retry by hand until the status follows."""
    retried_at: int | None = None
    """When it was last retried by hand."""
    promises: dict[tuple[str, str], Promise] = field(default_factory=dict)
    """SLAs by step and iteration; that of the instance under no name."""

    def __post_init__(self) -> None:
        for node in self.graph.nodes.values():
            if node.loop is None:
                self.lives[node.id, ""] = Life(node, total=len(node.incoming))
        self.cancel_rest = self.graph.cancel_rest_joins()

    @property
    def is_final(self) -> bool:
        return self.status in FINAL and not self.retrying

    def life(self, row: Row) -> Life | None:
        """The activation that a row is about; None for rows of the instance itself."""
        if row.node is None:
            return None
        is_item = row.type in OF_ITERATIONS or is_never_begun(row)
        path = outer(row.iteration) if is_item else row.iteration
        return self.lives.get((row.node, path))

    def loops_around(self, life: Life) -> list[Life]:
        """The loops in which an activation is, the innermost first."""
        found: list[Life] = []
        loop, path = life.node.loop, life.iteration
        while loop is not None:
            path = outer(path)
            found.append(self.lives[loop, path])
            loop = self.graph.nodes[loop].loop
        return found

    def is_over(self, life: Life) -> bool:
        """Whether the iteration around an activation failed, was called off or ended."""
        return life.place is not None and self.iterations[life.place].is_over

    def ctx_of(self, place: tuple[str, str] | None) -> Fields:
        """The context at the top, or of an iteration."""
        return self.ctx if place is None else self.iterations[place].ctx

    def names_of(self, place: tuple[str, str] | None) -> Fields:
        """What is in `ctx` only there: of an iteration, and of those around it."""
        return {} if place is None else self.iterations[place].names

    def begins(self, row: Row) -> bool:
        """Whether this row is the first sign that a node was started (dead paths are not)."""
        life = self.life(row)
        if life is None or life.begun or life.ended:
            return False
        if row.type == "NODE_SKIPPED":
            return row.payload.get("reason") == "when"
        return row.type in _BEGINNINGS

    def scope(self, expression: str, place: tuple[str, str] | None = None) -> Fields:
        """What `expression` would see now, at the top or in an iteration."""
        steps = self._steps(place) if "steps" in expression else {}
        ctx = {**self.ctx_of(place), **self.names_of(place)}
        variables = {name: value for name, value in ctx.items() if name != "input"}
        state = {"steps": steps, "variables": variables}
        given = self.ctx.get("input")
        instance = {"id": self.instance, "status": self.status, "input": given, "state": state}
        workflow = {"input": given, "instance": instance}
        return {"ctx": ctx, "workflow": workflow, "steps": steps}

    def _steps(self, place: tuple[str, str] | None) -> Fields:
        """Those of the same iteration, and of what is around it."""
        loop, path = (None, "") if place is None else place
        steps: Fields = {}
        while True:
            for node in self.graph.nodes.values():
                life = self.lives.get((node.id, path)) if node.loop == loop else None
                if life is not None and (life.begun or life.ended):
                    steps[node.id] = {"status": min(life.statuses), "output": life.output}
            if loop is None:
                return steps
            loop, path = self.graph.nodes[loop].loop, outer(path)

    def apply(self, row: Row) -> None:
        """Take a row in."""
        self.version = row.seq
        self.counts[row.type] = self.counts.get(row.type, 0) + 1
        self.seen.add((row.node, row.iteration, row.type, row.attempt))
        if row.type in ("SLA_SET", "SLA_FIRED"):
            self._promise(row)
            return
        if row.node is None:
            self._apply_to_instance(row)
            return
        life = self.life(row)
        if life is None:
            return
        if row.type != "RETRY_SCHEDULED":
            life.highest = max(life.highest, row.attempt)
        if not life.may_cancel and not self.ending and calls_off(row):
            join = self.firing_rest_of(life)
            if join is not None:
                self.mark_rest(join, row)
            else:
                self.unexplained.append((life, row))
        life.queued |= row.type == "MUTEX_REQUESTED"
        if self.begins(row):
            self._count_beginning(life)
            life.begun = row.seq
            self.mark_rest(life, row)
        if (change := _CHANGES.get(row.type)) is not None:
            change(self, life, row)

    def _promise(self, row: Row) -> None:
        place = (row.node or "", row.iteration)
        if row.type == "SLA_FIRED":
            if place in self.promises:
                self.promises[place].told[str(row.payload.get("kind"))] = row
            return
        moments = {"sla-warning": row.moment("warnAt"), "sla-breached": row.moment("breachAt")}
        due = {kind: at for kind, at in moments.items() if at is not None}
        self.promises.setdefault(place, Promise(due))

    def mark_rest(self, join: Life, row: Row) -> None:
        """A join with `cancelRest` fires: mark what it has to, and what it may, call off."""
        if join.node.cancels_rest:
            self._mark_rest(join, row)

    def _mark_rest(self, join: Life, row: Row) -> None:
        key = (join.node.id, join.iteration)
        if key in self.fired_rest or self.ending:
            return
        self.fired_rest.add(key)
        for id in self._reaching(join, only_live=True):
            self._mark(self.lives[id, join.iteration], row)
        for id in self._reaching(join, only_live=False):
            if not self.lives[id, join.iteration].ended:
                self.lives[id, join.iteration].may_cancel = True

    def firing_rest_of(self, life: Life) -> Life | None:
        """A `cancelRest` join that may go but has not shown yet, and that reaches over `life`."""
        for join in self.cancel_rest:
            if join.loop != life.node.loop:
                continue
            candidate = self.lives[join.id, life.iteration]
            if candidate.begun or candidate.ended or not candidate.satisfied:
                continue
            if (join.id, life.iteration) in self.fired_rest:
                continue
            if life.node.id in self._reaching(candidate, only_live=False):
                return candidate
        return None

    def _mark(self, life: Life | None, row: Row) -> None:
        if life is not None and not life.ended and not life.called_off:
            life.must_cancel = life.must_cancel or row.seq
            life.may_cancel = True

    def _named(self, life: Life, id: str) -> Life | None:
        """The activation of `id` that a node means: in its own iteration, or around it."""
        path, loop = life.iteration, life.node.loop
        while loop is not None and self.graph.nodes[id].loop != loop:
            path, loop = outer(path), self.graph.nodes[loop].loop
        return self.lives.get((id, path))

    def _call_off_iterations(self, loop: Life, row: Row) -> None:
        """Nothing more begins in what a loop has under way, and what is open has to end."""
        turns = self.turns.get((loop.node.id, loop.iteration))
        for iteration in turns.active if turns is not None else ():
            iteration.called_off = True
            self._call_off_body(loop.node, iteration.path, row)

    def _call_off_body(self, loop: Node, path: str, row: Row) -> None:
        for id in loop.body:
            inner = self.lives[id, path]
            if inner.open or inner.queued:
                self._mark(inner, row)
            if inner.node.type == "loop":
                self._call_off_iterations(inner, row)

    def _reaching(self, join: Life, *, only_live: bool) -> set[str]:
        """Nodes from which an edge of `join` that has not arrived can be reached.

        `only_live` leaves out paths through nodes that have begun: nothing arrives over these.
        """
        found: set[str] = set()
        queue = [id for id in self._before(join) if not self.lives[id, join.iteration].cut]
        while queue:
            id = queue.pop()
            if id in found:
                continue
            found.add(id)
            life = self.lives[id, join.iteration]
            if only_live and life.begun:
                continue
            queue.extend(
                before
                for before in self._before(life)
                if not only_live or not self.lives[before, join.iteration].cut
            )
        return found

    def _before(self, life: Life) -> list[str]:
        """Those from which an edge leads to a node, without the loop around it."""
        return [edge.source for edge in life.node.incoming if edge.source != life.node.loop]

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
                self.started_by = row.payload.get("eventId")
                self.rerun_of = row.payload.get("rerunOf")
                version = row.payload.get("definitionVersion")
                self.definition = (row.payload.get("definitionId"), version)
            case "SYSTEM_SET":
                values = row.payload.get("values") or {}
                self.system |= values
                if "quarantine" in values:
                    self._set_aside(row)
            case "STATUS_CHANGED":
                self.retrying = False
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
            case "RETRY_REQUESTED":
                self._retried(row)
            case _:
                pass

    def _set_aside(self, row: Row) -> None:
        """It could not be decided on: it fails as it stands, and its children are let go."""
        self.ending.append(("FAILED", row))
        self.was_set_aside = True
        for life in self.lives.values():
            if life.child is not None:
                self.given_up[str(life.child.payload.get("childId"))] = row.at

    def _retried(self, row: Row) -> None:
        """What failed unhandled and what that withdrew may begin; what completed goes on."""
        self.paused = False
        self.retrying = True
        self.retried_at = row.at
        completed = [
            life for life in self.lives.values() if life.withdrawn and life.outcome == "COMPLETED"
        ]
        for key, life in self.lives.items():
            is_failed = life.outcome == "FAILED" and life.then == "fail"
            is_lost = is_failed or (life.outcome == "CANCELLED" and life.withdrawn)
            is_left = bool(self.was_set_aside and life.begun and not life.ended)
            is_lost |= is_left and (life.told is None or life.withdrawn)
            if is_lost and not self.is_over(life):
                self.lives[key] = self._reopened(life, row)
        self.ending.clear()
        self.was_set_aside = False
        for life in completed:
            life.withdrawn = life.called_off = life.cut = False
            life.told = None
            self._resolve(life, set(life.handles))
            for id in life.node.config.get("cancels") or ():
                self._mark(self._named(life, id), row)
            self._complete_loops(life, row)

    def _reopened(self, life: Life, row: Row) -> Life:
        """A node that may begin again; a loop goes on with the iterations that it has."""
        again = Life(
            life.node,
            life.total,
            iteration=life.iteration,
            taken=life.taken,
            dead=life.dead,
            arrivals=life.arrivals,
            attempt=life.attempt,
            highest=life.highest,
            reopened=life.highest,
            outcomes=life.outcomes,
            may_cancel=life.may_cancel,
            counted=life.counted,
        )
        if (life.node.id, life.iteration) in self.turns:
            again.begun = life.begun
            turns = self.turns[life.node.id, life.iteration]
            turns.fresh_from = len(turns.iterations)
            again.fail_at = end_of(life.node.config.get("timeout"), row.at)
        return again

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

    def _completed(self, life: Life, row: Row) -> None:  # noqa: C901 - one arm each
        if life.ended:
            return
        if row.reused is not None:
            self.reused[life.node.id] = row
            # A copy of what ended well in its grace: it was called off then, and starts nothing.
            life.called_off = life.must_cancel > 0
        life.outcomes[row.attempt] = "COMPLETED"
        life.running, life.held = False, None
        life.output = row.payload.get("output")
        if life.node.type == "approval" and isinstance(life.output, dict):
            said = (str(life.output.get("decision")), str(life.output.get("by")))
            self.decided.add((life.node.id, life.iteration, *said))
            name = f"decision {said[0]}"
            self.counts[name] = self.counts.get(name, 0) + 1
        life.handles = tuple(row.handles)
        ctx = self.ctx_of(life.place)
        if row.variable is not None:
            ctx[row.variable] = life.output
        ctx.update(row.payload.get("variables") or {})
        if life.node.type == "end":
            self._merge_output(life.output)
            self.ctx["output"] = self.end_output
        self._resolve(life, set(row.handles))
        self._end(life, row, "COMPLETED" if row.status != "error" else "FAILED")
        # What a rerun takes over without a handle had been called off: it starts and ends nothing.
        had_been_called_off = row.reused is not None and not row.handles
        for id in life.node.config.get("cancels") or ():
            named = self._named(life, id)
            if had_been_called_off:
                continue
            if row.status != "error" and life.told is None and not self.ending:
                self._mark(named, row)
            elif named is not None:
                named.may_cancel = True
        if row.status != "error" and life.told is None and row.reused is None:
            self._complete_loops(life, row)
        if life.node.type == "loop":
            self._loop_completed(life, row)
        if life.node.type == "terminate" and life.told is None:
            self.terminated = row
            self.ending.append((str(life.node.config.get("status", "COMPLETED")), row))

    def _loop_completed(self, loop: Life, row: Row) -> None:
        turns = self.turns.get((loop.node.id, loop.iteration))
        is_completed = turns is not None and turns.completed_by is not None
        cancels_rest = bool(loop.node.config.get("cancelRest"))
        if row.status == "error" or cancels_rest or is_completed:
            self._call_off_iterations(loop, row)
        if loop.node.takes_arrivals and cancels_rest and row.status != "error":
            self._mark_rest(loop, row)

    def _complete_loops(self, life: Life, row: Row) -> None:
        """A step that `completes` loops was done: they end with what they have."""
        for id in life.node.config.get("completes") or ():
            loop = self._named(life, id)
            turns = None if loop is None else self.turns.get((loop.node.id, loop.iteration))
            if loop is not None and loop.open and turns is not None:
                turns.completed_by = turns.completed_by or row

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
        if life.node.type == "loop":
            self._explain(life, row)
        if life.then == "fail":
            self._end(life, row, "FAILED")
            self.ending.append(("FAILED", row))
        elif life.then == "iteration":
            self._end(life, row, "FAILED")
            self._item_failed(life, row)
        elif life.then == "cancel":
            life.called_off = True
            self._resolve(life, set())
            self._end(life, row, "CANCELLED")

    def _item_failed(self, life: Life, row: Row) -> None:
        """The rest of the iteration goes with its node; so does the loop, unless it continues."""
        if life.node.type == "loop":
            self._call_off_iterations(life, row)
        if life.place is None:
            return
        iteration = self.iterations[life.place]
        iteration.failure = iteration.failure or row
        loop = self.loops_around(life)[0]
        self._call_off_body(loop.node, life.iteration, row)
        if loop.open and not loop.node.continues:
            self.turns[loop.node.id, loop.iteration].must_fail = row
            self._call_off_iterations(loop, row)

    def _explain(self, loop: Life, row: Row) -> None:
        """A loop fails: that is why its iterations were called off just before."""
        left: list[tuple[Life, Row]] = []
        for life, why in self.unexplained:
            if why.at == row.at and any(loop is around for around in self.loops_around(life)):
                life.may_cancel = True
            else:
                left.append((life, why))
        self.unexplained = left

    def _skipped(self, life: Life, row: Row) -> None:
        reason = row.payload.get("reason")
        if is_never_begun(row):
            self.counts["skipped enough"] = self.counts.get("skipped enough", 0) + 1
            if (turns := self.turns.get((life.node.id, life.iteration))) is not None:
                turns.skipped.append(index_of(row.iteration))
            return
        if row.reused is not None:
            self.reused[life.node.id] = row
        life.called_off |= reason == "cancelled"
        name = f"skipped {reason}"
        self.counts[name] = self.counts.get(name, 0) + 1
        self._resolve(life, life.node.passed_over if reason == "when" else set())
        self._end(life, row, "SKIPPED")

    def _told(self, life: Life, row: Row) -> None:
        life.told = row
        life.called_off = True
        life.withdrawn = bool(self.ending) and not self.paused
        self._resolve(life, set())

    def _cancelled(self, life: Life, row: Row) -> None:
        life.called_off = True
        if life.told is None and self.ending:
            # While paused nothing is withdrawn yet, but what was lost is not started again either.
            life.withdrawn = not self.paused or life.running
        self._resolve(life, set())
        self._end(life, row, "CANCELLED")
        if life.node.type == "loop" and not life.withdrawn:
            self._call_off_iterations(life, row)

    def _iteration_started(self, loop: Life, row: Row) -> None:
        key, path = (loop.node.id, loop.iteration), row.iteration
        if (loop.node.id, path) in self.iterations:
            return
        turns = self.turns.get(key)
        if turns is None:
            loop.fail_at = row.moment("failAt")
            items = loop.arrivals if loop.node.takes_arrivals else row.payload.get("items")
            turns = self.turns[key] = Turns(loop.node, items, dict(self.ctx_of(loop.place)))
        index, items = index_of(path), turns.items
        names: Fields = {**self.names_of(loop.place), "index": index}
        if items is None:
            names["last"] = turns.last
        else:
            names["item"] = items[index] if index < len(items) else None
        iteration = Iteration(path, row, dict(turns.next_ctx), names)
        turns.iterations.append(iteration)
        self.iterations[loop.node.id, path] = iteration
        for id in loop.node.body:
            node = self.graph.nodes[id]
            self.lives[id, path] = Life(node, total=len(node.incoming), iteration=path)
        for edge in loop.node.inward:
            self.lives[edge.target, path].arrive(loop.node.id, None, taken=True)

    def _iteration_ended(self, loop: Life, row: Row) -> None:
        iteration = self.iterations.get((loop.node.id, row.iteration))
        if iteration is None or iteration.ended is not None:
            return
        iteration.ended = row
        turns = self.turns[loop.node.id, loop.iteration]
        turns.ends[index_of(row.iteration)] = row
        if outcome_of(row) != "cancelled":
            turns.last = row.payload.get("output")
        if not loop.node.is_parallel:
            turns.next_ctx = dict(iteration.ctx)
        name = f"iteration {outcome_of(row)}"
        self.counts[name] = self.counts.get(name, 0) + 1

    def _retry_scheduled(self, life: Life, row: Row) -> None:
        life.retry = row

    def _wait_opened(self, life: Life, row: Row) -> None:
        life.waited = True
        life.fail_at = row.moment("failAt")
        arms = _arms(life, row)
        conditions = " ".join(arm.condition for arm in arms if arm.condition is not None)
        life.wait = Wait(
            opened=row,
            scope=self.scope(conditions, life.place) if conditions else None,
            arms=arms,
            since=row.moment("since"),
            timeout_at=row.moment("timeoutAt"),
            fail_at=row.moment("failAt"),
            correlation=row.payload.get("correlationId"),
        )
        asking = row.payload.get("approval")
        if asking is not None:
            people = asking.get("assignees") or {}
            life.limit_at = row.moment("timeoutAt")
            life.asked = Asked(
                opened=row,
                users=set(people.get("users") or ()),
                roles=set(people.get("roles") or ()),
                remind_at=moment_ms(asking.get("remindAt")),
                escalate_at=moment_ms(asking.get("escalateAt")),
                escalate_to=asking.get("escalateTo"),
            )

    def _wait_resolved(self, life: Life, row: Row) -> None:
        if life.node.type == "loop":
            if (turns := self.turns.get((life.node.id, life.iteration))) is not None:
                turns.append(row)
            if row.payload.get("eventId") is not None:
                event = str(row.payload.get("eventId"))
                self.heard_events.setdefault(event, []).append((life.name, row))
            return
        if row.payload.get("remaining"):
            life.counted.append(row)
        else:
            life.wait = None
            life.resolved = row
        if row.payload.get("outcome") == "event":
            event = str(row.payload.get("eventId"))
            self.taken_events.setdefault(event, []).append((life.name, row))

    def _timer_set(self, life: Life, row: Row) -> None:
        life.due = row.moment("due")
        life.fail_at = row.moment("failAt")
        if (held := row.payload.get("held")) is None:
            life.slept = True
        else:
            life.running, life.held = False, held
            self.counts["held"] = self.counts.get("held", 0) + 1

    def _timer_fired(self, life: Life, row: Row) -> None:
        kind = row.payload.get("kind", "delay")
        if kind == "delay":
            life.due = None
        elif life.asked is not None and kind == "reminder":
            life.asked.reminded += 1
            life.asked.remind_at = row.moment("nextAt")
        elif life.asked is not None:
            added = row.payload.get("assignees") or {}
            life.asked.users |= set(added.get("users") or ())
            life.asked.roles |= set(added.get("roles") or ())
            life.asked.escalate_at = None
        self.counts[f"fired {kind}"] = self.counts.get(f"fired {kind}", 0) + 1

    def _resolve(self, life: Life, handles: set[str]) -> None:
        if life.cut or life.withdrawn:
            return
        life.cut = True
        for edge in life.node.outgoing:
            target = self.lives[edge.target, life.iteration]
            taken = edge.handle in handles and not life.called_off
            target.arrive(life.node.id, life.output, taken=taken)

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


def is_never_begun(row: Row) -> bool:
    """Whether a row says of an item of a loop that it never begins."""
    return row.type == "NODE_SKIPPED" and row.payload.get("reason") == "enough"


def _losses_after(losses: int, code: str) -> int:
    if code == "LOST":
        return losses + 1
    return losses if code == "STOPPED" else 0


def _arms(life: Life, row: Row) -> list[Arm]:
    """What a wait that opens takes: as it says, under the conditions that it was told."""
    config = life.node.config
    if "arms" not in config:
        return [Arm("", str(row.payload.get("pattern")), config.get("eventCondition"))]
    told = {str(arm["id"]): arm.get("eventCondition") for arm in config["arms"]}
    said = [(str(arm.get("id")), str(arm.get("pattern"))) for arm in row.payload.get("arms") or ()]
    return [Arm(id, pattern, told.get(id)) for id, pattern in said]


OF_ITERATIONS: Final = frozenset({"ITERATION_STARTED", "ITERATION_ENDED"})
_BEGINNINGS = frozenset(
    {"NODE_DISPATCHED", "NODE_COMPLETED", "NODE_FAILED", "WAIT_OPENED", "TIMER_SET"}
    | {"ITERATION_STARTED"}
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
    "ITERATION_STARTED": Picture._iteration_started,
    "ITERATION_ENDED": Picture._iteration_ended,
    "CHILD_STARTED": Picture._child_started,
    "CHILD_ENDED": Picture._child_ended,
}
