"""Statuses of instances and nodes, and the only table of transitions between them."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Where an instance stands."""

    CREATED = "CREATED"
    RUNNING = "RUNNING"
    WAITING_FOR_EVENT = "WAITING_FOR_EVENT"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    is_final: bool
    """Whether the instance has ended (a FAILED one may be retried by hand)."""


class NodeStatus(StrEnum):
    """Where one activation of a node stands."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    RETRYING = "RETRYING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"


FINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})
for _status in Status:
    _status.is_final = _status in FINAL


def read_status(name: str) -> Status:
    """The status of this name; one that only newer programs have is no member, and not final."""
    if name in Status.__members__:
        return Status(name)
    unknown = str.__new__(Status, name)
    unknown._name_ = unknown._value_ = name
    unknown.is_final = False
    return unknown


TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.CREATED: frozenset({Status.RUNNING, Status.CANCELLED}),
    Status.RUNNING: frozenset(
        {
            Status.COMPLETED,
            Status.FAILED,
            Status.CANCELLED,
            Status.WAITING_FOR_EVENT,
            Status.PAUSED,
        }
    ),
    Status.WAITING_FOR_EVENT: frozenset(
        {Status.RUNNING, Status.CANCELLED, Status.FAILED, Status.PAUSED}
    ),
    Status.PAUSED: frozenset({Status.RUNNING, Status.WAITING_FOR_EVENT, Status.CANCELLED}),
    Status.FAILED: frozenset({Status.RUNNING}),
    Status.COMPLETED: frozenset(),
    Status.CANCELLED: frozenset(),
}
