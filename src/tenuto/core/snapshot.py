"""State ↔ bytes; values too large for a snapshot stay in the log and are named by their seq."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from tenuto.core.keys import keys_of
from tenuto.core.maps import as_map
from tenuto.core.state import (
    Compensation,
    Ending,
    InstanceState,
    Iteration,
    Join,
    LoopState,
    NodeState,
    PastIteration,
    Pause,
    Timer,
    Variable,
)
from tenuto.model.entries import (
    Entry,
    InputSet,
    IterationStarted,
    NodeCompleted,
    NodeFailed,
    PlannedUndo,
    SkippedUndo,
)
from tenuto.model.failure import Cancellation, Failure, LastError
from tenuto.model.family import Parent
from tenuto.model.ids import NodeKey, around, index_of
from tenuto.model.inputs import TimerKey
from tenuto.model.json import JSON, Object
from tenuto.model.log import UnknownEntry
from tenuto.model.status import Status

SHAPE = 4
"""The number of the shape that is written; one that is greater was written by a newer program.

In 1 there was no `short`: nothing was left over then. In 2 there were no approvals, and nothing
about undoing. In 3 nothing was kept of work that was taken over, or that was done by a step that
failed, nor of askings of a parent."""
LARGE = 16_384
"""Values whose JSON is longer are left in the log."""


class _Loop(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`LoopState` with its maps as lists; variables are places in `_Stored.pool`."""

    items: list[JSON] | None = None
    items_size: int = 0
    variables: list[int] = []
    size: int = 0
    started: int = 0
    fresh_from: int = 0
    active: int = 0
    succeeded: int = 0
    results: list[tuple[int, JSON]] = []
    results_size: int = 0
    errors: list[tuple[int, JSON]] = []
    last: JSON = None


class _Iteration(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`Iteration`, with its variables as places in `_Stored.pool`."""

    variables: list[int] = []
    size: int = 0
    open: int = 0
    failure: Failure | None = None
    called_off: bool = False
    has_undo: bool = False


class _Past(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`PastIteration`, with its variables as places in `_Stored.pool`."""

    variables: list[int] = []
    names: Object = {}
    item_in_log: bool = False
    """Whether its item is too large to stand here, and is where the loop's source is."""


class _Compensation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`Compensation` with what failed as a list."""

    plan: tuple[PlannedUndo, ...]
    skipped: tuple[SkippedUndo, ...] = ()
    started_at: datetime
    completed_at: datetime | None = None
    position: int = 0
    failed: list[tuple[int, LastError]] = []
    current: int | None = None
    work: NodeState | None = None
    asked: int = 0
    again: tuple[int, ...] = ()


class _Stored(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`InstanceState` with its maps as lists."""

    shape: int = 1
    id: str
    version: int
    status: Status
    definition_id: str
    definition_version: int
    rerun_of: str | None = None
    input: JSON = None
    correlation_id: str | None = None
    traceparent: str | None = None
    priority: int = 0
    deadline: datetime | None = None
    parent: Parent | None = None
    chain: int = 0
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None
    nodes: list[tuple[NodeKey, NodeState]] = []
    joins: list[tuple[NodeKey, Join]] = []
    ready: list[NodeKey] = []
    doomed: list[NodeKey] = []
    short: list[NodeKey] = []
    open_waits: int = 0
    open_loops: int = 0
    loops: list[tuple[NodeKey, _Loop]] = []
    iterations: list[tuple[NodeKey, _Iteration]] = []
    pool: list[tuple[str, Variable]] = []
    """The variables of loops and iterations, each once: most are the same in all of them."""
    running: int = 0
    near_timers: int = 0
    timers: list[tuple[TimerKey, Timer]] = []
    variables: list[tuple[str, Variable]] = []
    context_bytes: int = 0
    taken_events: list[str] = []
    output: JSON | UnsetType = UNSET
    system: Object = {}
    pause: Pause | None = None
    ending: Ending | None = None
    last_error: LastError | None = None
    may_retry: bool = True
    cancellation: Cancellation | None = None
    past: list[tuple[NodeKey, _Past]] = []
    compensation: _Compensation | None = None
    in_log: list[int] = []
    """The seqs of the entries that hold the values left out here."""


_FOLLOWING = ("open", "open_steps", "open_inside", "told", "quiet")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Stored).decode


