"""Captured values of a condition, encoded as JSON until its event arrives.

{"v": value}                         a JSON value
{"v": value, "s": [[path, name]]}    one that holds, at these places, what JSON has no word for
{"u": true}                          undefined
{"e": message}                       an error, raised when the value is used
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any, Final

from tenuto.expr.bounds import RESULT_BYTES
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.identity import mark
from tenuto.expr.numerals import number_text
from tenuto.expr.values import UNDEFINED, Operand

_SPECIAL: Final[dict[str, Operand]] = {
    "undefined": UNDEFINED,
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
    "-0": -0.0,
}


_PART_OF_A_PLACE: Final = 4
"""The bytes that a key or an index of such a place counts for."""


def captured_in(frame: Frame, index: int) -> Operand:
    """The value of a capture; one that has to be put together is so once in an evaluation."""
    captured = frame.captured[index]
    if "s" not in captured:
        return decoded(captured)
    value = decoded(captured)
    frame.captured = [{"v": value} if i == index else each for i, each in enumerate(frame.captured)]
    return value


def decoded(captured: Any) -> Operand:  # noqa: ANN401
    """The captured value of `encoded`."""
    if "u" in captured:
        return UNDEFINED
    if "e" in captured:
        raise ExpressionError(captured["e"])
    value: Operand = captured["v"]
    if "s" not in captured:
        return value
    # Only what is on the way to such a place is copied, and that once.
    holder: list[Operand] = [value]
    copied: set[int] = set()
    for path, name in captured["s"]:
        place: Any = holder
        way = [0, *path]
        for key in way[:-1]:
            inner = place[key]
            if mark(inner) not in copied:
                inner = place[key] = inner.copy()
                copied.add(mark(inner))
            place = inner
        place[way[-1]] = _SPECIAL[name]
    return holder[0]


def encoded(frame: Frame, value: Operand, plain: Container[int] | None) -> dict[str, Any]:
    """A value, as `set_aside` leaves it, as JSON."""
    if value is UNDEFINED:
        return {"u": True}
    if plain is None:
        return {"v": value}
    encoding = _Encoding(frame, plain)
    found = encoding.plain(value)
    return {"v": found, "s": encoding.special} if encoding.special else {"v": found}


class _Encoding:
    """One walk over one value, which notes the places of what JSON has no word for."""

    __slots__ = ("_frame", "_path", "_plain", "_room", "special")

    def __init__(self, frame: Frame, plain: Container[int]) -> None:
        self._frame = frame
        self._plain = plain
        self._path: list[str | int] = []
        self._room = RESULT_BYTES
        self.special: list[list[Any]] = []

    def plain(self, value: Operand) -> Any:  # noqa: ANN401
        """The value with null in these places."""
        if type(value) is not list and type(value) is not dict:
            return self._scalar(value)
        if mark(value) in self._plain:
            return value
        self._frame.values += len(value)
        if isinstance(value, dict):
            return {key: self._at(key, each) for key, each in value.items()}
        return [self._at(i, each) for i, each in enumerate(value)]

    def _at(self, key: str | int, value: Operand) -> Any:  # noqa: ANN401
        self._path.append(key)
        found = self.plain(value)
        self._path.pop()
        return found

    def _scalar(self, value: Operand) -> Any:  # noqa: ANN401
        name = special_name(value)
        if name is None:
            return value
        # A value that is shared has a place each time, which may be much longer than itself.
        self._room -= len(name) + sum(map(_size_of_part, self._path))
        if self._room < 0:
            raise ExpressionError(f"the result is larger than {RESULT_BYTES:,} bytes")
        self.special.append([self._path.copy(), name])
        return None


def _size_of_part(part: str | int) -> int:
    return _PART_OF_A_PLACE + (len(part) if type(part) is str else 0)


def special_name(value: Operand) -> str | None:
    """The name of a value that JSON has no word for."""
    if value is UNDEFINED:
        return "undefined"
    if type(value) is float and (not math.isfinite(value) or (value == 0 and str(value) == "-0.0")):
        return "-0" if value == 0 else number_text(value)
    return None
