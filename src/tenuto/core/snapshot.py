"""State ↔ bytes; values too large for a snapshot stay in the log and are named by their seq."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set as AbstractSet
from types import GenericAlias, UnionType

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from tenuto.core.due_order import due_order
from tenuto.core.keys import keys_of
from tenuto.core.maps import as_map
from tenuto.core.state import (
    Added,
    Compensation,
    InstanceState,
    Iteration,
    Join,
    LoopState,
    NodeState,
    PastIteration,
    SlaState,
    Timer,
    Variable,
)
from tenuto.core.timing import SLA_TIMERS
from tenuto.model.entries import (
    Entry,
    InputSet,
    IterationStarted,
    NodeCompleted,
    NodeFailed,
)
from tenuto.model.failure import LastError
from tenuto.model.ids import NodeKey, around, index_of
from tenuto.model.inputs import TimerKey
from tenuto.model.json import JSON, Object
from tenuto.model.log import UnknownEntry
from tenuto.model.moments import spelled
from tenuto.model.pauses import between_parts

SHAPE = 7
"""The number of the shape that is written; one that is greater was written by a newer program.

In 1 there was no `short`: nothing was left over then. In 2 there were no approvals, and nothing
about undoing. In 3 nothing was kept of work that was taken over, or that was done by a step that
failed, nor of askings of a parent. In 4 no result was held for a delay that its task asked for, no
wait took several events, no loop had enough and was left to end, and none took arrivals; a snapshot
without any of these is still written in that shape, for older programs. In 5 there was no SLA, in
6 no secret in an input; the same holds for one without."""
_BEFORE_SECRETS = 6
_BEFORE_SLA = 5
_BEFORE = 4
LARGE = 16_384
"""Values whose JSON is longer are left in the log."""


_FOLLOWING = ("open", "open_steps", "open_inside", "stopping", "quiet", "sla_order")
_RENAMED = "unreachable"
"""The field that snapshots keep as `doomed`."""


class _Beside(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a snapshot has beside the state."""

    shape: int = 1
    pool: list[tuple[str, Variable]] = []
    """The variables of loops and iterations, each once: most are the same in all of them."""
    in_log: list[int] = []
    """The seqs of the entries that hold the values left out here."""


class _Names(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a past iteration sees beside its variables."""

    names: Object = {}
    item_in_log: bool = False
    """Whether its item is too large to stand here, and is where the loop's source is."""


def _form(
    kind: type[Struct], *bases: type[Struct], without: Iterable[str] = (), **stored: object
) -> type[Struct]:
    """The stored form of a part of the state: the same fields, but some have the `stored` type.

    Most of these are lists instead of maps; an absent list is empty.
    """
    fields: list[tuple[str, object, object]] = [
        (name, type, None if isinstance(type, UnionType) else msgspec.field(default_factory=list))
        for name, type in stored.items()
    ]
    for each in msgspec.structs.fields(kind):
        if each.name in stored or each.name in without:
            continue
        if each.default_factory is msgspec.NODEFAULT:
            default = msgspec.field(default=each.default)
        else:
            default = msgspec.field(default_factory=each.default_factory)
        fields.append((each.name, each.type, default))
    return msgspec.defstruct(
        kind.__name__, fields, bases=bases or None, frozen=True, kw_only=True, omit_defaults=True
    )


def _pairs(key: object, value: object) -> object:
    """A map as it is stored."""
    return GenericAlias(list, (GenericAlias(tuple, (key, value)),))


_Loop = _form(
    LoopState,
    variables=list[int],  # places in the pool, also below
    results=_pairs(int, JSON),
    errors=_pairs(int, JSON),
    ended=_pairs(int, int),
    added=_pairs(int, Added),
    heard=list[str],
)
_Iteration = _form(Iteration, variables=list[int])
_Past = _form(PastIteration, _Names, without=("names",), variables=list[int])
_Compensation = _form(Compensation, failed=_pairs(int, LastError))
_Stored = _form(
    InstanceState,
    _Beside,
    without=(*_FOLLOWING, _RENAMED),
    nodes=_pairs(NodeKey, NodeState),
    joins=_pairs(NodeKey, Join),
    ready=list[NodeKey],
    doomed=list[NodeKey],
    short=list[NodeKey],
    enough=list[NodeKey],
    loops=_pairs(NodeKey, _Loop),
    arrivals=_pairs(NodeKey, tuple[str, ...]),
    iterations=_pairs(NodeKey, _Iteration),
    timers=_pairs(TimerKey, Timer),
    sla=_pairs(NodeKey, SlaState),
    variables=_pairs(str, Variable),
    taken_events=list[str],
    past=_pairs(NodeKey, _Past),
    compensation=_Compensation | None,
)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Stored).decode


