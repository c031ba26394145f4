"""A definition document, in either spelling, as nodes and edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tests.kit.checker.expression import Json
from tests.kit.checker.moments import duration_ms, end_of
from tests.kit.checker.working_time import after

GRACE_MS: Final = 10_000
TASK_TIMEOUT_MS: Final = 600_000
DEFAULT_CONCURRENCY: Final = 10
MAX_ITERATIONS: Final = 1_000

_STEP_TYPES = {
    "TASK": "task",
    "EVENT_WAIT": "eventWait",
    "CONDITION": "condition",
    "DELAY": "delay",
    "TERMINATE": "terminate",
    "EMIT": "emit",
    "SET": "set",
    "HTTP": "http",
    "DATA_QUERY": "dataQuery",
    "JAVASCRIPT": "javascript",
    "SUB_WORKFLOW": "subWorkflow",
    "APPROVAL": "approval",
    "LOOP": "loop",
}
_EXECUTED = frozenset({"task", "http", "dataQuery", "javascript"})
CODE_TIMEOUT_MS = 30_000
_RUNS_OUTSIDE = frozenset({"task", "http", "dataQuery", "javascript", "subWorkflow"})
_NO_HANDLES = frozenset({"end", "terminate"})


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow from a handle of one node to another node."""

    source: str
    handle: str
    target: str


@dataclass(frozen=True, slots=True)
class Policy:
    """How often, and after which waits, a failing node is tried again."""

    max_attempts: int
    initial_ms: int
    multiplier: float
    cap_ms: int
    non_retryable: frozenset[str]
    on_lost: str
    calendar: str | None = None
    """That its waits are counted in."""

    def due(self, failed_at: int, wait: float) -> int:
        """When a wait is over."""
        if self.calendar is None:
            return failed_at + int(wait)
        return after(failed_at, int(wait))

    def wait_ms(self, failures: int) -> int:
        """The wait after so many failures, without jitter."""
        exponent = min(max(failures - 1, 0), 64)
        return int(min(float(self.cap_ms), self.initial_ms * self.multiplier**exponent))


@dataclass(slots=True)
class Node:
    """A box, with its arrows and the settings that decide about it."""

    id: str
    type: str
    config: dict[str, Json]
    policy: Policy
    needs: int | None
    """How many incoming edges must be taken; None: all resolved and one of them taken."""
    incoming: list[Edge] = field(default_factory=list)
    """Without those that lead back to a loop from its own body."""
    outgoing: list[Edge] = field(default_factory=list)
    """To nodes that are in the same body."""
    inward: list[Edge] = field(default_factory=list)
    """From a loop to the first nodes of its body."""
    handles: set[str] = field(default_factory=set)
    """Those that have an edge of any kind."""
    loop: str | None = None
    """The innermost loop around it."""
    body: list[str] = field(default_factory=list)
    """The nodes whose innermost loop it is."""

    @property
    def runs_outside(self) -> bool:
        """Whether attempts of it are ordered and may be repeated."""
        return self.type in _RUNS_OUTSIDE

    @property
    def starts_a_child(self) -> bool:
        """Whether what it runs is an instance of its own."""
        return self.type == "subWorkflow"

    @property
    def takes_arrivals(self) -> bool:
        """Whether it is a loop of which each taken incoming edge is an item."""
        return self.type == "loop" and self.config.get("source") == "arrivals"

    @property
    def is_parallel(self) -> bool:
        """Whether it is a loop whose iterations begin beside each other, as it was entered."""
        return self.config.get("mode") == "parallel" or self.takes_arrivals

    @property
    def cancels_rest(self) -> bool:
        return self.needs is not None and self.config.get("cancelRest") is True

    @property
    def timeout_ms(self) -> int | None:
        """The limit of one attempt, or of the whole node where nothing is attempted.

        In working time, where it names a calendar.
        """
        given = self.config.get("timeout")
        if given is not None:
            return duration_ms(given["duration"] if isinstance(given, dict) else given)
        return self._usual_timeout_ms

    @property
    def is_executed(self) -> bool:
        """Whether its work is done in attempts, by a task or by the engine itself."""
        return self.type in _EXECUTED

    @property
    def _usual_timeout_ms(self) -> int | None:
        if not self.is_executed:
            return None
        return CODE_TIMEOUT_MS if self.type == "javascript" else TASK_TIMEOUT_MS

    def timed_out_at(self, ordered_at: int) -> int | None:
        """When what was ordered then has taken too long."""
        given = self.config.get("timeout")
        if given is not None:
            return end_of(given, ordered_at)
        usual = self._usual_timeout_ms
        return None if usual is None else ordered_at + usual

    @property
    def concurrency(self) -> int:
        """How many iterations of a loop may be under way at once."""
        if not self.is_parallel:
            return 1
        return int(self.config.get("concurrency", DEFAULT_CONCURRENCY))

    @property
    def continues(self) -> bool:
        """Whether a loop makes do with iterations that fail."""
        return self.config.get("onItemError") == "continue"

    @property
    def passed_over(self) -> set[str]:
        """The handle by which it goes on when `when` passes it over."""
        ends_at_done = self.type == "loop" and not self.has_edge_on("default")
        return {"done"} if ends_at_done else {"default"}

    def has_edge_on(self, handle: str) -> bool:
        return handle in self.handles

    def error_handle(self, code: str) -> str | None:
        """Where a failure with `code` goes; None: nowhere, the workflow fails."""
        for route in self.config.get("onError") or ():
            if code in route["codes"]:
                return str(route["handle"])
        return "error" if self.has_edge_on("error") else None

    def success_handles(self) -> frozenset[str]:
        """The handles that a success may name."""
        if self.type in _NO_HANDLES:
            return frozenset({"default"})
        if self.type == "condition":
            branches = {str(branch["id"]) for branch in self.config.get("branches") or ()}
            return frozenset(branches | {"else"})
        if self.type == "loop":
            return frozenset({"done"})
        if "arms" in self.config:
            return frozenset({*(str(arm["id"]) for arm in self.config["arms"]), "timeout"})
        if self.type == "approval":
            return frozenset({"approved", "rejected", "timeout"})
        names = {"default"}
        names |= {str(route["handle"]) for route in self.config.get("conditions") or ()}
        if self.type == "task":
            names |= {"error", *(self.config.get("handles") or ())}
        if self.type == "eventWait":
            names.add("timeout")
        return frozenset(names)


