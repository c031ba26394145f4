"""Search terms of instances: values as texts that are equal exactly if the values are."""

from __future__ import annotations

from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from tenuto.model.json import JSON

LONGEST: Final = 400
"""Bytes; a longer text is indexed by its hash, since databases bound the length of index keys."""
MOST_DEPTH: Final = 32
"""How deeply arrays and objects may be nested in a searchable value."""

LARGEST: Final = 16_384
"""Bytes of JSON; a larger value is not searchable, since hashing it would delay other instances."""
_SMALLEST_MEMBER: Final = 4
"""The fewest bytes of a member of an object, such as `"":1`."""

_encode = msgspec.json.Encoder().encode


class SearchTerm(NamedTuple):
    """The name of a variable, or a path such as `input.orderId`, and its value."""

    name: str
    value: str


def term_of(name: str, value: JSON) -> SearchTerm | None:
    """The search term of a value; None if it is too large or nested too deeply.

    As in JSON 1 is 1.0, and true is not 1. Arrays are equal when their items are, in their order;
    objects when the same names have equal values, in any order.
    """
    text = _Text()
    try:
        text.write(value, MOST_DEPTH)
    except _NotLookedFor:
        return None
    return SearchTerm(_bounded(name), _bounded("".join(text.parts)))


def mark_of(kind: str, name: str = "") -> SearchTerm:
    """A term by which instances of any workflow are found.

    No path begins as it does: it is the term of no variable.
    """
    return SearchTerm(_bounded(f"@{kind}:{name}" if name else f"@{kind}"), "")


class _NotLookedFor(Exception):
    """The value is not searchable."""


class _Text:
    """Writes a value as text; stops as soon as the text is too long, however large the value is."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._room = LARGEST

    def write(self, value: JSON, depth: int) -> None:
        match value:
            case str():
                self._require(len(value))
                encoded = _encode(value)
                self._put(encoded.decode(), len(encoded))
            case None | bool():
                self._put({None: "null", True: "true", False: "false"}[value])
            case int():
                self._put(str(value))
            case float():
                # The whole number that it stands for, which an int may be too.
                self._put(str(int(value)) if value.is_integer() else repr(value))
            case _ if not depth:
                raise _NotLookedFor
            case dict():
                # Checked before they are sorted, since sorting many takes long.
                self._require(_SMALLEST_MEMBER * len(value))
                lead = "{"
                # Sorted by name, so that the order in the object does not matter.
                for name in sorted(value):
                    self._put(lead)
                    self.write(name, 0)
                    self._put(":")
                    self.write(value[name], depth - 1)
                    lead = ","
                self._put("}" if value else "{}")
            case _:
                # A list; what a program in process gave may be a tuple until it is read again.
                lead = "["
                for item in value:
                    self._put(lead)
                    self.write(item, depth - 1)
                    lead = ","
                self._put("]" if value else "[]")

    def _put(self, text: str, size: int | None = None) -> None:
        self._require(len(text) if size is None else size)
        self._room -= len(text) if size is None else size
        self.parts.append(text)

    def _require(self, size: int) -> None:
        if size > self._room:
            raise _NotLookedFor


def _bounded(text: str) -> str:
    encoded = text.encode()
    if len(encoded) <= LONGEST and "\0" not in text:  # which not every database keeps
        return text
    return f"sha256:{sha256(encoded).hexdigest()}"