def _is_new(state: InstanceState) -> bool:
    """Whether a state has something that programs before this shape would not see."""
    return (
        bool(state.enough or state.arrivals)
        or any(node.held or node.counted for node in state.nodes.values())
        or any(loop.ended or loop.skipped or loop.ends_all for loop in state.loops.values())
    )


def _has_secrets(state: InstanceState) -> bool:
    undoing = state.compensation
    work = None if undoing is None else undoing.work
    return (work is not None and bool(work.secrets)) or any(
        node.secrets for node in state.nodes.values()
    )


def _shape(state: InstanceState) -> int:
    if _has_secrets(state):
        return SHAPE
    if state.sla:
        return _BEFORE_SECRETS
    return _BEFORE_SLA if _is_new(state) else _BEFORE


def encode(state: InstanceState) -> bytes:
    """A snapshot; equal states give equal bytes."""
    return _encode(_stored(state))


def shown(state: InstanceState) -> tuple[JSON, list[int]]:
    """A snapshot with the one spelling of moments, and the seqs that `references` names."""
    stored = _stored(state)
    in_log: list[int] = stored.in_log  # type: ignore[attr-defined]
    return spelled(stored), in_log


def _stored(state: InstanceState) -> Struct:
    fields = asdict(state)
    # Which nodes are open follows from the nodes; the seqs that opened them order them, each once.
    # So does which iterations are quiet, from the iterations.
    for name in (*_FOLLOWING, _RENAMED):
        del fields[name]
    nodes = sorted(state.nodes.items(), key=lambda item: item[1].opened)
    large = _large_values(state, nodes)
    if large:
        nodes = [
            (key, replace(node, output=None) if node.written in large else node)
            for key, node in nodes
        ]
    fields |= {
        "shape": _shape(state),
        "nodes": nodes,
        "joins": sorted(state.joins.items(), key=lambda item: item[0]),
        "ready": sorted(state.ready),
        "doomed": sorted(state.unreachable),
        "short": sorted(state.short),
        "enough": sorted(state.enough),
        "arrivals": sorted(state.arrivals.items()),
        "timers": sorted(state.timers.items()),
        "sla": sorted(state.sla.items(), key=_first),
        "variables": [
            (name, _slim(variable, large))
            for name, variable in sorted(state.variables.items(), key=lambda item: item[0])
        ],
        **_stored_loops(state, large),
        "taken_events": sorted(state.taken_events),
        "in_log": sorted(large),
    }
    if (undoing := state.compensation) is not None:
        failed = sorted(undoing.failed.items(), key=_place)
        fields["compensation"] = _Compensation(**asdict(undoing) | {"failed": failed})
    if _INPUT in large:
        fields["input"] = None
    return _Stored(**fields)


def references(snapshot: bytes) -> list[int]:
    """The seqs of the log entries that `decode` needs beside the snapshot."""
    return msgspec.json.decode(snapshot, type=_References).in_log


