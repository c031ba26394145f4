"""What expressions see of an instance: `ctx`, `workflow` and `steps`, looked up on demand.

Nothing is copied: a context of thousands of variables costs an expression only what it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import UNSET as _UNSET

from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState, Variable
from tenuto.expr import UNDEFINED, CountedScope, Lazy, Steps as StepCount, Undefined
from tenuto.model.durations import iso
from tenuto.model.failure import Cancellation
from tenuto.model.ids import NodeKey, around, index_of
from tenuto.model.json import JSON, Object
from tenuto.model.status import NodeStatus

Seen = JSON | Undefined | Lazy
Scope = Mapping[str, JSON | Lazy]


class Sight:
    """Where in an instance an expression stands: at the top, or in an iteration of a loop."""

    __slots__ = ("_loop", "_path", "names", "plan", "state", "variables")

    def __init__(
        self, plan: Plan, state: InstanceState, place: NodeKey | None, names: Mapping[str, JSON]
    ) -> None:
        self.plan = plan
        self.state = state
        self._loop = None if place is None else place.node
        self._path = "" if place is None else place.iteration
        self.variables = state.variables
        self.names = names
        """Names of this scope only: an item and its index, a variable that is about to be set."""
        if place is not None:
            self.variables = (state.iterations.get(place) or state.past[place]).variables
            self.names = {**_of_iterations(plan, state, place), **names}

    def step(self, name: str) -> NodeKey | None:
        """The step of this name that is meant here."""
        if not self.plan.is_seen(name, self._loop):
            return None
        loop, path, wanted = self._loop, self._path, self.plan.nodes[name].loop
        while loop != wanted:
            assert loop is not None
            loop, path = self.plan.nodes[loop].loop, around(path)
        key = NodeKey(name, path)
        node = self.state.nodes.get(key)
        # A step that was re-opened and has not begun is as one that never did.
        return None if node is None or node.status is NodeStatus.PENDING else key

    def steps(self) -> list[str]:
        """The names of all steps that are seen here."""
        return sorted(name for name in self.plan.nodes if self.step(name) is not None)


def _of_iterations(plan: Plan, state: InstanceState, place: NodeKey) -> dict[str, JSON]:
    """What an iteration brings, over what those around it do."""
    outside, outer = around(place.iteration), plan.nodes[place.node].loop
    names = {} if outer is None else _of_iterations(plan, state, NodeKey(outer, outside))
    past = state.past.get(place)
    if past is None or plan.nodes[place.node].takes_arrivals:
        return names | names_of_iteration(state, place)
    return names | past.names


def names_of_iteration(state: InstanceState, place: NodeKey) -> dict[str, JSON]:
    """What an iteration under way, given as its loop and its path, brings itself.

    Of a loop over arrivals, also one that has ended.
    """
    key = NodeKey(place.node, around(place.iteration))
    index = index_of(place.iteration)
    if key in state.arrivals:
        return {"index": index, "item": state.arrival(key, index)}
    loop = state.loops[key]
    if loop.items is None:
        return {"index": index, "last": loop.last}
    return {"index": index, "item": loop.item(index)}


class Context(Lazy):
    """`ctx`: the input, the variables, and the output once an end node has collected one."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight

    def get(self, name: str) -> Seen:
        sight = self._sight
        if name in sight.names:
            return sight.names[name]
        if name == "input":
            return sight.state.input
        if name == "output":
            return UNDEFINED if sight.state.output is _UNSET else sight.state.output
        found = sight.variables.get(name)
        return UNDEFINED if found is None else found.value

    def keys(self) -> Iterable[str]:
        names = {"input", *self._sight.variables, *self._sight.names}
        if self._sight.state.output is not _UNSET:
            names.add("output")
        return sorted(names)


