"""The messages of live updates, which follow from an instance's log.

An entry makes one message at most, which has the entry's `seq`. So the same log gives the same
messages, in whatever pages and from whichever entry on it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from tenuto.core import InstanceState, Plan, fold_all
from tenuto.core.view import context_of
from tenuto.engine.definitions.large_documents import LARGE
from tenuto.model.json import is_small
from tenuto.model.log import LogRow, from_row
from tenuto.model.status import NodeStatus
from tenuto.model.tracebacks import may_have_tracebacks, text_without_tracebacks

NODE_UPDATE: Final = "workflow_node_update"
STATUS_UPDATE: Final = "workflow_status_update"
EventName: TypeAlias = Literal["workflow_node_update", "workflow_status_update"]

MOST_CONTEXT: Final = 256 * 1024
"""A context of more bytes is left out: it is read from the instance."""
MOST_OUTPUT: Final = 64 * 1024
"""So is a larger output or error: every subscriber gets it."""

_STATUS_CHANGED: Final = "STATUS_CHANGED"
_NULL: Final = Raw(b"null")
_encode = msgspec.json.Encoder(decimal_format="number").encode

_BY_ENTRY: Final = {
    "NODE_DISPATCHED": NodeStatus.RUNNING,
    "NODE_SKIPPED": NodeStatus.SKIPPED,
    "NODE_CANCELLED": NodeStatus.CANCELLED,
    "WAIT_OPENED": NodeStatus.WAITING,
    "TIMER_SET": NodeStatus.WAITING,
    "ITERATION_STARTED": NodeStatus.RUNNING,
    "COMPENSATION_DISPATCHED": NodeStatus.RUNNING,
    "COMPENSATION_COMPLETED": NodeStatus.COMPLETED,
}
_ENDS: Final = {
    "success": NodeStatus.COMPLETED,
    "error": NodeStatus.FAILED,
    "cancelled": NodeStatus.CANCELLED,
}


Made = TypeVar("Made")


class Make(Protocol):
    """Makes messages, beside the event loop where they are large."""

    async def __call__(self, size: int, work: Callable[[], Made]) -> Made:
        """What `work` makes of values of so many bytes."""
        ...


async def make_at_once(size: int, work: Callable[[], Made]) -> Made:  # noqa: ARG001
    """Of whatever size they are."""
    return work()


class Message(Struct, frozen=True, gc=False):
    """One message, encoded once for all subscribers."""

    seq: int
    """The seq of its entry: where to go on after a break."""
    event: EventName
    data: bytes
    """The whole message as JSON."""


class _Payload(Struct, gc=False):
    """The fields of entries that messages show; an entry has some of them."""

    to: str = ""
    kind: str = ""
    then: str = ""
    status: str = "success"
    output: Raw = _NULL
    error: Raw = _NULL


_decode = msgspec.json.Decoder(_Payload).decode


def parts_of(rows: Sequence[LogRow]) -> Iterator[Sequence[LogRow]]:
    """A part of a log in parts that end with a change of status, which may take a millisecond."""
    first = 0
    for number, row in enumerate(rows, 1):
        if row.event_type == _STATUS_CHANGED:
            yield rows[first:number]
            first = number
    if first < len(rows):
        yield rows[first:]


def messages_of(
    plan: Plan, state: InstanceState, rows: Sequence[LogRow]
) -> tuple[list[Message], InstanceState]:
    """The messages of a part of a log, and the state after it; `state` is that before it."""
    messages: list[Message] = []
    first = 0
    for number, row in enumerate(rows):
        if row.event_type != _STATUS_CHANGED:
            if (message := _of_node(state.id, row)) is not None:
                messages.append(message)
            continue
        state = fold_all(plan, state, map(from_row, rows[first : number + 1]))
        first = number + 1
        messages.append(_of_status(row, _context(plan, state), state.id))
    if first < len(rows):
        state = fold_all(plan, state, map(from_row, rows[first:]))
    return messages, state


def node_messages(instance_id: str, rows: Iterable[LogRow]) -> list[Message]:
    """The messages of a part without a change of status: they need no state."""
    messages = (_of_node(instance_id, row) for row in rows)
    return [message for message in messages if message is not None]


def bytes_read(state: InstanceState, rows: Sequence[LogRow]) -> int:
    """How many bytes of values are read for the messages of a part of a log, about.

    Values that may have tracebacks are walked through; each change of status shows the context.
    """
    payloads = [row.payload or b"" for row in rows]
    of_nodes = sum(len(each) for each in payloads if may_have_tracebacks(each))
    changes = sum(row.event_type == _STATUS_CHANGED for row in rows)
    if not changes:
        return of_nodes
    of_input = 0 if is_small(state.input, LARGE) else LARGE
    return of_nodes + changes * (of_input + state.context_bytes + sum(map(len, payloads)))


def changes_status(rows: Iterable[LogRow]) -> bool:
    """Whether a part of a log has messages that show the context."""
    return any(row.event_type == _STATUS_CHANGED for row in rows)


def _of_status(row: LogRow, context: bytes | None, instance_id: str) -> Message:
    body: dict[str, object] = {
        "event": STATUS_UPDATE,
        "seq": row.seq,
        "instanceID": instance_id,
        "status": _decode(row.payload or b"{}").to,
    }
    if context is not None:
        body["contextData"] = Raw(context)
    return Message(row.seq, STATUS_UPDATE, _encode(body))


def _context(plan: Plan, state: InstanceState) -> bytes | None:
    if state.context_bytes > MOST_CONTEXT:
        return None
    context = text_without_tracebacks(_encode(context_of(plan, state)))
    return context if len(context) <= MOST_CONTEXT else None


def _of_node(instance_id: str, row: LogRow) -> Message | None:
    if row.node_id is None:
        return None
    payload = _decode(row.payload or b"{}")
    status = _node_status(row, payload)
    if status is None:
        return None
    body: dict[str, object] = {
        "event": NODE_UPDATE,
        "seq": row.seq,
        "instanceID": instance_id,
        "nodeID": row.node_id,
        "iteration": row.iteration,
        "status": status.value,
    }
    said = {"output": bytes(payload.output), "error": text_without_tracebacks(bytes(payload.error))}
    body |= {name: Raw(value) for name, value in said.items() if len(value) <= MOST_OUTPUT}
    return Message(row.seq, NODE_UPDATE, _encode(body))


def _node_status(row: LogRow, payload: _Payload) -> NodeStatus | None:
    """The status of a node after an entry; None: unchanged, or shown by another entry."""
    if payload.kind == "sla":
        return None  # the step goes on as it was
    match row.event_type:
        case "NODE_COMPLETED":
            return _ENDS[row.node_status or "success"]
        case "NODE_FAILED" if payload.then == "cancel":
            return None
        case "NODE_FAILED" | "COMPENSATION_FAILED":
            return NodeStatus.RETRYING if payload.then == "retry" else NodeStatus.FAILED
        case "ITERATION_ENDED":
            return _ENDS[payload.status]
        case other:
            return _BY_ENTRY.get(other)
