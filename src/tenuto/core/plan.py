"""A definition made ready for deciding: successors, order of nodes and compiled expressions.

A plan is worked out once per definition version; nothing in it depends on an instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from datetime import timedelta
from functools import cached_property
from heapq import heappop, heappush

from msgspec import Struct

from tenuto.core.built_in import has_own_input, task_id_of, template_of, timeout_of_type
from tenuto.expr import (
    Expression,
    ExpressionSyntaxError,
    SplitCondition,
    Template,
    compile_expression,
    compile_template,
    is_rooted_path,
    split_condition,
)
from tenuto.expr.paths import parse_path
from tenuto.model.encrypted import is_encrypted
from tenuto.model.graph import (
    BODY,
    Approval,
    BuiltIn,
    CompensationStep,
    Definition,
    Edge,
    Executed,
    Graph,
    JavaScript,
    Loop,
    Node,
    SubWorkflow,
    Task,
)
from tenuto.model.ids import NodeKey, around, path_of
from tenuto.model.json import JSON
from tenuto.model.policy import (
    DEFAULT_LIMITS,
    DEFAULT_RETRY,
    DEFAULT_TIMEOUT,
    MOST_ENTRIES,
    ONCE,
    Limits,
    Policies,
    RetryPolicy,
    TaskPolicy,
)
from tenuto.model.test_run import NOT_RUN, Mock, TestRunSpec
from tenuto.model.working_time import BusinessDuration

_NEVER_CHANGES = (("ctx", "input"), ("workflow", "input"))


class Work(Struct, frozen=True, gc=False, kw_only=True):
    """What a node says of the attempts that do its work."""

    task_id: str
    handles: tuple[str, ...]
    timeout: timedelta | BusinessDuration | None
    """How long one may run, where the node says so."""
    timeout_of_type: timedelta | None
    """How long one may run because of its type, where neither the node nor its task says so."""
    heartbeat_timeout: timedelta | None
    built_in: BuiltIn | None
    """The node's config, where Tenuto itself does the work."""
    has_own_input: bool
    """Whether it is given something else than the workflow's input."""


class PlannedNode(Struct, frozen=True, kw_only=True):
    """A node with its neighbourhood."""

    node: Node
    order: int
    """Its place in a topological order: where several may go first, the lower one does."""
    loop: str | None
    """The innermost loop around it."""
    incoming: tuple[Edge, ...]
    """Without those that lead back to a loop from its own body."""
    outgoing: tuple[Edge, ...]
    """To nodes that are inside the same loops."""
    inward: tuple[Edge, ...]
    """From a loop to the first nodes of its body."""
    body: tuple[str, ...]
    """The nodes whose innermost loop it is, in order."""
    takes_arrivals: bool
    """Whether each of its taken incoming edges is an item of it."""
    handles: frozenset[str]
    """Handles that have an edge, also one back to the loop around it."""
    when: Expression | None
    routes: tuple[tuple[Expression, str], ...]
    work: Work | None
    """None: it has no attempts, or they are children."""