@dataclass(slots=True)
class Graph:
    """All nodes of a definition, and its own settings."""

    nodes: dict[str, Node]
    roots: frozenset[str]
    options: dict[str, Json]
    cancelled_by: list[dict[str, Json]] = field(default_factory=list)
    """Which events end an instance."""
    started_by: list[dict[str, Json]] = field(default_factory=list)

    @property
    def grace_ms(self) -> int:
        given = duration_ms(self.options.get("cancelGrace"))
        return GRACE_MS if given is None else given

    @property
    def timeout_ms(self) -> int | None:
        return duration_ms(self.options.get("timeout"))

    def cancel_rest_joins(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.cancels_rest]


def read(document: dict[str, Json]) -> Graph:
    """Nodes and edges of a document in graph form, steps form or dependency form."""
    graph = _read(document)
    graph.cancelled_by = list(document.get("cancellationTriggers") or ())
    graph.started_by = list(document.get("triggers") or ())
    return graph


def _read(document: dict[str, Json]) -> Graph:
    options = document.get("options") or document.get("workflowOptions") or {}
    if "steps" in document:
        return _read_steps(document["steps"], options)
    settings = [
        (str(node["id"]), str(node["type"]), dict(node.get("config") or {}))
        for node in document["nodes"]
    ]
    edges = [
        Edge(
            str(edge.get("upstreamNodeID") or edge["source"]),
            str(edge.get("sourceHandle") or "default"),
            str(edge.get("downstreamNodeID") or edge["target"]),
        )
        for edge in document["edges"]
    ]
    back = _edges_back([id for id, kind, _ in settings if kind == "loop"], edges)
    targets = {edge.target for edge in edges if edge not in back}
    starts = {id for id, kind, _ in settings if kind == "start"}
    roots = starts or {id for id, _, _ in settings if id not in targets}
    return _assemble(settings, edges, frozenset(roots), options)


def _read_steps(steps: list[dict[str, Json]], options: dict[str, Json]) -> Graph:
    by_dependencies = any("dependsOn" in step for step in steps)
    settings: list[tuple[str, str, dict[str, Json]]] = []
    edges: list[Edge] = []
    for step in steps:
        id = str(step["stepId"])
        config = {name: value for name, value in step.items() if name not in _STEP_ONLY}
        edges += _transitions(id, step, config)
        edges += [Edge(str(before), "default", id) for before in step.get("dependsOn") or ()]
        settings.append((id, _STEP_TYPES[str(step["type"]).upper()], config))
    targets = {edge.target for edge in edges}
    if by_dependencies:
        for id, _, config in settings:
            required = sum(edge.target == id for edge in edges)
            if required:
                config["joinMode"] = {"atLeast": required}
        roots = frozenset(id for id, _, _ in settings if id not in targets)
    else:
        roots = frozenset({settings[0][0]})
    return _assemble(settings, edges, roots, options)


