"""The semantics again, as plainly as they can be said: one instance, one thread, no crashes.

Time is virtual and begins at 0. What happens at one moment happens in an order that is made up, so
that a prediction is only worth something where no such order matters; `certain` finds that out by
trying several.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from tests.kit.checker.expression import UNDEFINED, Json, evaluate, render, truthy
from tests.kit.checker.graph import Graph, read
from tests.kit.checker.moments import end_of
from tests.kit.oracle.activation import Activation, Scope
from tests.kit.oracle.inbox import Received, matches, since
from tests.kit.oracle.loops import (
    append,
    begin_appended_items,
    end_a_quiet_iteration,
    end_idle_loops,
    end_what_has_enough,
    enter,
    iterations_of,
    resume,
)
from tests.kit.workload.actions import Action, Cancel, Decide, Pause, Publish, Resume, Retry
from tests.kit.workload.behaviours import Behaviours, behaviour_of
from tests.kit.workload.drawing import Document

Later = Callable[[], None]


BEGIN_MS = 1_700_000_000_000
"""When instances begin: calendars ask for it."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """What is open: the jitter of retries, how long a turn and a client's request take, and in
    which order an engine looks at nodes when several may go on at one moment.
    """

    jitter: Callable[[str, int], float] = lambda node, failures: 0.0
    latency_ms: int = 0
    client_ms: int = 0
    place: Callable[[str], float] = lambda node: 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an instance ends, or where it rests."""

    status: str
    output: Json
    nodes: dict[str, str]
    """Node → COMPLETED, FAILED, SKIPPED, CANCELLED, or PENDING, RUNNING, WAITING.

    Those in iterations are `a[0]`, `a[0/1]`.
    """
    variables: dict[str, Json]


