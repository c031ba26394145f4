"""The marks and colours of statuses."""

from __future__ import annotations

from typing import Final

from tenuto.model.status import NodeStatus, Status

MARKS: Final = {
    NodeStatus.PENDING: ("·", "dim"),
    NodeStatus.RUNNING: ("●", "blue"),
    NodeStatus.WAITING: ("◌", "magenta"),
    NodeStatus.RETRYING: ("↻", "yellow"),
    NodeStatus.COMPLETED: ("✓", "green"),
    NodeStatus.FAILED: ("✗", "red"),
    NodeStatus.SKIPPED: ("-", "dim"),
    NodeStatus.CANCELLED: ("⊘", "dim"),
}

STATUS_MARKS: Final = {
    Status.CREATED: ("○", "dim"),
    Status.RUNNING: ("●", "blue"),
    Status.WAITING_FOR_EVENT: ("◌", "magenta"),
    Status.PAUSED: ("‖", "yellow"),
    Status.COMPLETED: ("✓", "green"),
    Status.FAILED: ("✗", "red"),
    Status.CANCELLED: ("⊘", "dim"),
}
