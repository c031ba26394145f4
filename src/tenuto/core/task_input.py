"""What a task, or a child, is given."""

from __future__ import annotations

from msgspec import UNSET, Struct

from tenuto.core.built_in import has_own_input
from tenuto.core.deciding import Deciding
from tenuto.core.scope import scope_of
from tenuto.expr import ExpressionError, Undefined
from tenuto.model.graph import Executed, SubWorkflow
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON
from tenuto.model.secret_place import SecretPlace


class GivenInput(Struct, frozen=True, gc=False):
    """The input of an attempt, and the places in it where secrets belong."""

    value: JSON
    secrets: tuple[SecretPlace, ...] = ()


def render_input(d: Deciding, key: NodeKey, config: Executed | SubWorkflow) -> GivenInput:
    """The input of a step as the context stands; without one of its own, the workflow's."""
    work = d.plan.nodes[key.node].work
    if not (has_own_input(config) if work is None else work.has_own_input):
        return GivenInput(d.state.input)
    # What follows from the instance's own input does so also after its iteration is gone.
    seen_from = None if key.node in d.plan.fixed_inputs else key
    scope = scope_of(d.plan, d.state, seen_from, steps=d)
    value, secrets = d.plan.input_template(key.node, config).render_with_secrets(scope)
    return GivenInput(None if isinstance(value, Undefined) else value, secrets)


def known_input(d: Deciding, key: NodeKey, config: Executed) -> GivenInput | None:
    """The input that the attempts of a node had; None: it cannot be made again."""
    node = d.state.nodes[key]
    if node.input is not UNSET:
        return GivenInput(node.input, node.secrets)
    try:
        return render_input(d, key, config)
    except ExpressionError:
        return None
