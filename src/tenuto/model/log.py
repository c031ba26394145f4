"""Entries as rows of the log and back, the same for every store and for ever."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Final, NamedTuple, cast, get_args

import msgspec
from msgspec import UNSET

from tenuto.model.durations import epoch_ms, exactly_from_epoch_ms
from tenuto.model.entries import (
    CompensationDispatched,
    CompensationFailed,
    Entry,
    EventType,
    NodeCompleted,
    NodeDispatched,
    NodeEntry,
    NodeFailed,
    RetryRequested,
    SlaFired,
    SlaSet,
    TimerFired,
    TimerSet,
)
from tenuto.model.json import JSON, Object


class LogRow(NamedTuple):
    """One line of the log in the columns that every store has."""

    seq: int
    event_type: str
    node_id: str | None
    iteration: str
    attempt: int
    node_status: str | None
    output_variable: str | None
    payload: bytes | None
    """JSON; None when the entry says nothing beyond its columns."""
    error_message: str | None
    at_ms: int


class UnknownEntry(Exception):
    """A row that this version of the program cannot read; the instance is left to one that can."""


OF_SLA: Final[dict[str, type[Entry]]] = {
    "sla": SlaSet,
    "sla-warning": SlaFired,
    "sla-breached": SlaFired,
}
"""Timers of SLAs, by the `kind` that tells them from others of their type."""
KINDS: Final[dict[str, type[Entry]]] = {
    kind.event_type: kind for kind in get_args(Entry) if kind not in OF_SLA.values()
}

SHAPES: Final[dict[EventType, int]] = {
    EventType.NODE_DISPATCHED: 2,
    EventType.COMPENSATION_DISPATCHED: 2,
    EventType.RETRY_REQUESTED: 2,
    EventType.TIMER_SET: 3,
}
"""Kinds whose shape has changed, with the number of the present shape (the first is 1)."""

UPCASTERS: Final[dict[tuple[EventType, int], Callable[[Object], Object]]] = {
    (EventType.NODE_DISPATCHED, 1): lambda payload: payload,
    (EventType.COMPENSATION_DISPATCHED, 1): lambda payload: payload,
    (EventType.RETRY_REQUESTED, 1): lambda payload: payload,
    (EventType.TIMER_SET, 1): lambda payload: payload,
    (EventType.TIMER_SET, 2): lambda payload: payload,
}
"""(kind, shape) → how its payload becomes that of the next shape."""

SHAPE_KEY: Final = "$shape"

_encode = msgspec.json.Encoder(decimal_format="number").encode
_decode = msgspec.json.Decoder(dict[str, JSON]).decode


def to_rows(first_seq: int, entries: Sequence[Entry]) -> list[LogRow]:
    """The rows that keep `entries`, from `first_seq` on."""
    rows: list[LogRow] = []
    at, at_ms = None, 0
    for seq, entry in enumerate(entries, first_seq):
        # The entries of one decision share their moment: it is worked out once.
        if entry.at is not at:
            at, at_ms = entry.at, epoch_ms(entry.at)
        rows.append(_WRITERS[type(entry)](seq, entry, at_ms))
    return rows


def to_row(seq: int, entry: Entry) -> LogRow:
    """The row that keeps `entry` at `seq`."""
    return to_rows(seq, (entry,))[0]


def from_row(row: LogRow) -> Entry:
    """The entry that `row` keeps."""
    kind = KINDS.get(row.event_type)
    if kind is None:
        raise UnknownEntry(row.event_type)
    try:
        return _decoded(row, kind)
    except (ValueError, OverflowError, RecursionError) as error:
        message = f"{row.event_type} at {row.seq}: {error}"
        raise UnknownEntry(message) from error


def payload_of(row: LogRow) -> Object:
    """The payload of an entry in its present shape; UnknownEntry."""
    kind = KINDS.get(row.event_type)
    if kind is None:
        raise UnknownEntry(row.event_type)
    return _payload(row, kind)


def _payload(row: LogRow, kind: type[Entry]) -> Object:
    fields = _decode(row.payload) if row.payload else {}
    return _upcast(kind.event_type, fields)


def _decoded(row: LogRow, kind: type[Entry]) -> Entry:
    fields = _payload(row, kind)
    if kind in _TIMERS:
        kind = OF_SLA.get(str(fields.get("kind")), kind)
        if kind in _OF_SLA and fields.pop("step", False) is not (row.node_id is not None):
            message = f"{row.event_type} at {row.seq} is of a step that it does not name"
            raise UnknownEntry(message)
    if row.node_id is not None:
        fields |= {"node": row.node_id, "iteration": row.iteration, "attempt": row.attempt}
    if kind is NodeCompleted:
        fields |= {"status": row.node_status, "variable": row.output_variable}
    return msgspec.convert({**fields, "at": exactly_from_epoch_ms(row.at_ms)}, kind)


def _upcast(event_type: EventType, fields: Object) -> Object:
    shape = fields.pop(SHAPE_KEY, 1)
    current = SHAPES.get(event_type, 1)
    if not isinstance(shape, int) or not 1 <= shape <= current:
        message = f"{event_type} in shape {shape}; this program knows up to {current}"
        raise UnknownEntry(message)
    for number in range(shape, current):
        fields = UPCASTERS[event_type, number](fields)
    return fields


_Writer = Callable[[int, Entry, int], LogRow]
_log_row: Callable[[tuple[object, ...]], LogRow] = partial(tuple.__new__, LogRow)
"""`LogRow` from all its columns, without the Python code of a named tuple's constructor."""
_TIMERS = frozenset({TimerSet, TimerFired})
_OF_SLA = frozenset(OF_SLA.values())
_HELD = 2
"""The shape of a delay that a task asked for; the next one is that of an SLA."""
_IN_COLUMNS = frozenset({"at", "node", "iteration", "attempt"})
_DEFAULT_HANDLES = ("default",)


