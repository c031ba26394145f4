"""The semantics again, as plainly as they can be said: one instance, one thread, no crashes.

Time is virtual and begins at 0. What happens at one moment happens in an order that is made up, so
that a prediction is only worth something where no such order matters; `certain` finds that out by
trying several.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from tests.kit.checker.expression import UNDEFINED, Json, evaluate, truthy
from tests.kit.checker.graph import Graph, Node, read
from tests.kit.checker.moments import duration_ms
from tests.kit.oracle.inbox import Received, matches, since
from tests.kit.workload.actions import Action, Cancel, Pause, Publish, Resume
from tests.kit.workload.behaviours import Behaviour, Behaviours, behaviour_of
from tests.kit.workload.drawing import Document

Later = Callable[[], None]


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
    """Node → COMPLETED, FAILED, SKIPPED, CANCELLED, or PENDING, RUNNING, WAITING."""
    variables: dict[str, Json]


@dataclass(slots=True)
class _Node:
    plan: Node
    status: str = "PENDING"
    taken: int = 0
    dead: int = 0
    tries: int = 0
    serial: int = 0
    """Rises whenever what was planned for this node no longer counts."""
    told: bool = False
    retrying: bool = False
    retry_due: bool = False
    behaviour: Behaviour | None = None
    since: int = 0
    scope: dict[str, Json] = field(default_factory=dict)
    output: Json = None

    @property
    def open(self) -> bool:
        return self.status in ("RUNNING", "WAITING")

    @property
    def fires(self) -> bool:
        total = len(self.plan.incoming)
        if self.plan.needs is None:
            return self.taken + self.dead == total and (self.taken > 0 or total == 0)
        return self.taken >= self.plan.needs

    @property
    def doomed(self) -> bool:
        total = len(self.plan.incoming)
        return total > 0 and total - self.dead < (self.plan.needs or 1)


class Model:
    """One instance on its way."""

    def __init__(
        self, document: Document, input: Json, behaviours: Behaviours, schedule: Schedule
    ) -> None:
        self.graph: Graph = read(document)
        ids = sorted(self.graph.nodes, key=schedule.place)
        self.nodes = {id: _Node(self.graph.nodes[id]) for id in ids}
        self.ctx: dict[str, Json] = {"input": input}
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

    def run(self, actions: Iterable[Action]) -> Outcome:
        for action in actions:
            self._at(action.at_ms + self._schedule.client_ms, partial(self._act, action))
        limit = self.graph.timeout_ms
        if limit is not None:
            self._at(limit, lambda: self._end("CANCELLED"))
        self._settle()
        while self._agenda and self.final is None:
            at, _, happen = heapq.heappop(self._agenda)
            self.now = max(self.now, at)
            happen()
            self._settle()
        return self._outcome()

    # Time

    def _at(self, moment: int, happen: Later) -> None:
        heapq.heappush(self._agenda, (moment, next(self._count), happen))

    def _after(self, node: _Node, milliseconds: int, happen: Callable[[_Node], None]) -> None:
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
                if self.ending is None or self.paused:
                    self._end("CANCELLED")
            case Pause():
                if not self.paused and self.ending is None:
                    self._pause(action)
            case Resume():
                self._resume()

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
        for node in self.nodes.values():
            if node.retry_due and node.open and self.ending is None:
                node.retry_due = False
                self._try(node)

    def _publish(self, action: Publish) -> None:
        if any(event.id == action.id for event in self.inbox):
            return
        event = Received(action.id, action.pattern, action.payload, self.now)
        self.inbox.append(event)
        for node in list(self.nodes.values()):
            waits = node.status == "WAITING" and node.plan.type == "eventWait"
            if waits and matches(node.plan, node.since, event, node.scope):
                self._got(node, event)

    # Going on

    def _settle(self) -> None:
        while not self.paused and self.ending is None and self._step():
            pass
        if self.paused or self.final is not None:
            return
        if self.ending is not None:
            for node in self.nodes.values():
                self._call_off(node)
        if not any(node.open for node in self.nodes.values()):
            self.final = self.ending or "COMPLETED"

    def _step(self) -> bool:
        pending = [node for node in self.nodes.values() if node.status == "PENDING"]
        for node in pending:
            if node.doomed:
                self._finish(node, "SKIPPED", ())
                return True
        for node in pending:
            root = node.plan.id in self.graph.roots
            if node.fires and (root or node.plan.incoming):
                self._begin(node)
                return True
        return False

    def _begin(self, node: _Node) -> None:
        config = node.plan.config
        if node.plan.cancels_rest:
            for late in self._reaching(node.plan):
                self._call_off(late, never_began="SKIPPED")
        if config.get("when") is not None and not self._true(config["when"]):
            self._finish(node, "SKIPPED", ("default",))
            return
        match node.plan.type:
            case "task":
                self._try(node)
            case "delay":
                node.status = "WAITING"
                self._after(node, duration_ms(config["duration"]) or 0, self._woken)
            case "eventWait":
                self._wait(node)
            case "condition":
                self._complete(node, {"branches": self._branches(node)}, self._branches(node))
            case "start":
                given = self.ctx["input"]
                self._complete(node, {"started": True, "inputReceived": given}, ["default"])
            case "end":
                self.outputs.append(self._rendered(config.get("outputParameters")))
                self._complete(node, self.outputs[-1], ["default"])
            case "terminate":
                self.terminated = config.get("output")
                self._complete(node, self.terminated, ["default"])
                self._end(str(config.get("status", "COMPLETED")))
            case type:
                message = f"{node.plan.id}: the oracle knows no {type}"
                raise AssertionError(message)

    def _branches(self, node: _Node) -> list[str]:
        config = node.plan.config
        true = [str(way["id"]) for way in config["branches"] if self._true(way["when"])]
        if config.get("select", "first") == "first":
            true = true[:1]
        return true or ["else"]

    # Tasks

    def _try(self, node: _Node) -> None:
        node.status = "RUNNING"
        node.behaviour = behaviour_of(self._behaviours, node.plan.id, node.tries)
        limit = node.plan.timeout_ms or 0
        if node.behaviour.takes_ms > limit:
            self._after(node, limit, lambda late: self._failed(late, "TIMEOUT", retryable=True))
        else:
            self._after(node, node.behaviour.takes_ms, self._reported)

    def _reported(self, node: _Node) -> None:
        behaviour = node.behaviour
        assert behaviour is not None
        if behaviour.does == "fail":
            self._failed(node, behaviour.code, retryable=behaviour.retryable)
            return
        handles = [behaviour.handle]
        if behaviour.handle == "default":
            handles = [self._routed(node, behaviour.value)]
        self._complete(node, behaviour.value, handles)

    def _failed(self, node: _Node, code: str, *, retryable: bool) -> None:
        if node.told:
            self._finish(node, "CANCELLED", ())
            return
        node.tries += 1
        policy = node.plan.policy
        if (
            node.plan.runs_outside
            and retryable
            and code not in policy.non_retryable
            and node.tries < policy.max_attempts
            and self.ending is None
        ):
            wait = policy.wait_ms(node.tries)
            wait += int(wait * self._schedule.jitter(node.plan.id, node.tries))
            node.retrying = True
            self._after(node, wait, self._retry)
            return
        handle = node.plan.error_handle(code)
        if handle is None:
            self._finish(node, "FAILED", (), resolves=False)
            self._end("FAILED")
            return
        error = {"code": code}
        self._write(node, {"error": error})
        self._finish(node, "FAILED", (handle,))

    def _retry(self, node: _Node) -> None:
        node.retrying = False
        if self.paused:
            node.retry_due = True
        else:
            self._try(node)

    # Waits and delays

    def _woken(self, node: _Node) -> None:
        self._complete(node, None, [self._routed(node, None)])

    def _wait(self, node: _Node) -> None:
        config = node.plan.config
        node.status = "WAITING"
        node.since = since(node.plan, self.now)
        node.scope = self._scope()
        for event in self.inbox:
            if event.id not in self.taken and matches(node.plan, node.since, event, node.scope):
                self._got(node, event)
                return
        limit = duration_ms((config.get("eventTimeout") or {}).get("duration"))
        whole = node.plan.timeout_ms
        if limit is not None and (whole is None or limit <= whole):
            self._after(node, limit, self._timed_out)
        elif whole is not None:
            self._after(node, whole, lambda late: self._failed(late, "TIMEOUT", retryable=False))

    def _got(self, node: _Node, event: Received) -> None:
        self.taken.add(event.id)
        mapping = node.plan.config.get("eventPayloadMapping") or {}
        for name, path in mapping.items():
            value = evaluate(f"payload.{path}", {"payload": event.payload})
            self.ctx[name] = None if value is UNDEFINED else value
        output = {"eventId": event.id, "pattern": event.pattern, "payload": event.payload}
        self._complete(node, output, [self._routed(node, output)])

    def _timed_out(self, node: _Node) -> None:
        if node.plan.has_edge_on("timeout"):
            self._complete(node, None, ["timeout"])
        else:
            self._failed(node, "WAIT_TIMEOUT", retryable=False)

    # Outcomes

    def _complete(self, node: _Node, output: Json, handles: list[str]) -> None:
        self._write(node, output)
        self._finish(node, "COMPLETED", handles)
        for id in node.plan.config.get("cancels") or ():
            self._call_off(self.nodes[id], never_began="SKIPPED")

    def _write(self, node: _Node, output: Json) -> None:
        node.output = output
        variable = node.plan.config.get("outputVariable")
        if variable is not None:
            self.ctx[variable] = output

    def _finish(
        self, node: _Node, status: str, handles: Iterable[str], *, resolves: bool = True
    ) -> None:
        node.status = status
        node.serial += 1
        if not node.told and resolves:
            self._resolve(node, set(handles))

    def _resolve(self, node: _Node, handles: set[str]) -> None:
        for edge in node.plan.outgoing:
            target = self.nodes[edge.target]
            if edge.handle in handles:
                target.taken += 1
            else:
                target.dead += 1

    def _end(self, status: str) -> None:
        if self.ending is None or self.paused:
            self.ending = self.ending or status
            if status == "CANCELLED":
                self.ending = status
                self.paused = False

    def _call_off(self, node: _Node, *, never_began: str | None = None) -> None:
        if node.status == "PENDING" and never_began is not None:
            self._finish(node, never_began, ())
        elif node.open and node.status == "RUNNING" and not node.retrying and not node.retry_due:
            self._tell(node)
        elif node.open:
            self._finish(node, "CANCELLED", ())

    def _tell(self, node: _Node) -> None:
        if node.told:
            return
        self._resolve(node, set())
        node.told = True
        assert node.behaviour is not None
        patience = self.graph.grace_ms
        if node.behaviour.obeys:
            patience = min(patience, 1 + 2 * self._schedule.latency_ms)

        def give_up() -> None:
            if node.open:
                self._finish(node, "CANCELLED", ())

        self._at(self.now + patience, give_up)

    def _reaching(self, join: Node) -> list[_Node]:
        """Nodes from which an edge of this join that has not arrived can be reached."""
        found: set[str] = set()
        queue = [
            edge.source
            for edge in join.incoming
            if self.nodes[edge.source].status in ("PENDING", "RUNNING", "WAITING")
            and not self.nodes[edge.source].told
        ]
        while queue:
            id = queue.pop()
            if id not in found:
                found.add(id)
                queue += [edge.source for edge in self.nodes[id].plan.incoming]
        return [node for id, node in self.nodes.items() if id in found]

    # Expressions

    def _scope(self) -> dict[str, Json]:
        return {"ctx": dict(self.ctx), "workflow": {"input": self.ctx["input"]}}

    def _true(self, expression: str) -> bool:
        return truthy(evaluate(expression, self._scope()))

    def _routed(self, node: _Node, output: Json) -> str:
        scope = self._scope()
        variable = node.plan.config.get("outputVariable")
        if variable is not None:
            scope["ctx"][variable] = output
        for route in node.plan.config.get("conditions") or ():
            if truthy(evaluate(route["when"], scope)):
                return str(route["handle"])
        return "default"

    def _rendered(self, template: Json) -> Json:
        if isinstance(template, dict):
            rendered = {name: self._rendered(value) for name, value in template.items()}
            return {name: value for name, value in rendered.items() if value is not UNDEFINED}
        if isinstance(template, str) and template.startswith("{{"):
            return evaluate(template[2:-2], self._scope())
        return {} if template is None else template

    def _outcome(self) -> Outcome:
        status = self.final or "OPEN"
        nodes = {id: node.status for id, node in self.nodes.items()}
        variables = {name: value for name, value in self.ctx.items() if name != "input"}
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
            for id, node in self.nodes.items()
            if node.status == "COMPLETED" and not node.plan.outgoing
        }
        return next(iter(sinks.values())) if len(sinks) == 1 else sinks