class Model:
    """One instance on its way."""

    def __init__(
        self, document: Document, input: Json, behaviours: Behaviours, schedule: Schedule
    ) -> None:
        self.graph: Graph = read(document)
        self.top = Scope({"input": input})
        self.scopes: list[Scope] = []
        """The top, and every iteration that is under way."""
        self.past: dict[str, str] = {}
        """How the nodes of iterations that have ended did so."""
        self.now = 0
        self.ending: str | None = None
        self.final: str | None = None
        self.paused = False
        self.pauses = 0
        self.outputs: list[Json] = []
        self.terminated: Json = UNDEFINED
        self.inbox: list[Received] = []
        self.taken: set[str] = set()
        self._behaviours = behaviours
        self._schedule = schedule
        self._agenda: list[tuple[int, int, Later]] = []
        self._count = itertools.count()
        self._retries = 0
        self.open(self.top, [id for id, node in self.graph.nodes.items() if node.loop is None])

    @property
    def nodes(self) -> list[Activation]:
        return [node for scope in self.scopes for node in scope.nodes.values()]

    def open(self, scope: Scope, ids: Iterable[str]) -> None:
        """Begin an iteration, or the instance itself."""
        for id in sorted(ids, key=self._schedule.place):
            scope.nodes[id] = Activation(self.graph.nodes[id], scope)
        self.scopes.append(scope)

    def leave(self, scope: Scope) -> None:
        self.scopes.remove(scope)
        self.past |= {scope.name(id): node.status for id, node in scope.nodes.items()}

    def run(self, actions: Iterable[Action]) -> Outcome:
        actions = list(actions)
        for action in actions:
            self._at(action.at_ms + self._schedule.client_ms, partial(self._act, action))
        limit = self._limit
        if limit is not None:
            self._at(limit, lambda: self._end("CANCELLED"))
        self._settle()
        self._retries = sum(isinstance(action, Retry) for action in actions)
        while self._agenda and (self.final is None or self._may_be_retried):
            at, _, happen = heapq.heappop(self._agenda)
            self.now = max(self.now, at)
            happen()
            self._settle()
        return self._outcome()

    # Time

    @property
    def _limit(self) -> int | None:
        """When the instance as a whole has taken too long."""
        end = end_of(self.graph.options.get("timeout"), BEGIN_MS)
        return None if end is None else end - BEGIN_MS

    def length(self, told: Json, calendar: Json = None) -> int | None:
        """How long something lasts that begins now, in milliseconds by the clock."""
        now = BEGIN_MS + self.now
        end = end_of(told, now, calendar)
        return None if end is None else end - now

    def _at(self, moment: int, happen: Later) -> None:
        heapq.heappush(self._agenda, (moment, next(self._count), happen))

    def _after(
        self, node: Activation, milliseconds: int, happen: Callable[[Activation], None]
    ) -> None:
        """Later, unless what was planned for this node no longer counts by then."""
        node.serial += 1
        serial = node.serial

        def check() -> None:
            if node.serial == serial and node.open:
                happen(node)

        self._at(self.now + milliseconds + self._schedule.latency_ms, check)

    # What clients do

    def _act(self, action: Action) -> None:
        match action:
            case Publish():
                self._publish(action)
            case Cancel():
                if self.final is None and (self.ending is None or self.paused):
                    self._end("CANCELLED")
            case Pause():
                if not self.paused and self.ending is None and self.final is None:
                    self._pause(action)
            case Resume():
                self._resume()
            case Decide():
                self._decide(action)
            case Retry():
                self._retries -= 1
                if self._can_go_on:
                    self._reopen()

    @property
    def _can_go_on(self) -> bool:
        limit = self._limit
        is_late = limit is not None and self.now >= limit
        return self.final == "FAILED" and self.terminated is UNDEFINED and not is_late

    @property
    def _may_be_retried(self) -> bool:
        return self._retries > 0 and self._can_go_on

    def _reopen(self) -> None:
        self.ending = self.final = None
        nodes = self.nodes
        completed = [node for node in nodes if node.withdrawn and node.status == "COMPLETED"]
        loops: list[Activation] = []
        for node in nodes:
            if not (node.withdrawn and node.status == "CANCELLED") and not (
                node.unhandled and node.status == "FAILED"
            ):
                continue
            if node.scope.over:
                continue
            node.fresh_from = node.started
            node.serial += 1
            node.failures = 0
            node.told = node.withdrawn = node.unhandled = False
            node.retrying = node.retry_due = False
            node.reopened = not node.started
            node.status = "RUNNING" if node.started else "PENDING"
            if node.started:
                loops.append(node)
                self.limit(node)
        for node in completed:
            node.withdrawn = node.told = False
            self._resolve(node, set(node.held_back))
        for node in completed:
            for id in node.plan.config.get("cancels") or ():
                self._call_off(self._named(node, id), never_began="SKIPPED")
            self._complete_loops(node)
        for node in loops:
            resume(self, node)

    def _pause(self, action: Pause) -> None:
        self.paused = True
        self.pauses += 1
        if action.until_ms is not None:
            number = self.pauses

            def resume() -> None:
                if self.pauses == number:
                    self._resume()

            self._at(max(action.until_ms, self.now), resume)

    def _resume(self) -> None:
        if not self.paused:
            return
        self.paused = False
        self.pauses += 1
        for node in self.nodes:
            if node.retry_due and node.open and self.ending is None:
                node.retry_due = False
                self._try(node)

    def _publish(self, action: Publish) -> None:
        if any(event.id == action.id for event in self.inbox):
            return
        event = Received(action.id, action.pattern, action.payload, self.now)
        self.inbox.append(event)
        for node in self.nodes:
            waits = node.status == "WAITING" and node.plan.type == "eventWait"
            if waits and matches(node.plan, node.since, event, node.sees):
                self._got(node, event)
            elif node.open and node.plan.type == "loop":
                append(self, node, event)

    def _decide(self, action: Decide) -> None:
        if self.final is not None or (self.ending is not None and not self.paused):
            return
        for node in self.nodes:
            if node.plan.id != action.step or node.status != "WAITING":
                continue
            people = [node.plan.config["assignees"]]
            further = node.plan.config.get("escalate")
            calendar = node.plan.config.get("calendar")
            if further and BEGIN_MS + self.now >= (
                end_of(further["after"], BEGIN_MS + node.since, further.get("calendar", calendar))
                or 0
            ):
                people.append(further["assignees"])
            if any(
                action.by in (each.get("users") or ())
                or {*action.roles} & {*(each.get("roles") or ())}
                for each in people
            ):
                output = {"decision": action.decision, "by": action.by, "form": None}
                self.complete(node, output, [action.decision])

    # Going on

    def _settle(self) -> None:
        while not self.paused and self.ending is None and self._step():
            pass
        if self.paused or self.final is not None:
            return
        if self.ending is not None:
            for node in self.nodes:
                if node.open and not node.told:
                    node.withdrawn = True
                if node.open and node.plan.type == "loop":
                    self._finish(node, "CANCELLED", ())
                else:
                    self._call_off(node)
        if not any(node.open for node in self.nodes):
            self.final = self.ending or "COMPLETED"

    def _step(self) -> bool:
        pending = [node for node in self.nodes if node.status == "PENDING" and not node.scope.over]
        for node in pending:
            if node.doomed and not node.reopened:
                self._finish(node, "SKIPPED", ())
                return True
        if end_what_has_enough(self):
            return True
        for node in pending:
            root = node.plan.id in self.graph.roots
            if node.reopened or (node.fires and (root or node.plan.incoming)):
                self._begin(node)
                return True
        return end_a_quiet_iteration(self) or begin_appended_items(self) or end_idle_loops(self)

    def _begin(self, node: Activation) -> None:  # noqa: C901 - one arm each
        config = node.plan.config
        node.reopened = False
        if node.plan.cancels_rest:
            self.call_off_rest(node)
        if config.get("when") is not None and not self.true(config["when"], node.scope):
            self._finish(node, "SKIPPED", tuple(node.plan.passed_over))
            return
        match node.plan.type:
            case "task" | "javascript" | "http" | "dataQuery":
                self._try(node)
            case "delay":
                node.status = "WAITING"
                lasts = self.length(config["duration"], config.get("calendar"))
                self._after(node, lasts or 0, self._woken)
            case "eventWait":
                self._wait(node)
            case "approval":
                node.status = "WAITING"
                node.since = self.now
                deadline = self.length(config.get("deadline"), config.get("calendar"))
                self._limit_wait(node, deadline)
            case "condition":
                self.complete(node, {"branches": self._branches(node)}, self._branches(node))
            case "set":
                self._set(node)
            case "loop":
                enter(self, node)
            case "start":
                given = self.top.ctx["input"]
                self.complete(node, {"started": True, "inputReceived": given}, ["default"])
            case "end":
                self.outputs.append(self.rendered(config.get("outputParameters"), node.scope) or {})
                self.complete(node, self.outputs[-1], ["default"])
            case "terminate":
                self.terminated = config.get("output")
                self.complete(node, self.terminated, ["default"])
                self._end(str(config.get("status", "COMPLETED")))
            case type:
                message = f"{node.plan.id}: the oracle knows no {type}"
                raise AssertionError(message)

    def _set(self, node: Activation) -> None:
        told = node.plan.config["values"]
        rendered = self.rendered(told, node.scope)
        values = {name: rendered.get(name) for name in told}
        handle = self._routed(node, values, values)
        node.scope.ctx.update(values)
        self.complete(node, values, [handle])

    def _branches(self, node: Activation) -> list[str]:
        config = node.plan.config
        true = [str(way["id"]) for way in config["branches"] if self.true(way["when"], node.scope)]
        if config.get("select", "first") == "first":
            true = true[:1]
        return true or ["else"]

    # Tasks

    def _try(self, node: Activation) -> None:
        node.status = "RUNNING"
        node.behaviour = behaviour_of(self._behaviours, node.plan.id, node.tries, node.scope.path)
        end = node.plan.timed_out_at(BEGIN_MS + self.now) or 0
        limit = end - BEGIN_MS - self.now
        if node.behaviour.takes_ms > limit:
            self._after(node, limit, lambda late: self.failed(late, "TIMEOUT", retryable=True))
        else:
            self._after(node, node.behaviour.takes_ms, self._reported)

    def _reported(self, node: Activation) -> None:
        behaviour = node.behaviour
        assert behaviour is not None
        if behaviour.does == "fail":
            self.failed(node, behaviour.code, retryable=behaviour.retryable)
            return
        if behaviour.delay_ms and not node.told and self.ending is None:
            node.status, node.held = "WAITING", True
            self._after(node, behaviour.delay_ms, self._released)
            return
        self._released(node)

    def _released(self, node: Activation) -> None:
        """The result counts now: the delay that its task asked for is over, or there is none."""
        behaviour = node.behaviour
        assert behaviour is not None
        node.held = False
        handles = [behaviour.handle]
        if behaviour.handle == "default":
            handles = [self._routed(node, behaviour.value)]
        self.complete(node, behaviour.value, handles)

    def failed(self, node: Activation, code: str, *, retryable: bool) -> None:
        if node.told:
            self._finish(node, "CANCELLED", ())
            return
        node.tries += 1
        node.failures += 1
        policy = node.plan.policy
        if (
            node.plan.runs_outside
            and retryable
            and code not in policy.non_retryable
            and node.failures < policy.max_attempts
            and self.ending is None
        ):
            wait = policy.wait_ms(node.failures)
            place = node.scope.name(node.plan.id)
            wait += int(wait * self._schedule.jitter(place, node.failures))
            wait = policy.due(BEGIN_MS + self.now, wait) - BEGIN_MS - self.now
            node.retrying = True
            self._after(node, wait, self._retry)
            return
        handle = node.plan.error_handle(code)
        fails_item = handle is None and self._fails_only_its_item(node, code)
        if handle is not None or fails_item:
            # Otherwise the instance ends, and takes them with it.
            for scope in iterations_of(self, node):
                self.call_off_scope(scope)
        if handle is None:
            node.unhandled = not fails_item
            self._finish(node, "FAILED", (), resolves=False)
            if fails_item:
                self._item_failed(node, code)
            else:
                self._end("FAILED")
            return
        error = {"code": code}
        self._write(node, {"error": error})
        self._finish(node, "FAILED", (handle,))

    def _fails_only_its_item(self, node: Activation, code: str) -> bool:
        """Whether a loop around it makes do with that, handles it as its own, or is over."""
        scope = node.scope
        while (loop := scope.loop) is not None:
            if not loop.open or loop.plan.continues or loop.plan.error_handle(code) is not None:
                return True
            scope = loop.scope
        return False

    def _item_failed(self, node: Activation, code: str) -> None:
        node.scope.failed = True
        self.call_off_scope(node.scope)
        loop = node.scope.loop
        if loop is not None and loop.open and not loop.plan.continues:
            self.failed(loop, code, retryable=False)

    def limit(self, loop: Activation) -> None:
        """The loop's own `timeout` bounds all of it."""
        limit = self.length(loop.plan.config.get("timeout"))
        if limit is not None:
            late = partial(self.failed, code="TIMEOUT", retryable=False)
            self._after(loop, limit, late)

    def _retry(self, node: Activation) -> None:
        node.retrying = False
        if self.paused:
            node.retry_due = True
        else:
            self._try(node)

    # Waits and delays

    def _woken(self, node: Activation) -> None:
        self.complete(node, None, [self._routed(node, None)])

    def _wait(self, node: Activation) -> None:
        config = node.plan.config
        node.status = "WAITING"
        node.since = since(node.plan, self.now)
        node.sees = self.sight(node.scope)
        for event in self.inbox:
            if event.id not in self.taken and matches(node.plan, node.since, event, node.sees):
                self._got(node, event)
                if not node.open:
                    return
        self._limit_wait(node, self.length(config.get("eventTimeout")))

    def _limit_wait(self, node: Activation, limit: int | None) -> None:
        whole = self.length(node.plan.config.get("timeout"))
        if limit is not None and (whole is None or limit <= whole):
            self._after(node, limit, self._timed_out)
        elif whole is not None:
            self._after(node, whole, lambda late: self.failed(late, "TIMEOUT", retryable=False))

    def _got(self, node: Activation, event: Received) -> None:
        self.taken.add(event.id)
        mapping = node.plan.config.get("eventPayloadMapping") or {}
        for name, path in mapping.items():
            value = evaluate(f"payload.{path}", {"payload": event.payload})
            node.scope.ctx[name] = None if value is UNDEFINED else value
        output = {"eventId": event.id, "pattern": event.pattern, "payload": event.payload}
        count = node.plan.config.get("count")
        if count is not None:
            node.counted.append(output)
            if len(node.counted) < count:
                return
            output = {"events": node.counted}
        self.complete(node, output, [self._routed(node, output)])

    def _timed_out(self, node: Activation) -> None:
        if node.plan.has_edge_on("timeout"):
            several = "count" in node.plan.config
            self.complete(node, {"events": node.counted} if several else None, ["timeout"])
        else:
            self.failed(node, "WAIT_TIMEOUT", retryable=False)

    # Outcomes

    def complete(self, node: Activation, output: Json, handles: list[str]) -> None:
        self._write(node, output)
        self._finish(node, "COMPLETED", handles)
        if node.told:
            return
        for id in node.plan.config.get("cancels") or ():
            self._call_off(self._named(node, id), never_began="SKIPPED")
        self._complete_loops(node)

    def _complete_loops(self, node: Activation) -> None:
        for id in node.plan.config.get("completes") or ():
            loop = self._named(node, id)
            loop.completed |= loop.open

    def _write(self, node: Activation, output: Json) -> None:
        node.output = output
        variable = node.plan.config.get("outputVariable")
        if variable is not None:
            node.scope.ctx[variable] = output

    def _finish(
        self, node: Activation, status: str, handles: Iterable[str], *, resolves: bool = True
    ) -> None:
        node.status = status
        node.serial += 1
        if node.withdrawn:
            node.held_back = tuple(handles)
        elif not node.told and resolves:
            self._resolve(node, set(handles))

    def _named(self, node: Activation, id: str) -> Activation:
        """The node that is meant inside an iteration: there, or around it."""
        scope = node.scope
        while id not in scope.nodes:
            assert scope.loop is not None, id
            scope = scope.loop.scope
        return scope.nodes[id]

    def _resolve(self, node: Activation, handles: set[str]) -> None:
        if node.scope.over:
            return
        for edge in node.plan.outgoing:
            target = node.scope.nodes[edge.target]
            if edge.handle in handles:
                target.arrive(node.plan.id, node.output)
            else:
                target.dead += 1

    def _end(self, status: str) -> None:
        if self.ending is None or self.paused:
            self.ending = self.ending or status
            if status == "CANCELLED":
                self.ending = status
                self.paused = False

    def _call_off(self, node: Activation, *, never_began: str | None = None) -> None:
        if node.status == "PENDING" and never_began is not None:
            self._finish(node, never_began, ())
        elif node.open and node.plan.type == "loop":
            self._finish(node, "CANCELLED", ())
            for scope in iterations_of(self, node):
                self.call_off_scope(scope)
        elif node.open and node.held:
            # Its work is done: it has completed, and nothing follows.
            if not node.withdrawn:
                self._resolve(node, set())
            node.told = True
            self._released(node)
        elif node.open and node.status == "RUNNING" and not node.retrying and not node.retry_due:
            self._tell(node)
        elif node.open:
            self._finish(node, "CANCELLED", ())

    def call_off_scope(self, scope: Scope) -> None:
        """Nothing more of an iteration begins, and what is open ends; also what is in loops."""
        scope.called_off = True
        for node in scope.nodes.values():
            self._call_off(node)
            for inner in iterations_of(self, node):
                self.call_off_scope(inner)

    def _tell(self, node: Activation) -> None:
        if node.told:
            return
        if not node.withdrawn:
            self._resolve(node, set())
        node.told = True
        node.tells += 1
        number = node.tells
        assert node.behaviour is not None
        patience = self.graph.grace_ms
        if node.behaviour.obeys:
            patience = min(patience, 1 + 2 * self._schedule.latency_ms)

        def give_up() -> None:
            if node.open and node.told and node.tells == number:
                self._finish(node, "CANCELLED", ())

        self._at(self.now + patience, give_up)

    def call_off_rest(self, join: Activation) -> None:
        """Nothing more arrives at a join."""
        for late in self._reaching(join):
            self._call_off(late, never_began="SKIPPED")

    def _reaching(self, join: Activation) -> list[Activation]:
        """Nodes from which an edge of this join that has not arrived can be reached."""
        nodes, found = join.scope.nodes, set[str]()
        queue = [
            edge.source
            for edge in join.plan.incoming
            if edge.source in nodes
            and nodes[edge.source].status in ("PENDING", "RUNNING", "WAITING")
            and not nodes[edge.source].told
        ]
        while queue:
            id = queue.pop()
            if id not in found:
                found.add(id)
                queue += [edge.source for edge in nodes[id].plan.incoming if edge.source in nodes]
        return [node for id, node in nodes.items() if id in found]

    # Expressions

    def sight(self, scope: Scope) -> dict[str, Json]:
        ctx = {**scope.ctx, **scope.names}
        return {"ctx": ctx, "workflow": {"input": self.top.ctx["input"]}, "steps": _steps(scope)}

    def true(self, expression: str, scope: Scope) -> bool:
        return truthy(evaluate(expression, self.sight(scope)))

    def _routed(
        self, node: Activation, output: Json, written: Mapping[str, Json] | None = None
    ) -> str:
        sight = self.sight(node.scope)
        sight["ctx"].update(written or {})
        variable = node.plan.config.get("outputVariable")
        if variable is not None:
            sight["ctx"][variable] = output
        for route in node.plan.config.get("conditions") or ():
            if truthy(evaluate(route["when"], sight)):
                return str(route["handle"])
        return "default"

    def rendered(self, template: Json, scope: Scope) -> Json:
        return render(template, self.sight(scope))

    def _outcome(self) -> Outcome:
        status = self.final or "OPEN"
        nodes = {node.scope.name(node.plan.id): node.status for node in self.nodes}
        nodes |= self.past
        variables = {name: value for name, value in self.top.ctx.items() if name != "input"}
        return Outcome(status, self._output() if status == "COMPLETED" else None, nodes, variables)

    def _output(self) -> Json:
        if self.terminated is not UNDEFINED:
            return self.terminated
        if self.outputs:
            merged: dict[str, Json] = {}
            for output in self.outputs:
                merged |= output
            return merged
        sinks = {
            id: node.output
            for id, node in self.top.nodes.items()
            if node.status == "COMPLETED" and not node.plan.outgoing
        }
        return next(iter(sinks.values())) if len(sinks) == 1 else sinks


def _steps(scope: Scope) -> dict[str, Json]:
    """Those of the same iteration, and of what is around it."""
    found = {} if scope.loop is None else _steps(scope.loop.scope)
    return found | {
        id: {"status": node.status, "output": node.output}
        for id, node in scope.nodes.items()
        if node.status != "PENDING"
    }