def encode(state: InstanceState) -> bytes:
    """A snapshot; equal states give equal bytes."""
    fields = asdict(state)
    # Which nodes are open follows from the nodes; the seqs that opened them order them, each once.
    # So does which iterations are quiet, from the iterations.
    for name in _FOLLOWING:
        del fields[name]
    nodes = sorted(state.nodes.items(), key=lambda item: item[1].opened)
    large = _large_values(state, nodes)
    if large:
        nodes = [
            (key, replace(node, output=None) if node.written in large else node)
            for key, node in nodes
        ]
    fields |= {
        "shape": SHAPE,
        "nodes": nodes,
        "joins": sorted(state.joins.items(), key=lambda item: item[0]),
        "ready": sorted(state.ready),
        "doomed": sorted(state.doomed),
        "short": sorted(state.short),
        "timers": sorted(state.timers.items()),
        "variables": [
            (name, _slim(variable, large))
            for name, variable in sorted(state.variables.items(), key=lambda item: item[0])
        ],
        **_stored_loops(state, large),
        "taken_events": sorted(state.taken_events),
        "compensation": _stored_compensation(state.compensation),
        "in_log": sorted(large),
    }
    if _INPUT in large:
        fields["input"] = None
    return _encode(_Stored(**fields))


def references(snapshot: bytes) -> list[int]:
    """The seqs of the log entries that `decode` needs beside the snapshot."""
    return msgspec.json.decode(snapshot, type=_References).in_log


def decode(snapshot: bytes, entries: Mapping[int, Entry]) -> InstanceState:
    """The state that a snapshot keeps; `entries` holds those that `references` names."""
    stored = _decode(snapshot)
    if stored.shape > SHAPE:
        message = f"a snapshot in shape {stored.shape}; this program knows up to {SHAPE}"
        raise UnknownEntry(message)
    fields = asdict(stored)
    opened = [key for key, node in stored.nodes if node.is_open]
    large = fields.pop("in_log")
    del fields["pool"], fields["shape"]
    fields |= {
        "open": len(opened),
        "open_steps": as_map(dict(Counter(key.node for key in opened))),
        "open_inside": as_map({key: None for key in opened if key.iteration}),
        "told": sum(node.is_open and node.grace_until is not None for _, node in stored.nodes),
        "quiet": keys_of(key for key, iteration in stored.iterations if not iteration.open),
        **_restored_loops(stored, entries),
        "nodes": as_map(
            {
                key: replace(node, output=_output_of(entries[node.written]))
                if node.written in large
                else node
                for key, node in stored.nodes
            }
        ),
        "joins": as_map(dict(stored.joins)),
        "ready": keys_of(stored.ready),
        "doomed": keys_of(stored.doomed),
        "short": keys_of(stored.short),
        "timers": as_map(dict(stored.timers)),
        "variables": as_map(
            {
                name: _whole(name, variable, entries) if variable.written in large else variable
                for name, variable in stored.variables
            }
        ),
        "taken_events": as_map(dict.fromkeys(stored.taken_events)),
        "compensation": _restored_compensation(stored.compensation),
    }
    if _INPUT in large:
        first = entries[_INPUT]
        assert isinstance(first, InputSet)
        fields["input"] = first.input
    return InstanceState(**fields)


def _stored_loops(state: InstanceState, large: set[int]) -> dict[str, object]:
    places: dict[tuple[str, int], int] = {}
    pool: list[tuple[str, Variable]] = []

    def placed(variables: Mapping[str, Variable]) -> list[int]:
        found = []
        for name, variable in sorted(variables.items(), key=lambda item: item[0]):
            place = places.setdefault((name, variable.written), len(pool))
            if place == len(pool):
                pool.append((name, _slim(variable, large)))
            found.append(place)
        return found

    def loop(key: NodeKey, loop: LoopState) -> _Loop:
        return _Loop(
            items=[] if state.nodes[key].opened in large else loop.items,
            items_size=loop.items_size,
            variables=placed(loop.variables),
            size=loop.size,
            started=loop.started,
            fresh_from=loop.fresh_from,
            active=loop.active,
            succeeded=loop.succeeded,
            results=sorted(loop.results.items(), key=lambda item: item[0]),
            results_size=loop.results_size,
            errors=sorted(loop.errors.items(), key=lambda item: item[0]),
            last=loop.last,
        )

    loops = {key: loop(key, each) for key, each in sorted(state.loops.items(), key=_first)}

    def placed_in(key: NodeKey, iteration: Iteration) -> list[int]:
        if _is_as_entered(state, key, iteration):
            return loops[_loop_of(key)].variables
        return placed(iteration.variables)

    def past(key: NodeKey, each: PastIteration) -> _Past:
        in_log = "item" in each.names and state.nodes[_loop_of(key)].opened in large
        names = {name: value for name, value in each.names.items() if name != "item"}
        return _Past(
            variables=placed(each.variables),
            names=names if in_log else each.names,
            item_in_log=in_log,
        )

    return {
        "loops": list(loops.items()),
        "iterations": [
            (
                key,
                _Iteration(
                    variables=placed_in(key, each),
                    size=each.size,
                    open=each.open,
                    failure=each.failure,
                    called_off=each.called_off,
                    has_undo=each.has_undo,
                ),
            )
            for key, each in sorted(state.iterations.items(), key=_first)
        ],
        "past": [(key, past(key, each)) for key, each in sorted(state.past.items(), key=_first)],
        "pool": pool,
    }


