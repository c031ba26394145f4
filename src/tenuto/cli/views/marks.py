"""The marks and colours of statuses."""

from __future__ import annotations

from typing import Final, TypeVar

from tenuto.model.status import NodeStatus, Status

Key = TypeVar("Key")


class _Marks(dict[Key, tuple[str, str]]):
    """Also of a status that only newer programs have: it has a mark that says nothing."""

    def __missing__(self, _: Key) -> tuple[str, str]:
        return ("?", "dim")


MARKS: Final = _Marks(
    {
        NodeStatus.PENDING: ("·", "dim"),
        NodeStatus.RUNNING: ("●", "blue"),
        NodeStatus.WAITING: ("◌", "magenta"),
        NodeStatus.RETRYING: ("↻", "yellow"),
        NodeStatus.COMPLETED: ("✓", "green"),
        NodeStatus.FAILED: ("✗", "red"),
        NodeStatus.SKIPPED: ("-", "dim"),
        NodeStatus.CANCELLED: ("⊘", "dim"),
    }
)

STATUS_MARKS: Final = _Marks(
    {
        Status.CREATED: ("○", "dim"),
        Status.RUNNING: ("●", "blue"),
        Status.WAITING_FOR_EVENT: ("◌", "magenta"),
        Status.PAUSED: ("‖", "yellow"),
        Status.COMPLETED: ("✓", "green"),
        Status.FAILED: ("✗", "red"),
        Status.CANCELLED: ("⊘", "dim"),
    }
)