def decode(snapshot: bytes, entries: Mapping[int, Entry]) -> InstanceState:
    """The state that a snapshot keeps; `entries` holds those that `references` names."""
    stored = _decode(snapshot)
    fields = asdict(stored)
    shape, large = fields.pop("shape"), frozenset(fields.pop("in_log"))
    if shape > SHAPE:
        raise UnknownEntry(f"a snapshot in shape {shape}; this program knows up to {SHAPE}")
    nodes: list[tuple[NodeKey, NodeState]] = fields["nodes"]
    opened = [key for key, node in nodes if node.is_open]

    def whole(variables: Iterable[tuple[str, Variable]]) -> list[tuple[str, Variable]]:
        if not large:
            return list(variables)
        return [
            (name, _whole(name, each, entries) if each.written in large else each)
            for name, each in variables
        ]

    quiet = keys_of(key for key, iteration in fields["iterations"] if not iteration.open)
    fields |= _restored_loops(stored, whole(fields.pop("pool")), large, entries)
    if large:
        nodes = [
            (key, replace(node, output=_output_of(entries[node.written])))
            if node.written in large
            else (key, node)
            for key, node in nodes
        ]
    fields |= {
        "open": len(opened),
        "open_steps": as_map(dict(Counter(key.node for key in opened))),
        "open_inside": as_map({key: None for key in opened if key.iteration}),
        "stopping": sum(node.is_open and node.grace_until is not None for _, node in nodes),
        "quiet": quiet,
        "nodes": as_map(dict(nodes)),
        "joins": as_map(dict(fields["joins"])),
        "ready": keys_of(fields["ready"]),
        _RENAMED: keys_of(fields.pop("doomed")),
        "short": keys_of(fields["short"]),
        "enough": keys_of(fields["enough"]),
        "arrivals": as_map(dict(fields["arrivals"])),
        "timers": as_map(dict(fields["timers"])),
        "sla": as_map(dict(fields["sla"])),
        "sla_order": due_order(
            (timer.due, key) for key, timer in fields["timers"] if key.kind in SLA_TIMERS
        ),
        "variables": as_map(dict(whole(fields["variables"]))),
        "taken_events": as_map(dict.fromkeys(fields["taken_events"])),
    }
    if (undoing := fields["compensation"]) is not None:
        failed = as_map(dict(undoing.failed))
        fields["compensation"] = Compensation(**asdict(undoing) | {"failed": failed})
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

    entered: dict[NodeKey, list[int]] = {}

    def loop(key: NodeKey, loop: LoopState) -> Struct:
        entered[key] = placed(loop.variables)
        stored = {
            "items": [] if state.nodes[key].opened in large else loop.items,
            "variables": entered[key],
            "results": sorted(loop.results.items(), key=_place),
            "errors": sorted(loop.errors.items(), key=_place),
            "ended": sorted(loop.ended.items()),
            "added": sorted(loop.added.items(), key=_place),
            "heard": sorted(loop.heard),
        }
        return _Loop(**asdict(loop) | stored)

    def iteration(key: NodeKey, each: Iteration) -> Struct:
        is_as_entered = _is_as_entered(state, key, each)
        places = entered[_loop_of(key)] if is_as_entered else placed(each.variables)
        return replace(each, variables=places)  # as `_Iteration` has it

    def past(key: NodeKey, each: PastIteration) -> Struct:
        is_in_source = "item" in each.names and not each.is_added
        in_log = is_in_source and state.nodes[_loop_of(key)].opened in large
        names = {name: value for name, value in each.names.items() if name != "item"}
        return _Past(
            variables=placed(each.variables),
            names=names if in_log else each.names,
            item_in_log=in_log,
            is_added=each.is_added,
        )

    return {
        "loops": [(key, loop(key, each)) for key, each in sorted(state.loops.items(), key=_first)],
        "iterations": [
            (key, iteration(key, each))
            for key, each in sorted(state.iterations.items(), key=_first)
        ],
        "past": [(key, past(key, each)) for key, each in sorted(state.past.items(), key=_first)],
        "pool": pool,
    }


def _restored_loops(
    stored: Struct,
    pool: list[tuple[str, Variable]],
    large: AbstractSet[int],
    entries: Mapping[int, Entry],
) -> dict[str, object]:
    fields = asdict(stored)
    opened = {key: node.opened for key, node in fields["nodes"]}

    known: dict[tuple[int, ...], Mapping[str, Variable]] = {}

    def variables(places: Iterable[int]) -> Mapping[str, Variable]:
        """Those that are the same in several are one map again."""
        found = known.get(key := tuple(places))
        if found is None:
            found = known[key] = as_map(dict([pool[place] for place in key]))
        return found

    def loop(key: NodeKey, each: Struct) -> LoopState:
        found = asdict(each)
        found["variables"] = variables(found["variables"])
        found["results"] = as_map(dict(found["results"]))
        found["errors"] = as_map(dict(found["errors"]))
        found["ended"] = as_map(dict(found["ended"]))
        found["added"] = as_map(dict(found["added"]))
        found["heard"] = as_map(dict.fromkeys(found["heard"]))
        if opened[key] in large:
            found["items"] = _items_of(entries[opened[key]])
        return LoopState(**found)

    def iteration(each: Struct) -> Iteration:
        between_parts()
        found = asdict(each)
        found["variables"] = variables(found["variables"])
        return Iteration(**found)

    def past(key: NodeKey, each: Struct) -> PastIteration:
        between_parts()
        found = asdict(each)
        found["variables"] = variables(found["variables"])
        if found.pop("item_in_log"):
            items = _items_of(entries[opened[_loop_of(key)]])
            found["names"] |= {"item": items[index_of(key.iteration)]}
        return PastIteration(**found)

    return {
        "loops": as_map({key: loop(key, each) for key, each in fields["loops"]}),
        "iterations": as_map({key: iteration(each) for key, each in fields["iterations"]}),
        "past": as_map({key: past(key, each) for key, each in fields["past"]}),
    }


def _is_as_entered(state: InstanceState, key: NodeKey, iteration: Iteration) -> bool:
    """Whether an iteration has the very variables that the next one would begin with."""
    return iteration.variables is state.loops[_loop_of(key)].variables


def _loop_of(iteration: NodeKey) -> NodeKey:
    return NodeKey(iteration.node, around(iteration.iteration))


def _first(item: tuple[NodeKey, object]) -> NodeKey:
    return item[0]


def _place(item: tuple[int, object]) -> int:
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
