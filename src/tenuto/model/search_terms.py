"""Values by which instances are found, as text: equal values have equal texts, and no others do."""

from __future__ import annotations

from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from tenuto.model.json import JSON

LONGEST: Final = 400
"""Bytes; a longer text goes in by its hash, since databases bound the length of what they index."""
MOST_DEPTH: Final = 32
"""How deeply arrays and objects may be nested in a value that instances are found by."""

_encode = msgspec.json.Encoder().encode


class SearchTerm(NamedTuple):
    """The name of a variable, or a path such as `input.orderId`, and its value."""

    name: str
    value: str


def term_of(name: str, value: JSON) -> SearchTerm | None:
    """What finds instances whose variable has this value; None where it is nested too deeply.

    As in JSON 1 is 1.0, and true is not 1. Arrays are equal when their items are, in their order;
    objects when the same names have equal values, in any order.
    """
    try:
        return SearchTerm(_bounded(name), _bounded(_text(value, MOST_DEPTH)))
    except _TooDeep:
        return None


class _TooDeep(Exception):
    """Nobody looks for such a value."""


def _text(value: JSON, depth: int) -> str:
    match value:
        case str():
            return _encode(value).decode()
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case int():
            return str(value)
        case float():
            # The whole number that it stands for, which an int may be too.
            return str(int(value)) if value.is_integer() else repr(value)
        case _ if not depth:
            raise _TooDeep
        case dict():
            # In the order of their names, whoever wrote them in which.
            names = sorted(value)
            members = (f"{_text(name, 0)}:{_text(value[name], depth - 1)}" for name in names)
            return f"{{{','.join(members)}}}"
        case _:
            # A list; what a program in process gave may be a tuple until it is read again.
            return f"[{','.join(_text(item, depth - 1) for item in value)}]"


def _bounded(text: str) -> str:
    encoded = text.encode()
    if len(encoded) <= LONGEST and "\0" not in text:  # which not every database keeps
        return text
    return f"sha256:{sha256(encoded).hexdigest()}"
