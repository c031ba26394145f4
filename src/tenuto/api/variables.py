"""Variables of instances: reading one, and reading a filter by their values."""

from __future__ import annotations

import msgspec

from tenuto.api.request_parser import WRONG_FIELD
from tenuto.core import InstanceState, Plan
from tenuto.core.searchable import seen_at
from tenuto.expr import ExpressionSyntaxError, Lazy, Undefined
from tenuto.expr.paths import parse_path
from tenuto.model.errors import InvalidInput, NotFound, Problem
from tenuto.model.json import JSON, Object


def value_at(plan: Plan, state: InstanceState, path: str) -> JSON:
    """The value at a path below `ctx`; NotFound where nothing is there."""
    value = seen_at(plan, state, _keys(path))
    if isinstance(value, Undefined):
        raise NotFound(
            f"the context has no value at {path}",
            advice="`/context` shows all values.",
        )
    assert not isinstance(value, Lazy)
    return value


def read_variables(text: str) -> Object:
    """The filter of a query: values by the names of variables; InvalidInput."""
    try:
        return msgspec.json.decode(text, type=Object)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        problem = Problem(
            code=WRONG_FIELD,
            path="$.variables",
            message="it is not a JSON object",
            advice='Write names and values, such as `{"orderId":7}`, percent-encoded.',
        )
        raise InvalidInput("the query is not valid", [problem]) from None


def _keys(path: str) -> tuple[str | int, ...]:
    try:
        return parse_path(path)
    except ExpressionSyntaxError as error:
        problem = Problem(
            code=WRONG_FIELD,
            path="$.path",
            message=str(error),
            advice="Write names and indexes, such as `reservation.items[0].id`.",
        )
        raise InvalidInput("the path is not valid", [problem]) from None