_STEP_ONLY = frozenset({"stepId", "type", "transitions", "dependsOn"})


def _transitions(id: str, step: dict[str, Json], config: dict[str, Json]) -> list[Edge]:
    transitions = dict(step.get("transitions") or {})
    edges: list[Edge] = []
    if conditions := transitions.pop("conditions", None):
        config["conditions"] = []
        for number, route in enumerate(conditions, start=1):
            config["conditions"].append({"when": route["when"], "handle": f"when_{number}"})
            edges += [Edge(id, f"when_{number}", target) for target in _targets(route["to"])]
    if on_error := transitions.pop("onError", None):
        config["onError"] = []
        for number, route in enumerate(on_error, start=1):
            config["onError"].append({"codes": route["codes"], "handle": f"onError_{number}"})
            edges += [Edge(id, f"onError_{number}", target) for target in _targets(route["to"])]
    for handle, target in transitions.items():
        edges += [Edge(id, handle, name) for name in _targets(target)]
    late = (step.get("eventTimeout") or {}).get("timeoutHandlerStepId")
    if late and "timeout" not in transitions:
        edges.append(Edge(id, "timeout", late))
    return edges


def _targets(value: Json) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else [str(value)]


def _assemble(
    settings: list[tuple[str, str, dict[str, Json]]],
    edges: list[Edge],
    roots: frozenset[str],
    options: dict[str, Json],
) -> Graph:
    nodes = {
        id: Node(id, kind, config, _policy(kind, config, options), _needs(config))
        for id, kind, config in settings
    }
    loops = [id for id, kind, _ in settings if kind == "loop"]
    back = _edges_back(loops, edges)
    for edge in edges:
        source = nodes[edge.source]
        source.handles.add(edge.handle)
        if edge in back:
            continue
        inward = source.type == "loop" and edge.handle == "loop"
        (source.inward if inward else source.outgoing).append(edge)
        nodes[edge.target].incoming.append(edge)
    for id in sorted(loops, key=lambda id: -len(_body(id, edges))):
        # The outermost first, so that what is left is the innermost.
        for name in _body(id, edges):
            nodes[name].loop = id
    for node in nodes.values():
        if node.loop is not None:
            nodes[node.loop].body.append(node.id)
    return Graph(nodes, roots, options)


def _body(loop: str, edges: list[Edge]) -> set[str]:
    """Every node reachable from handle `loop`."""
    following: dict[str, list[str]] = {}
    for edge in edges:
        if edge.source != loop or edge.handle == "loop":
            following.setdefault(edge.source, []).append(edge.target)
    found: set[str] = set()
    queue = list(following.get(loop, ()))
    while queue:
        id = queue.pop()
        if id != loop and id not in found:
            found.add(id)
            queue += following.get(id, ())
    return found


def _edges_back(loops: list[str], edges: list[Edge]) -> set[Edge]:
    """Edges that mean the end of an iteration."""
    bodies = {loop: _body(loop, edges) for loop in loops}
    return {edge for edge in edges if edge.target in bodies and edge.source in bodies[edge.target]}


def _needs(config: dict[str, Json]) -> int | None:
    mode = config.get("joinMode", "all")
    if mode == "any":
        return 1
    return int(mode["atLeast"]) if isinstance(mode, dict) else None


def _cap(initial: int | None, calendar: Json) -> int:
    return 30_000 if calendar is None else max(30_000, initial or 0)


def _policy(kind: str, config: dict[str, Json], options: dict[str, Json]) -> Policy:
    given = {**(options.get("retry") or {}), **(config.get("retry") or {})}
    if kind == "subWorkflow" and "retry" not in config:
        # A child is started once, unless its own step says more.
        given = {"maxAttempts": 1}
    initial = duration_ms(given.get("initialDelay"))
    cap = duration_ms(given.get("maxDelay"))
    return Policy(
        max_attempts=int(given.get("maxAttempts", 3)),
        initial_ms=1000 if initial is None else initial,
        multiplier=float(given.get("multiplier", 2)),
        cap_ms=_cap(initial, given.get("calendar")) if cap is None else cap,
        non_retryable=frozenset(given.get("nonRetryable") or ()),
        on_lost=str(given.get("onLost", "retry")),
        calendar=given.get("calendar"),
    )
