"""One value of an instance's context, without working out the others."""

from __future__ import annotations

from tenuto.core import InstanceState, Plan
from tenuto.core.searchable import seen_at
from tenuto.expr import ExpressionSyntaxError, Lazy, Undefined
from tenuto.expr.paths import parse_path
from tenuto.model.errors import InvalidInput, NotFound, Problem
from tenuto.model.json import JSON


def value_at(plan: Plan, state: InstanceState, path: str) -> JSON:
    """The value at a path below `ctx`; NotFound where nothing is there."""
    value = seen_at(plan, state, _keys(path))
    if isinstance(value, Undefined):
        raise NotFound(
            f"the context has nothing at {path}",
            advice="`/context` shows all that it has.",
        )
    assert not isinstance(value, Lazy)
    return value


def _keys(path: str) -> tuple[str | int, ...]:
    try:
        return parse_path(path)
    except ExpressionSyntaxError as error:
        problem = Problem(
            code="TEN-2031",
            path="$.path",
            message=str(error),
            advice="Write names and indexes, such as `reservation.items[0].id`.",
        )
        raise InvalidInput("that is not a path", [problem]) from None
