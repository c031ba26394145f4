"""State ↔ bytes; values too large for a snapshot stay in the log and are named by their seq."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from tenuto.core.maps import as_map
from tenuto.core.state import (
    Ending,
    InstanceState,
    Join,
    NodeState,
    Pause,
    Timer,
    Variable,
)
from tenuto.model.entries import Entry, InputSet, NodeCompleted
from tenuto.model.failure import Cancellation, LastError
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status

LARGE = 16_384
"""Values whose JSON is longer are left in the log."""


class _Stored(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`InstanceState` with its maps as lists."""

    id: str
    version: int
    status: Status
    definition_id: str
    definition_version: int
    input: JSON = None
    correlation_id: str | None = None
    priority: int = 0
    deadline: datetime | None = None
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None
    nodes: list[tuple[NodeKey, NodeState]] = []
    joins: list[tuple[NodeKey, Join]] = []
    ready: list[NodeKey] = []
    doomed: list[NodeKey] = []
    open_waits: int = 0
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
    cancellation: Cancellation | None = None
    in_log: list[int] = []
    """The seqs of the entries that hold the values left out here."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Stored).decode


def encode(state: InstanceState) -> bytes:
    """A snapshot; equal states give equal bytes."""
    fields = asdict(state)
    # Which nodes are open follows from the nodes; the seqs that opened them order them, each once.
    del fields["open"]
    nodes = sorted(state.nodes.items(), key=lambda item: item[1].opened)
    large = _large_values(state, nodes)
    if large:
        nodes = [
            (key, replace(node, output=None) if node.written in large else node)
            for key, node in nodes
        ]
    fields |= {
        "nodes": nodes,
        "joins": sorted(state.joins.items(), key=lambda item: item[0]),
        "ready": sorted(state.ready),
        "doomed": sorted(state.doomed),
        "timers": sorted(state.timers.items()),
        "variables": [
            (name, variable._replace(value=None) if variable.written in large else variable)
            for name, variable in sorted(state.variables.items(), key=lambda item: item[0])
        ],
        "taken_events": sorted(state.taken_events),
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
    fields = asdict(stored)
    large = fields.pop("in_log")
    fields |= {
        "open": as_map({key: None for key, node in stored.nodes if node.is_open}),
        "nodes": as_map(
            {
                key: replace(node, output=_output_of(entries[node.written]))
                if node.written in large
                else node
                for key, node in stored.nodes
            }
        ),
        "joins": as_map(dict(stored.joins)),
        "ready": dict.fromkeys(stored.ready),
        "doomed": dict.fromkeys(stored.doomed),
        "timers": as_map(dict(stored.timers)),
        "variables": as_map(
            {
                name: variable._replace(value=_variable_of(entries[variable.written], name))
                if variable.written in large
                else variable
                for name, variable in stored.variables
            }
        ),
        "taken_events": as_map(dict.fromkeys(stored.taken_events)),
    }
    if _INPUT in large:
        first = entries[_INPUT]
        assert isinstance(first, InputSet)
        fields["input"] = first.input
    return InstanceState(**fields)


class _References(Struct, frozen=True):
    in_log: list[int] = []


_INPUT = 1
"""INPUT_SET is always the first entry."""


def _large_values(state: InstanceState, nodes: list[tuple[NodeKey, NodeState]]) -> set[int]:
    large = {
        node.written for _, node in nodes if node.output is not None and _is_large(node.output)
    }
    large |= {
        variable.written for variable in state.variables.values() if _is_large(variable.value)
    }
    if _is_large(state.input):
        large.add(_INPUT)
    return large


def _is_large(value: JSON) -> bool:
    if isinstance(value, str):
        return len(value) > LARGE
    return isinstance(value, list | dict) and len(_encode(value)) > LARGE


def _output_of(entry: Entry) -> JSON:
    assert isinstance(entry, NodeCompleted)
    return entry.output


def _variable_of(entry: Entry, name: str) -> JSON:
    assert isinstance(entry, NodeCompleted)
    if entry.variables is not None and name in entry.variables:
        return entry.variables[name]
    return entry.output
