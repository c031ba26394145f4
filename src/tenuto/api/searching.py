"""Values of variables, as a query spells them."""

from __future__ import annotations

import msgspec

from tenuto.api.request_parser import WRONG_FIELD
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import Object


def read_variables(text: str) -> Object:
    """The values that are asked for, by the names of variables; InvalidInput."""
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