class Plan:
    """The compiled form of one definition version."""

    def __init__(
        self,
        definition: Definition,
        *,
        retry: RetryPolicy = DEFAULT_RETRY,
        limits: Limits = DEFAULT_LIMITS,
        rehearsal: TestRunSpec | None = None,
        most_entries: int = MOST_ENTRIES,
        timeout: timedelta = DEFAULT_TIMEOUT,
    ) -> None:
        """`rehearsal` has the mocks of a test run.

        A decision stops after `most_entries`, or those of its policies; further ones continue it.
        `timeout` is that of attempts where neither their step nor their task says.
        """
        self.definition = definition
        self.rehearsal = rehearsal
        self.limits = limits
        self.most_entries = most_entries
        self._retry = definition.options.retry or retry
        self.timeout = timeout
        """How long an attempt may run where neither its step nor its task says."""
        self.starts = definition.graph.starts
        self.cancel_grace = definition.options.cancel_grace
        self._templates: dict[tuple[str, str], Template] = {}
        self._expressions: dict[str, Expression] = {}
        self._sinks: dict[str | None, tuple[str, ...]] = {}
        self.nodes = _planned(definition)
        self.undo_steps = {step.step_id: step for step in definition.compensation_steps}
        self.undone_by = {step.compensation_for: step for step in definition.compensation_steps}
        self.may_undo = bool(self.undo_steps) or any(
            isinstance(node.config, SubWorkflow) for node in definition.graph.nodes
        )
        """Whether anything of an instance could be undone: by its own steps, or by a child."""
        self.undoable_loops = _undoable_loops(self.nodes, self.undone_by)
        """Loops in which something may have to be undone after its iteration has ended."""
        self.hearing = frozenset(
            node.id
            for node in definition.graph.nodes
            if isinstance(node.config, Loop) and node.config.more is not None
        )
        """Loops to which events append items."""
        self.has_mutexes = any(node.mutex is not None for node in definition.graph.nodes)
        self.watching = _watching(definition)
        """Loops whose `enough` names more than their own results."""
        self.looks_at_entries = bool(self.hearing or self.has_mutexes or self.watching)
        """Whether effects, or ends of loops, follow from entries of any kind."""
        self.has_triggers = bool(definition.cancellation_triggers)
        """Whether events cancel its instances."""
        self._undo_inputs: dict[str, Expression | Template] = {}
        options = definition.options
        self.searchable = _searchable(
            tuple(each for each in options.searchable if not is_encrypted(options.encrypt, each))
        )
        """Names by whose values instances are found, with their paths; none: nothing is kept."""
        self.approvals = frozenset(
            node.id
            for node in definition.graph.nodes
            if isinstance(node.config, Approval) and rehearsal is None
        )
        """Steps in which an instance is found by those who may decide; of a test run none."""
        self.encrypts = bool(definition.options.encrypt)
        """Whether what its instances store is encrypted."""
        self.is_found = bool(self.searchable or self.approvals)
        """Whether its instances have search terms."""

    def task_of(self, step_id: str) -> str | None:
        """The task of a step, or of a compensation step; None: it has none."""
        planned, undoing = self.nodes.get(step_id), self.undo_steps.get(step_id)
        if planned is not None and isinstance(planned.node.config, Task):
            return planned.node.config.task_id
        return None if undoing is None else undoing.task_id

    def mock_of(self, step_id: str) -> Mock | None:
        """The mock that replaces a step in a test run.

        Code that can call no host runs for real, unless there is a mock for it.
        """
        if self.rehearsal is None:
            return None
        mock = self.rehearsal.mock_of(step_id)
        planned = self.nodes.get(step_id)
        if mock is NOT_RUN and planned is not None:
            config = planned.node.config
            if isinstance(config, JavaScript) and not config.allow_hosts:
                return None
        return mock

    def __getitem__(self, node: str) -> PlannedNode:
        return self.nodes[node]

    def retry_of(self, node: Node, policies: Policies) -> RetryPolicy:
        """The step's policy, else its task's, else the definition's, else the server's.

        A child is started once unless its step says more: what failed in it has been tried again
        there, and another child would do all of it anew, under other keys.
        """
        if node.retry is not None:
            return node.retry
        if isinstance(node.config, SubWorkflow):
            return ONCE
        if isinstance(node.config, Task):
            return policies.policy(node.config.task_id).retry or self._retry
        return self._retry

    def patience_with(
        self, work: Work, policy: TaskPolicy
    ) -> tuple[timedelta | BusinessDuration, timedelta | None]:
        """How long one attempt may run, and how long it may be silent; `policy` is its task's."""
        return (
            work.timeout or policy.timeout or work.timeout_of_type or self.timeout,
            work.heartbeat_timeout or policy.heartbeat_timeout,
        )

    def undo_retry(self, step_id: str, policies: Policies) -> RetryPolicy:
        """How a compensation step is tried again: its own policy, else as for a step."""
        step = self.undo_steps[step_id]
        return step.retry or policies.policy(step.task_id).retry or self._retry

    def undo_patience(
        self, step: CompensationStep, policy: TaskPolicy
    ) -> tuple[timedelta | BusinessDuration, timedelta | None]:
        """How long one attempt of a compensation may run, and how long it may be silent."""
        return step.timeout or policy.timeout or self.timeout, policy.heartbeat_timeout

    def undo_input(self, step: CompensationStep) -> Expression | Template:
        """The input that a compensation step spells out, compiled.

        A string is one expression; in an object, a string that is all path is one too.
        """
        found = self._undo_inputs.get(step.step_id)
        if found is None:
            spelled = step.input
            is_expression = isinstance(spelled, str) and "{{" not in spelled
            found = self._undo_inputs[step.step_id] = (
                compile_expression(spelled)
                if isinstance(spelled, str) and is_expression
                else compile_template(_with_paths(spelled))
            )
        return found

    def outermost(self, name: str) -> str:
        """The outermost loop around a node, or the node itself where there is none."""
        while (around := self.nodes[name].loop) is not None:
            name = around
        return name

    def order_of(self, node: str) -> int:
        return self.nodes[node].order

    def place_of(self, key: NodeKey) -> tuple[int, tuple[int, ...]]:
        """Where a node stands among others: those before it first, earlier iterations first."""
        return self.nodes[key.node].order, path_of(key.iteration) if key.iteration else ()

    def template(self, node: str, field: str, value: JSON) -> Template:
        """The compiled form of a template in `field` of `node`."""
        found = self._templates.get((node, field))
        if found is None:
            found = self._templates[node, field] = compile_template(value)
        return found

    def input_template(self, node: str, config: Executed | SubWorkflow) -> Template:
        """The compiled form of what `node` is given."""
        found = self._templates.get((node, "input"))
        return found or self.template(node, "input", template_of(config))

    def expression(self, source: str) -> Expression:
        """A compiled expression."""
        found = self._expressions.get(source)
        if found is None:
            found = self._expressions[source] = compile_expression(source)
        return found

    def condition(self, source: str | None) -> SplitCondition | None:
        """A wait's condition, split into the instance's side and the event's."""
        return None if source is None else split_condition(source)

    @cached_property
    def sinks(self) -> tuple[str, ...]:
        """Nodes that nothing follows, in order."""
        return self.sinks_of(None)

    def sinks_of(self, loop: str | None) -> tuple[str, ...]:
        """Nodes of a loop's body, or of the top, that nothing follows, in order."""
        found = self._sinks.get(loop)
        if found is None:
            ends = [
                name
                for name, planned in self.nodes.items()
                if planned.loop == loop and not planned.outgoing
            ]
            found = self._sinks[loop] = tuple(sorted(ends, key=self.order_of))
        return found

    def is_seen(self, node: str, loop: str | None) -> bool:
        """Whether the steps inside `loop` see `node`: it is in that loop, or around it."""
        planned = self.nodes.get(node)
        if planned is None:
            return False
        while loop != planned.loop:
            if loop is None:
                return False
            loop = self.nodes[loop].loop
        return True

    def seen_from(self, key: NodeKey, node: str) -> NodeKey:
        """The activation of `node`, which the steps around `key` see, that is meant there."""
        loop, path, wanted = self.nodes[key.node].loop, key.iteration, self.nodes[node].loop
        while loop != wanted:
            assert loop is not None, f"{key.node} does not see {node}"
            loop, path = self.nodes[loop].loop, around(path)
        return NodeKey(node, path)

    @cached_property
    def tasks(self) -> dict[str, str]:
        """Every task that is used, with the first step that uses it."""
        used: dict[str, str] = {}
        for name, planned in self.nodes.items():
            if isinstance(planned.node.config, Task):
                used.setdefault(planned.node.config.task_id, name)
        for step in self.definition.compensation_steps:
            used.setdefault(step.task_id, step.step_id)
        return used

    @cached_property
    def fixed_inputs(self) -> frozenset[str]:
        """Steps whose input follows from the instance's own input: it need not be recorded."""
        return frozenset(
            name
            for name, planned in self.nodes.items()
            if isinstance(planned.node.config, Executed | SubWorkflow)
            and (
                not has_own_input(planned.node.config)
                or _is_fixed(self.input_template(name, planned.node.config))
            )
        )

    def reaching(self, edges: Iterable[Edge]) -> set[str]:
        """Every node inside the same loops from which one of `edges` can be reached.

        Sources included.
        """
        found: set[str] = set()
        pending = list(edges)
        while pending:
            edge = pending.pop()
            source = self.nodes[edge.source]
            if edge.source not in found and source.loop == self.nodes[edge.target].loop:
                found.add(edge.source)
                pending.extend(source.incoming)
        return found


