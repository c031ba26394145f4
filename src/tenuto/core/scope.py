"""What expressions see of an instance: `ctx`, `workflow` and `steps`, looked up on demand.

Nothing is copied: a context of thousands of variables costs an expression only what it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import UNSET as _UNSET

from tenuto.core.state import InstanceState
from tenuto.expr import UNDEFINED, Lazy, Undefined
from tenuto.model.durations import iso
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object

Seen = JSON | Undefined | Lazy
Scope = Mapping[str, JSON | Lazy]


class Context(Lazy):
    """`ctx`: the input, the variables, and the output once an end node has collected one."""

    def __init__(self, state: InstanceState, written: Mapping[str, JSON] | None = None) -> None:
        self._state = state
        self._written = written or {}

    def get(self, name: str) -> Seen:
        if name in self._written:
            return self._written[name]
        if name == "input":
            return self._state.input
        if name == "output":
            return UNDEFINED if self._state.output is _UNSET else self._state.output
        found = self._state.variables.get(name)
        return UNDEFINED if found is None else found.value

    def keys(self) -> Iterable[str]:
        names = {"input", *self._state.variables, *self._written}
        if self._state.output is not _UNSET:
            names.add("output")
        return sorted(names)


class Steps(Lazy):
    """`steps`: each step's status, output and error."""

    def __init__(self, state: InstanceState) -> None:
        self._state = state

    def get(self, name: str) -> Seen:
        key = NodeKey(name)
        return Step(self._state, key) if key in self._state.nodes else UNDEFINED

    def keys(self) -> Iterable[str]:
        return sorted(key.node for key in self._state.nodes if not key.iteration)


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
            case _:
                return UNDEFINED

    def keys(self) -> Iterable[str]:
        return [name for name in ("status", "output", "attempts", "error") if self._has(name)]

    def _has(self, name: str) -> bool:
        return name != "error" or self._node.error is not None


class Workflow(Lazy):
    """`workflow`: the input and the instance, as the seeds spell them."""

    def __init__(self, state: InstanceState) -> None:
        self._state = state

    def get(self, name: str) -> Seen:
        match name:
            case "input":
                return self._state.input
            case "id":
                return self._state.definition_id
            case "version":
                return self._state.definition_version
            case "instance":
                return Instance(self._state)
            case _:
                return UNDEFINED

    def keys(self) -> Iterable[str]:
        return ("id", "input", "instance", "version")


class Instance(Lazy):
    """`workflow.instance`."""

    def __init__(self, state: InstanceState) -> None:
        self._state = state

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
                return StateView(self._state)
            case "cancellation":
                return _cancellation(self._state)
            case _:
                return UNDEFINED

    def keys(self) -> Iterable[str]:
        return ("id", "status", "input", "correlationId", "state", "cancellation")


class StateView(Lazy):
    """`workflow.instance.state`."""

    def __init__(self, state: InstanceState) -> None:
        self._state = state

    def get(self, name: str) -> Seen:
        match name:
            case "input":
                return self._state.input
            case "steps":
                return Steps(self._state)
            case "variables":
                return Variables(self._state)
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
    state: InstanceState,
    *,
    written: Mapping[str, JSON] | None = None,
    event: Object | None = None,
) -> dict[str, JSON | Lazy]:
    """The roots of an expression; `written` are variables about to be set."""
    scope: dict[str, JSON | Lazy] = {
        "ctx": Context(state, written),
        "workflow": Workflow(state),
        "steps": Steps(state),
    }
    if event is not None:
        scope["event"] = event
    return scope


def _cancellation(state: InstanceState) -> JSON:
    found = state.cancellation
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