def _restored_loops(stored: _Stored, entries: Mapping[int, Entry]) -> dict[str, object]:
    large = set(stored.in_log)
    opened = {key: node.opened for key, node in stored.nodes}
    pool = [
        (name, _whole(name, variable, entries) if variable.written in large else variable)
        for name, variable in stored.pool
    ]

    def variables(places: list[int]) -> Mapping[str, Variable]:
        return as_map(dict(pool[place] for place in places))

    def loop(key: NodeKey, loop: _Loop) -> LoopState:
        return LoopState(
            items=_items_of(entries[opened[key]]) if opened[key] in large else loop.items,
            items_size=loop.items_size,
            variables=variables(loop.variables),
            size=loop.size,
            started=loop.started,
            fresh_from=loop.fresh_from,
            active=loop.active,
            succeeded=loop.succeeded,
            results=as_map(dict(loop.results)),
            results_size=loop.results_size,
            errors=as_map(dict(loop.errors)),
            last=loop.last,
        )

    def names(key: NodeKey, each: _Past) -> Object:
        if not each.item_in_log:
            return each.names
        items = _items_of(entries[opened[_loop_of(key)]])
        return each.names | {"item": items[index_of(key.iteration)]}

    return {
        "loops": as_map({key: loop(key, each) for key, each in stored.loops}),
        "iterations": as_map(
            {
                key: Iteration(
                    variables=variables(each.variables),
                    size=each.size,
                    open=each.open,
                    failure=each.failure,
                    called_off=each.called_off,
                    has_undo=each.has_undo,
                )
                for key, each in stored.iterations
            }
        ),
        "past": as_map(
            {
                key: PastIteration(variables=variables(each.variables), names=names(key, each))
                for key, each in stored.past
            }
        ),
    }


def _stored_compensation(undoing: Compensation | None) -> _Compensation | None:
    if undoing is None:
        return None
    failed = sorted(undoing.failed.items(), key=lambda item: item[0])
    return _Compensation(**asdict(undoing) | {"failed": failed})


def _restored_compensation(stored: _Compensation | None) -> Compensation | None:
    if stored is None:
        return None
    return Compensation(**asdict(stored) | {"failed": as_map(dict(stored.failed))})


def _is_as_entered(state: InstanceState, key: NodeKey, iteration: Iteration) -> bool:
    """Whether an iteration has the very variables that the next one would begin with."""
    return iteration.variables is state.loops[_loop_of(key)].variables


def _loop_of(iteration: NodeKey) -> NodeKey:
    return NodeKey(iteration.node, around(iteration.iteration))


def _first(item: tuple[NodeKey, object]) -> NodeKey:
    return item[0]


def _slim(variable: Variable, large: set[int]) -> Variable:
    return variable._replace(value=None) if variable.written in large else variable


def _whole(name: str, variable: Variable, entries: Mapping[int, Entry]) -> Variable:
    return variable._replace(value=_variable_of(entries[variable.written], name))


class _References(Struct, frozen=True):
    in_log: list[int] = []


_INPUT = 1
"""INPUT_SET is always the first entry."""


def _large_values(state: InstanceState, nodes: list[tuple[NodeKey, NodeState]]) -> set[int]:
    large = {
        node.written for _, node in nodes if node.output is not None and _is_large(node.output)
    }
    scopes = [state.variables]
    scopes += [each.variables for each in state.loops.values()]
    scopes += [each.variables for each in state.past.values()]
    scopes += [
        each.variables
        for key, each in state.iterations.items()
        if not _is_as_entered(state, key, each)
    ]
    for variables in scopes:
        large |= {each.written for each in variables.values() if each.size > LARGE}
    large |= {
        state.nodes[key].opened for key, each in state.loops.items() if each.items_size > LARGE
    }
    large |= {
        state.nodes[_loop_of(key)].opened
        for key, each in state.past.items()
        if _is_large(each.names.get("item"))
    }
    if _is_large(state.input):
        large.add(_INPUT)
    return large


def _is_large(value: JSON) -> bool:
    if isinstance(value, str):
        return len(value) > LARGE
    return isinstance(value, list | dict) and len(_encode(value)) > LARGE


def _output_of(entry: Entry) -> JSON:
    assert isinstance(entry, NodeCompleted | NodeFailed)
    return entry.output


def _items_of(entry: Entry) -> list[JSON]:
    assert isinstance(entry, IterationStarted)
    assert entry.items is not UNSET
    return entry.items


def _variable_of(entry: Entry, name: str) -> JSON:
    assert isinstance(entry, NodeCompleted)
    if entry.variables is not None and name in entry.variables:
        return entry.variables[name]
    return entry.output
