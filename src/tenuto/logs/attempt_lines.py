"""Logs one line for each attempt that has ended; those of a turn are one record.

A record for each would cost a busy service a tenth of its time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from tenuto.model.durations import epoch_ms
from tenuto.model.graph import Executed
from tenuto.model.ids import NodeKey
from tenuto.model.log import LogRow
from tenuto.model.unsafe_text import escaped_line

if TYPE_CHECKING:  # workers log too, and have no engine
    from tenuto.engine.turns.draft import Draft

log = logging.getLogger("tenuto.attempts")

Outcome: TypeAlias = Literal["completed", "cancelled"]
_OUTCOMES: Final[dict[str, Outcome]] = {
    "NODE_COMPLETED": "completed",
    "NODE_CANCELLED": "cancelled",
    "COMPENSATION_COMPLETED": "completed",
}
"""Failed attempts have a warning of their own."""
_MOST = 1_000
"""So many lines of one record."""
_encode_lines = msgspec.json.Encoder().encode_lines


class AttemptLine(Struct, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """The line of one attempt; the formatter adds the time."""

    time: str = "0"
    level: str
    logger: str
    message: str
    tenant: str
    workflow_id: str
    instance_id: str
    step_name: str
    attempt: int
    duration_ms: int


class AttemptLines:
    """For `engine.listen`: logs attempts once their outcomes are durable. Data is never logged."""

    def __init__(self) -> None:
        self._lines: list[AttemptLine] = []

    def heard(self, draft: Draft) -> None:
        """Note the attempts that have ended with one instance's share of a turn."""
        if not draft.rows or not log.isEnabledFor(logging.INFO):
            return
        before = len(self._lines)
        for row in draft.rows:
            outcome = _OUTCOMES.get(row.event_type)
            if outcome is not None and (took := attempt_ms(draft, row)) is not None:
                self._lines.append(
                    AttemptLine(
                        level="info",
                        logger=log.name,
                        message=f"attempt {outcome}",
                        tenant=draft.held.tenant,
                        workflow_id=draft.state.definition_id,
                        instance_id=draft.instance_id,
                        step_name=row.node_id or "",
                        attempt=row.attempt,
                        duration_ms=took,
                    )
                )
        if not before and self._lines:
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Log what was noted."""
        lines, self._lines = self._lines, []
        for first in range(0, len(lines), _MOST):
            some = lines[first : first + _MOST]
            said = "%d attempts ended"
            extra = {"attempts": some}
            log.handle(
                log.makeRecord(log.name, logging.INFO, "", 0, said, (len(some),), None, extra=extra)
            )


def attempt_ms(draft: Draft, row: LogRow) -> int | None:
    """How long the attempt took that ends with a row; None: no attempt ends with it.

    From when it began, where that is known, else from its order.
    """
    if row.node_id is None:
        return None
    planned = draft.held.plan.nodes.get(row.node_id)
    if planned is None:
        return _undoing_ms(draft, row)
    since = _ordered_at(draft, row) if isinstance(planned.node.config, Executed) else None
    if since is None:
        return None
    took = max(row.at_ms - since, 0)
    node = draft.state.nodes.get(NodeKey(row.node_id, row.iteration))
    if node is not None and node.attempt == row.attempt and node.execution_time is not None:
        took = min(round(node.execution_time), took)
    return took


def _ordered_at(draft: Draft, row: LogRow) -> int | None:
    """When an attempt was ordered; None: it was not."""
    node = draft.before.nodes.get(NodeKey(row.node_id or "", row.iteration))
    if node is not None and node.is_in_flight and node.attempt == row.attempt:
        ordered_at = node.dispatched_at or node.started_at
        return None if ordered_at is None else epoch_ms(ordered_at)
    return draft.ordered_at(row)


def _undoing_ms(draft: Draft, row: LogRow) -> int | None:
    undoing = draft.before.compensation
    work = None if undoing is None else undoing.work
    ordered_at = None if work is None else work.dispatched_at or work.started_at
    if ordered_at is None or row.node_id not in draft.held.plan.undo_steps:
        return None
    return max(row.at_ms - epoch_ms(ordered_at), 0)


def json_lines(attempts: Sequence[AttemptLine], time: str) -> str:
    """Their lines, as JSON."""
    for each in attempts:
        each.time = time
    return _encode_lines(attempts).decode()[:-1]


def text_lines(attempts: Sequence[AttemptLine], time: str) -> str:
    """Their lines, for people."""
    return "\n".join(
        escaped_line(
            f"{time} info {each.message} tenant={each.tenant} workflowId={each.workflow_id} "
            f"instanceId={each.instance_id} stepName={each.step_name} attempt={each.attempt} "
            f"durationMs={each.duration_ms}"
        )
        for each in attempts
    )
