"""A set node: computes variables in the decision that begins it."""

from __future__ import annotations

from tenuto.core.deciding import Deciding
from tenuto.core.outcome import complete, expression_failure, fail
from tenuto.core.state import attempt_of
from tenuto.expr import ExpressionError
from tenuto.model.failure import TOO_LARGE, Failure
from tenuto.model.graph import SetValues
from tenuto.model.ids import NodeKey
from tenuto.model.json import Object, size_of


def begin(d: Deciding, key: NodeKey, config: SetValues) -> None:
    """Evaluate all values in the context as it is, and complete with them."""
    attempt = attempt_of(d.state, key)
    try:
        rendered = d.plan.template(key.node, "values", config.values).render(d.scope(key))
    except ExpressionError as error:
        fail(d, key, attempt, expression_failure(error))
        return
    assert isinstance(rendered, dict)  # a template of an object
    # An undefined value is null: a variable of that name must not keep its value from before.
    values: Object = {name: rendered.get(name) for name in config.values}
    most = d.plan.limits.output_bytes
    if (size := size_of(values)) > most:
        message = f"the values have {size:,} bytes, more than the limit of {most:,}"
        fail(d, key, attempt, Failure(code=TOO_LARGE, message=message, retryable=False))
        return
    complete(d, key, values, variables=values)