class Watch(Struct, frozen=True):
    """What the `enough` of a loop names beside its results; None: everything that it sees."""

    steps: frozenset[str] | None
    variables: frozenset[str] | None


def _watching(definition: Definition) -> dict[str, Watch]:
    found: dict[str, Watch] = {}
    for node in definition.graph.nodes:
        if not isinstance(node.config, Loop) or not isinstance(node.config.enough, str):
            continue
        watch = _watch(compile_expression(node.config.enough))
        if watch.steps is None or watch.variables is None or watch.steps or watch.variables:
            found[node.id] = watch
    return found


def _watch(expression: Expression) -> Watch:
    steps: set[str] | None = set()
    variables: set[str] | None = set()
    for path in expression.paths:
        match path:
            case ("ctx", "results", *_) | ("ctx" | "workflow", "input", *_):
                pass
            case ("ctx", str(name), *_):
                if variables is not None:
                    variables.add(name)
            case ("ctx",):
                variables = None
            case ("steps", str(name), *_):
                if steps is not None:
                    steps.add(name)
            case _:
                # All steps, or a longer spelling of both: `workflow.instance.state`.
                steps = variables = None
    return Watch(
        None if steps is None else frozenset(steps),
        None if variables is None else frozenset(variables),
    )


def _with_paths(value: JSON) -> JSON:
    """A compensation's input with each string that is all path as the template it stands for."""
    match value:
        case str() if "{{" not in value and is_rooted_path(value):
            return "{{" + value + "}}"
        case dict():
            return {name: _with_paths(each) for name, each in value.items()}
        case list():
            return [_with_paths(each) for each in value]
        case _:
            return value


