"""One value of an instance's context, without working out the others."""

from __future__ import annotations

from tenuto.core import InstanceState, Plan
from tenuto.core.scope import Context, Sight
from tenuto.expr import UNDEFINED, ExpressionSyntaxError, Lazy, Undefined
from tenuto.expr.paths import parse_path
from tenuto.model.errors import InvalidInput, NotFound, Problem
from tenuto.model.json import JSON


def value_at(plan: Plan, state: InstanceState, path: str) -> JSON:
    """The value at a path below `ctx`; NotFound where nothing is there."""
    value: object = Context(Sight(plan, state, None, {}))
    for key in _keys(path):
        value = _inside(value, key)
        if isinstance(value, Undefined):
            raise NotFound(
                f"the context has nothing at {path}",
                advice="`/context` shows all that it has.",
            )
    assert not isinstance(value, Lazy)
    return value  # type: ignore[return-value]


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


def _inside(value: object, key: str | int) -> object:
    if isinstance(value, Lazy):
        return value.get(str(key))
    if isinstance(value, dict):
        return value.get(str(key), UNDEFINED)
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return UNDEFINED
