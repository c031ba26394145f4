"""Names of lifecycle events, and the entries of the log that they come from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from tenuto.model.log import LogRow

PREFIX: Final = "workflow."

OF_INSTANCES: Final = tuple(
    f"{PREFIX}{word}"
    for word in (
        *("started", "completed", "failed", "cancelled", "paused", "resumed", "waiting"),
        *("compensation.completed", "sla.warning", "sla.breached"),
    )
)
OF_NODES: Final = tuple(
    f"{PREFIX}node.{word}"
    for word in (
        *("started", "completed", "failed", "skipped", "cancelled", "retrying", "waiting"),
        *("reminder", "escalated"),
    )
)

_OF_THE_WHOLE: Final = frozenset({"STATUS_CHANGED", "COMPENSATION_ENDED", "TIMER_FIRED"})
"""The types of entries that may change the instance as a whole; of timers, those of SLAs do."""
_OF_SLA: Final = b'"kind":"sla-'


def level_of(rows: Iterable[LogRow]) -> Literal[1, 2]:
    """1 if entries change the instance as a whole; 2 if they concern single nodes only."""
    for row in rows:
        if row[1] in _OF_THE_WHOLE and (row[1] != "TIMER_FIRED" or _OF_SLA in (row[7] or b"")):
            return 1
    return 2