def _dispatched(seq: int, entry: NodeDispatched, at_ms: int) -> LogRow:
    """One of the two rows of every step: written out, because it is written most."""
    body = None
    if entry.policy is not None or entry.timeout_at is not None or entry.calendars or entry.secrets:
        body = _encode(_ordered_payload(_DISPATCHED_PAYLOAD, entry))
    elif entry.input is not UNSET:
        body = _encode({"input": entry.input})
    place = entry.node, entry.iteration, entry.attempt
    return _log_row((seq, "NODE_DISPATCHED", *place, None, None, body, None, at_ms))


def _undo_dispatched(seq: int, entry: CompensationDispatched, at_ms: int) -> LogRow:
    payload = _ordered_payload(_UNDO_DISPATCHED_PAYLOAD, entry)
    place = entry.node, entry.iteration, entry.attempt
    name = entry.event_type.value
    body = _encode(payload) if payload else None
    return LogRow(seq, name, *place, None, None, body, None, at_ms)


def _ordered_payload(
    read: Callable[[Entry], Object], entry: NodeDispatched | CompensationDispatched
) -> Object:
    """That of an attempt that was ordered."""
    payload = read(entry)
    if not entry.secrets:
        # Without secrets it is for older programs too: only they would run it without their values.
        del payload[SHAPE_KEY]
    return payload


def _completed(seq: int, entry: NodeCompleted, at_ms: int) -> LogRow:
    """The other one."""
    payload: Object = {}
    if entry.output is not None:
        payload["output"] = entry.output
    if entry.handles != _DEFAULT_HANDLES:
        payload["handles"] = list(entry.handles)
    if entry.variables is not None:
        payload["variables"] = entry.variables
    if entry.reused_from is not None:
        payload["reusedFrom"] = entry.reused_from
        if entry.error is not None:
            payload["error"] = msgspec.to_builtins(entry.error)
        if entry.errors is not None:
            payload["errors"] = entry.errors
    if entry.execution_time is not None:
        payload["executionTime"] = entry.execution_time
    if entry.worker is not None:
        payload["worker"] = entry.worker
    body = _encode(payload) if payload else None
    place = entry.node, entry.iteration, entry.attempt
    outcome = entry.status, entry.variable, body
    return _log_row((seq, "NODE_COMPLETED", *place, *outcome, None, at_ms))


def _failed(seq: int, entry: NodeFailed, at_ms: int) -> LogRow:
    body = _encode(_FAILED_PAYLOAD(entry))
    place = entry.node, entry.iteration, entry.attempt
    return LogRow(seq, "NODE_FAILED", *place, "error", None, body, entry.error.message, at_ms)


def _not_undone(seq: int, entry: CompensationFailed, at_ms: int) -> LogRow:
    body = _encode(_NOT_UNDONE_PAYLOAD(entry))
    place = entry.node, entry.iteration, entry.attempt
    name = entry.event_type.value
    return LogRow(seq, name, *place, "error", None, body, entry.error.message, at_ms)