def _undoable_loops(
    nodes: Mapping[str, PlannedNode], undone: AbstractSet[str] | Mapping[str, object]
) -> frozenset[str]:
    found: set[str] = set()
    for name, planned in nodes.items():
        if name in undone or isinstance(planned.node.config, SubWorkflow):
            loop = planned.loop
            while loop is not None:
                found.add(loop)
                loop = nodes[loop].loop
    return frozenset(found)


def _is_fixed(template: Template) -> bool:
    return template.is_constant or (
        bool(template.paths)
        and template.roots <= {"ctx", "workflow"}
        and all(path[:2] in _NEVER_CHANGES for path in template.paths)
    )


def _planned(definition: Definition) -> dict[str, PlannedNode]:
    graph = definition.graph
    back = _edges_back(graph)
    incoming: dict[str, list[Edge]] = {node.id: [] for node in graph.nodes}
    leaving: dict[str, list[Edge]] = {node.id: [] for node in graph.nodes}
    handles: dict[str, set[str]] = {node.id: set() for node in graph.nodes}
    for edge in graph.edges:
        handles[edge.source].add(edge.handle)
        if edge not in back:
            leaving[edge.source].append(edge)
            incoming[edge.target].append(edge)
    order = _topological(graph.nodes, incoming, leaving)
    loops = {node.id for node in graph.nodes if isinstance(node.config, Loop)}
    loop_around = _loops_around(order, incoming, loops)
    bodies: dict[str, list[str]] = {name: [] for name in loops}
    for name in order:
        loop = loop_around[name]
        if loop is not None:
            bodies[loop].append(name)
    return {
        node.id: PlannedNode(
            node=node,
            order=order[node.id],
            loop=loop_around[node.id],
            incoming=tuple(incoming[node.id]),
            outgoing=tuple(edge for edge in leaving[node.id] if not _is_inward(edge, loops)),
            inward=tuple(edge for edge in leaving[node.id] if _is_inward(edge, loops)),
            body=tuple(bodies.get(node.id, ())),
            takes_arrivals=isinstance(node.config, Loop) and node.config.takes_arrivals,
            handles=frozenset(handles[node.id]),
            when=compile_expression(node.when) if node.when is not None else None,
            routes=tuple(
                (compile_expression(route.when), route.handle) for route in node.conditions
            ),
            work=_work(node),
        )
        for node in graph.nodes
    }