class Steps(Lazy):
    """`steps`: each step's status, output and error."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight

    def get(self, name: str) -> Seen:
        key = self._sight.step(name)
        return UNDEFINED if key is None else Step(self._sight.state, key)

    def keys(self) -> Iterable[str]:
        return self._sight.steps()


class Step(Lazy):
    """One step."""

    def __init__(self, state: InstanceState, key: NodeKey) -> None:
        self._node = state.nodes[key]

    def get(self, name: str) -> Seen:
        match name:
            case "status":
                return self._node.status.value
            case "output":
                return self._node.output
            case "attempts":
                return self._node.attempt
            case "error" if self._node.error is not None:
                error = self._node.error
                return {"code": error.code, "message": error.message, "details": error.details}
            case "errors" if self._node.is_loop:
                return self._node.errors
            case _:
                return UNDEFINED

    def keys(self) -> Iterable[str]:
        names = ("status", "output", "attempts", "error", "errors")
        return [name for name in names if self._has(name)]

    def _has(self, name: str) -> bool:
        if name == "errors":
            return self._node.is_loop
        return name != "error" or self._node.error is not None


class Workflow(Lazy):
    """`workflow`: the input and the instance, as the seeds spell them."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._state = sight.state

    def get(self, name: str) -> Seen:
        match name:
            case "input":
                return self._state.input
            case "id":
                return self._state.definition_id
            case "version":
                return self._state.definition_version
            case "instance":
                return Instance(self._sight)
            case _:
                return UNDEFINED

    def keys(self) -> Iterable[str]:
        return ("id", "input", "instance", "version")


class Instance(Lazy):
    """`workflow.instance`."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._state = sight.state

    def get(self, name: str) -> Seen:
        match name:
            case "id":
                return self._state.id
            case "status":
                return self._state.status.value
            case "input":
                return self._state.input
            case "correlationId":
                return self._state.correlation_id
            case "state":
                return StateView(self._sight)
            case "cancellation":
                return cancellation_view(self._state.cancellation)
            case _:
                return UNDEFINED

    def keys(self) -> Iterable[str]:
        return ("id", "status", "input", "correlationId", "state", "cancellation")


class StateView(Lazy):
    """`workflow.instance.state`."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight

    def get(self, name: str) -> Seen:
        match name:
            case "input":
                return self._sight.state.input
            case "steps":
                return Steps(self._sight)
            case "variables":
                return Variables(self._sight)
            case _:
                return UNDEFINED

    def keys(self) -> Iterable[str]:
        return ("input", "steps", "variables")


class Variables(Context):
    """`ctx` without the input."""

    def get(self, name: str) -> Seen:
        return UNDEFINED if name == "input" else super().get(name)

    def keys(self) -> Iterable[str]:
        return sorted({*super().keys()} - {"input"})


def scope_of(
    plan: Plan,
    state: InstanceState,
    key: NodeKey | None = None,
    *,
    steps: StepCount,
    names: Mapping[str, JSON] | None = None,
    variables: Mapping[str, Variable] | None = None,
    event: Object | None = None,
) -> CountedScope:
    """The roots of an expression of the node `key`; `names` are further ones in `ctx`.

    What its expressions take is added to `steps`, and they share a budget.
    """
    loop = None if key is None else plan.nodes[key.node].loop
    place = None if loop is None or key is None else NodeKey(loop, key.iteration)
    sight = Sight(plan, state, place, names or {})
    if variables is not None:
        sight.variables = variables
    scope = _roots(sight)
    if event is not None:
        scope["event"] = event
    return CountedScope(scope, steps)


def plain_scope(plan: Plan, state: InstanceState, key: NodeKey, roots: Iterable[str]) -> Object:
    """What expressions of the node `key` see under `roots`, as plain JSON: a copy of all of it."""
    scope = scope_of(plan, state, key, steps=StepCount())
    return {name: _plain(scope[name]) for name in roots}


def _plain(value: JSON | Lazy) -> JSON:
    if not isinstance(value, Lazy):
        return value
    found: Object = {}
    for name in value.keys():  # noqa: SIM118 - it is no dict
        each = value.get(name)
        if not isinstance(each, Undefined):
            found[name] = _plain(each)
    return found


def scope_within(
    plan: Plan, state: InstanceState, place: NodeKey, steps: StepCount
) -> CountedScope:
    """The roots of an expression inside an iteration, given as its loop and its path."""
    return CountedScope(_roots(Sight(plan, state, place, {})), steps)


def _roots(sight: Sight) -> dict[str, JSON | Lazy]:
    scope: dict[str, JSON | Lazy] = {
        "ctx": Context(sight),
        "workflow": Workflow(sight),
        "steps": Steps(sight),
    }
    for name in ("item", "index"):
        if name in sight.names:
            scope[name] = sight.names[name]
    return scope


def cancellation_view(found: Cancellation | None) -> JSON:
    """A cancellation as expressions and compensations see it."""
    if found is None:
        return None
    return {
        "reason": found.reason,
        "requestedBy": found.requested_by,
        "requestedAt": iso(found.requested_at),
        "source": found.source,
        "shouldCompensate": found.should_compensate,
        "eventId": found.event_id,
    }