def _retried(seq: int, entry: RetryRequested, at_ms: int) -> LogRow:
    payload = _RETRIED_PAYLOAD(entry)
    if entry.edited is None and not entry.fail_at:
        # The shape without these keeps its number, so that older programs can still read it.
        del payload[SHAPE_KEY]
    if entry.edited is not None:
        payload["edited"] = msgspec.to_builtins(entry.edited)
    return LogRow(
        seq, entry.event_type.value, None, "", 1, None, None, _encode(payload), None, at_ms
    )


def _timer_set(seq: int, entry: TimerSet, at_ms: int) -> LogRow:
    payload = _TIMER_PAYLOAD(entry)
    if entry.held is None:
        # As above: a delay that no task asked for is for older programs too.
        del payload[SHAPE_KEY]
    else:
        payload |= {"held": msgspec.to_builtins(entry.held), SHAPE_KEY: _HELD}
    place = entry.node, entry.iteration, entry.attempt
    name = entry.event_type.value
    return LogRow(seq, name, *place, None, None, _encode(payload), None, at_ms)


def _sla(seq: int, entry: SlaSet | SlaFired, at_ms: int) -> LogRow:
    """Of a step, or of the instance: then the row names no step."""
    payload = {"kind": entry.kind, **_SLA_PAYLOADS[type(entry)](entry)}
    if entry.node:
        payload["step"] = True
    place = entry.node or None, entry.iteration, entry.attempt
    name = entry.event_type.value
    return LogRow(seq, name, *place, None, None, _encode(payload), None, at_ms)


def _writer(kind: type[Entry]) -> _Writer:
    """How entries of any other kind become rows, worked out once."""
    name = kind.event_type.value
    payload_of = _payload_reader(kind)
    is_of_node = issubclass(kind, get_args(NodeEntry))

    def write(seq: int, entry: Entry, at_ms: int) -> LogRow:
        payload = payload_of(entry)
        body = _encode(payload) if payload else None
        if not is_of_node:
            return _log_row((seq, name, None, "", 1, None, None, body, None, at_ms))
        place = entry.node, entry.iteration, entry.attempt  # type: ignore[union-attr]
        return _log_row((seq, name, *place, None, None, body, None, at_ms))

    return write


def _payload_reader(kind: type[Entry]) -> Callable[[Entry], Object]:
    wanted = [field for field in msgspec.structs.fields(kind) if field.name not in _IN_COLUMNS]
    shape = SHAPES.get(kind.event_type, 1)
    readers = [(field.encode_name, attrgetter(field.name), field.default) for field in wanted]

    def read(entry: Entry) -> Object:
        payload = {
            name: value for name, get, default in readers if (value := get(entry)) != default
        }
        if shape > 1:
            payload[SHAPE_KEY] = shape
        return payload

    return read


# A kind that is written out above, without a reader of its payload, has never changed its shape.
assert EventType.NODE_COMPLETED not in SHAPES
_DISPATCHED_PAYLOAD = _payload_reader(NodeDispatched)
_UNDO_DISPATCHED_PAYLOAD = _payload_reader(CompensationDispatched)
_FAILED_PAYLOAD = _payload_reader(NodeFailed)
_NOT_UNDONE_PAYLOAD = _payload_reader(CompensationFailed)
_RETRIED_PAYLOAD = _payload_reader(RetryRequested)
_TIMER_PAYLOAD = _payload_reader(TimerSet)
_SLA_PAYLOADS = {kind: _payload_reader(kind) for kind in (SlaSet, SlaFired)}
_WRITERS: Final[dict[type[Entry], _Writer]] = {
    **{kind: _writer(kind) for kind in get_args(Entry)},
    # Each is only ever called with entries of its own kind.
    NodeDispatched: cast("_Writer", _dispatched),
    CompensationDispatched: cast("_Writer", _undo_dispatched),
    NodeCompleted: cast("_Writer", _completed),
    NodeFailed: cast("_Writer", _failed),
    CompensationFailed: cast("_Writer", _not_undone),
    RetryRequested: cast("_Writer", _retried),
    TimerSet: cast("_Writer", _timer_set),
    SlaSet: cast("_Writer", _sla),
    SlaFired: cast("_Writer", _sla),
}
