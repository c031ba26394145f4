"""What could not be done, kept for people with what they need to judge it."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET

from tenuto.core.built_in import task_id_of
from tenuto.core.deciding import Deciding
from tenuto.core.task_input import render_input
from tenuto.expr import ExpressionError
from tenuto.model.effects import KeepDeadLetter
from tenuto.model.failure import EXPRESSION_ERROR, Failure
from tenuto.model.graph import Executed
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON


def keep_dead_letter(
    d: Deciding,
    key: NodeKey,
    attempt: int,
    kind: Literal["task-failed", "poison", "late-result"],
    *,
    error: Failure | None = None,
    output: JSON = None,
) -> None:
    """Order that a task's failure, or a result that came too late, be kept."""
    config = d.plan[key.node].node.config
    if isinstance(config, Executed):
        d.order(
            KeepDeadLetter(
                kind=kind,
                node=key.node,
                iteration=key.iteration,
                attempt=attempt,
                task_id=task_id_of(config),
                input=_input(d, key, config, error),
                error=error,
                output=output,
            )
        )


def _input(d: Deciding, key: NodeKey, config: Executed, error: Failure | None) -> JSON:
    """What the task was given; None where it never got so far, or where it has been let go."""
    node = d.state.nodes[key]
    if node.input is not UNSET:
        return node.input
    is_unmade = error is not None and error.code == EXPRESSION_ERROR
    if is_unmade or key.node not in d.plan.fixed_inputs:
        return None
    try:
        return render_input(d, key, config).value
    except ExpressionError:
        return None
