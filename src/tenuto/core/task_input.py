"""What a task is given."""

from __future__ import annotations

from tenuto.core.deciding import Deciding
from tenuto.expr import Undefined
from tenuto.model.graph import Task
from tenuto.model.json import JSON


def render_input(d: Deciding, node: str, config: Task) -> JSON:
    """The input of a task as the context stands; without one of its own, the workflow's."""
    if not config.has_input:
        return d.state.input
    value = d.plan.template(node, "input", config.input).render(d.scope())
    return None if isinstance(value, Undefined) else value