def _work(node: Node) -> Work | None:
    config = node.config
    if not isinstance(config, Executed):
        return None
    return Work(
        task_id=task_id_of(config),
        handles=config.handles if isinstance(config, Task) else (),
        timeout=node.timeout,
        timeout_of_type=timeout_of_type(config),
        heartbeat_timeout=config.heartbeat_timeout if isinstance(config, Task) else None,
        built_in=None if isinstance(config, Task) else config,
        has_own_input=has_own_input(config),
    )


def _is_inward(edge: Edge, loops: AbstractSet[str]) -> bool:
    return edge.handle == BODY and edge.source in loops


def _edges_back(graph: Graph) -> frozenset[Edge]:
    """Edges from a loop's body to the loop itself: they end an iteration, and mean nothing else."""
    following: dict[str, list[Edge]] = {}
    for edge in graph.edges:
        following.setdefault(edge.source, []).append(edge)
    back: set[Edge] = set()
    for node in graph.nodes:
        if not isinstance(node.config, Loop):
            continue
        pending = [edge.target for edge in following.get(node.id, ()) if edge.handle == BODY]
        body: set[str] = set()
        while pending:
            name = pending.pop()
            if name not in body and name != node.id:
                body.add(name)
                pending.extend(edge.target for edge in following.get(name, ()))
        back |= {
            edge for name in body for edge in following.get(name, ()) if edge.target == node.id
        }
    return frozenset(back)


def _loops_around(
    order: Iterable[str], incoming: Mapping[str, Sequence[Edge]], loops: AbstractSet[str]
) -> dict[str, str | None]:
    """The innermost loop around each node: where an edge into it comes from tells."""
    found: dict[str, str | None] = {}
    for name in order:
        edge = next(iter(incoming[name]), None)
        if edge is None:
            found[name] = None
        else:
            found[name] = edge.source if _is_inward(edge, loops) else found[edge.source]
    return found


def _topological(
    nodes: Iterable[Node], incoming: dict[str, list[Edge]], outgoing: dict[str, list[Edge]]
) -> dict[str, int]:
    """Kahn's algorithm; of several that may come next, the one that was written first does.

    Edges may be written in any order, and forms differ in it: what happens must not depend on it.
    A graph that reached this point has no cycle.
    """
    names = [node.id for node in nodes]
    written = {name: place for place, name in enumerate(names)}
    missing = {name: len(incoming[name]) for name in names}
    pending = [written[name] for name, count in missing.items() if count == 0]
    order: dict[str, int] = {}
    while pending:
        name = names[heappop(pending)]
        order[name] = len(order)
        for edge in outgoing[name]:
            missing[edge.target] -= 1
            if missing[edge.target] == 0:
                heappush(pending, written[edge.target])
    return order


def _searchable(names: Iterable[str]) -> tuple[tuple[str, tuple[str | int, ...]], ...]:
    """Each name once; one that is no path is that of no value."""
    found: dict[str, tuple[str | int, ...]] = {}
    for name in names:
        try:
            found[name] = parse_path(name)
        except ExpressionSyntaxError:
            continue
    return tuple(found.items())
