"""Lifecycle events of an instance. They follow from its log alone: any reader makes the same ones.

An entry makes one event at most, and the event's id names the entry. So an event that is published
twice has the same id and content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from tenuto.model.durations import from_epoch_ms, iso, parse_moment
from tenuto.model.events import Event
from tenuto.model.json import JSON, Object
from tenuto.model.log import LogRow, payload_of
from tenuto.model.status import Status
from tenuto.model.tracebacks import without_tracebacks

MOST_OUTPUT = 64_000
"""An output of more bytes is left out: it is read from the instance."""

_BY_STATUS = {
    Status.COMPLETED: "completed",
    Status.FAILED: "failed",
    Status.CANCELLED: "cancelled",
    Status.PAUSED: "paused",
    Status.WAITING_FOR_EVENT: "waiting",
}

_BY_ENTRY = {
    "NODE_DISPATCHED": "node.started",
    "NODE_COMPLETED": "node.completed",
    "NODE_FAILED": "node.failed",
    "NODE_SKIPPED": "node.skipped",
    "NODE_CANCELLED": "node.cancelled",
    "WAIT_OPENED": "node.waiting",
    "COMPENSATION_ENDED": "compensation.completed",
}

_BY_TIMER = {
    "reminder": "node.reminder",
    "escalation": "node.escalated",
    "sla-warning": "sla.warning",
    "sla-breached": "sla.breached",
}


class Told(Struct, frozen=True, kw_only=True):
    """The fields that every event of an instance has."""

    instance_id: str
    workflow_id: str
    version: int
    correlation_id: str | None
    output: bytes | None = None
    """JSON: of a completed one."""
    cancellation: bytes | None = None
    """JSON: of one that was cancelled."""
    chain: int = 0
    origin: str | None = None
    tenant: str = "default"


def events_of(told: Told, status: str, rows: Iterable[LogRow]) -> Iterator[Event]:
    """The events of a stretch of a log; `status` is what held before it.

    UnknownEntry where a newer program has written it, which may tell something of it.
    """
    for row in rows:
        payload = payload_of(row)
        if row.event_type == "STATUS_CHANGED":
            before, status = status, str(payload["to"])
            name = _of_status(before, Status(status))
        else:
            name = _of_entry(row, payload)
        if name is not None:
            yield _event(told, f"workflow.{name}", status, row, payload)


def _of_status(before: str, now: Status) -> str | None:
    if before == Status.CREATED and now is Status.RUNNING:
        return "started"
    if before in (Status.PAUSED, Status.FAILED) and not now.is_final:
        return "resumed"
    return _BY_STATUS.get(now)


def _of_entry(row: LogRow, payload: Object) -> str | None:
    match row.event_type:
        case "NODE_FAILED" if payload.get("then") == "retry":
            return "node.retrying"
        case "NODE_FAILED" if payload.get("then") == "cancel":
            return None  # that it was cancelled is an entry of its own
        case "NODE_COMPLETED" if row.node_status == "error":
            return None  # that it failed is an entry of its own
        case "TIMER_FIRED":
            return _BY_TIMER.get(str(payload.get("kind")))
        case other:
            return _BY_ENTRY.get(other)


def _event(told: Told, pattern: str, status: str, row: LogRow, payload: Object) -> Event:
    at = from_epoch_ms(row.at_ms)
    body: Object = {
        "workflowId": told.workflow_id,
        "version": told.version,
        "instanceId": told.instance_id,
        "correlationId": told.correlation_id,
        "status": status,
        "at": iso(at),
    }
    if row.node_id is not None:
        body |= {"stepId": row.node_id, "iteration": row.iteration, "attempt": row.attempt}
    return Event(
        id=f"{told.instance_id}:{row.seq}",
        pattern=pattern,
        payload=body | _more(told, pattern, payload),
        received_at=at,
        timestamp=at,
        correlation_id=told.correlation_id,
        chain=told.chain,
        origin=told.origin,
        tenant=told.tenant,
    )


def _more(told: Told, pattern: str, payload: Object) -> Object:
    match pattern.removeprefix("workflow."):
        case "completed" if told.output is not None and len(told.output) <= MOST_OUTPUT:
            return {"output": _decoded(told.output)}
        case "cancelled" if told.cancellation is not None:
            return {"cancellation": _decoded(told.cancellation)}
        case "failed" | "node.failed" | "node.retrying":
            return {"error": without_tracebacks(payload.get("error"))}
        case "compensation.completed":
            return {"compensationStatus": payload.get("status")}
        case "node.skipped":
            return {"reason": payload.get("reason")}
        case "sla.warning" | "sla.breached":
            return {"due": iso(parse_moment(payload.get("due")))}
        case "node.reminder" | "node.escalated":
            return {"assignees": payload.get("assignees")}
        case _:
            return {}


def _decoded(value: bytes) -> JSON:
    decoded: JSON = msgspec.json.decode(value)
    return decoded
