"""What a task, or a child, is given."""

from __future__ import annotations

from tenuto.core.deciding import Deciding
from tenuto.expr import Undefined
from tenuto.model.graph import SubWorkflow, Task
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON


def render_input(d: Deciding, key: NodeKey, config: Task | SubWorkflow) -> JSON:
    """The input of a step as the context stands; without one of its own, the workflow's."""
    if not config.has_input:
        return d.state.input
    value = d.plan.template(key.node, "input", config.input).render(d.scope(key))
    return None if isinstance(value, Undefined) else value
