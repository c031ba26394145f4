"""What a value must be to leave an expression: finite, well-formed JSON of bounded size."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import isfinite

from tenuto.expr.bounds import DATA_DEPTH, INTEGER_BITS, RESULT_BYTES
from tenuto.expr.coerce import host_value
from tenuto.expr.errors import ExpressionError
from tenuto.expr.numerals import number_text
from tenuto.expr.values import UNDEFINED, Lazy, Operand, Undefined, Value

# The bytes that a number, a literal, a comma or a pair of brackets counts for.
_SMALL = 4


def leave(value: Operand) -> Value | Undefined:
    """The value as JSON, or UNDEFINED.

    As in `JSON.stringify`, undefined is left out of objects and null in arrays. What needs no
    change is not copied: the result may share lists and objects with the scope.
    """
    return leave_measured(value)[0]


def leave_measured(value: Operand) -> tuple[Value | Undefined, int, int]:
    """As `leave`, with about how many bytes the value takes, and how many values it holds."""
    if value is None or type(value) in (bool, Undefined):
        return value, _SMALL, 0  # type: ignore[return-value]
    if type(value) in _CONTAINERS and (plain := _plain_size(value)) is not None:
        return value, *plain  # type: ignore[return-value]
    leaving = _Leaving(keeps_special=False)
    left: Value | Undefined = leaving.left(value, 0)  # type: ignore[assignment]
    return left, leaving.size, leaving.values


_CONTAINERS: set[type] = {list, dict}
_PLAIN: set[type] = {*_CONTAINERS, str, int, float, bool, type(None)}


def _plain_size(value: Operand) -> tuple[int, int] | None:
    """How many bytes and values a value has that leaves as it is; None: a walk has to tell.

    All values of a depth are looked at together, since a megabyte has hundreds of thousands of
    them: one by one they would delay all that the process does.
    """
    size, values = _SMALL, 0
    level: list[Operand] = [value]
    for _ in range(DATA_DEPTH):
        objects = [each for each in level if type(each) is dict]
        inner = list(chain.from_iterable([each for each in level if type(each) is list]))
        inner += chain.from_iterable([each.values() for each in objects])
        of_names = _text_size(list(chain.from_iterable(objects)))
        of_values = _size_of_all(inner)
        if of_names is None or of_values is None:
            return None
        size += of_names + of_values
        values += len(inner)
        if size > RESULT_BYTES:
            return None
        level = [each for each in inner if type(each) in _CONTAINERS]
        if not level:
            return size, values
    return None


def _size_of_all(values: list[Operand]) -> int | None:
    """The bytes of values, without what is in containers; None where one may not leave."""
    kinds = set(map(type, values))
    if not kinds <= _PLAIN:
        return None
    size = _SMALL * len(values)
    if str in kinds:
        of_text = _text_size([each for each in values if type(each) is str])
        if of_text is None:
            return None
        size += of_text
    if int in kinds:
        numbers = [each for each in values if type(each) is int]
        if max(map(int.bit_length, numbers)) > INTEGER_BITS:
            return None
    if float in kinds:
        # Zero may be one with a sign, which leaves without it.
        fractions = [each for each in values if type(each) is float]
        if not (all(fractions) and all(map(isfinite, fractions))):
            return None
    return size


def _text_size(texts: list[str]) -> int | None:
    """The bytes of texts; None where one of them may not leave."""
    try:
        together = "".join(texts)
    except TypeError:
        return None
    if "\0" in together:
        return None
    if together.isascii():
        return len(together)
    try:
        # Two halves of a surrogate pair that came together would look like a whole one.
        return sum([len(each.encode()) for each in texts])
    except UnicodeEncodeError:
        return None


def set_aside(value: Operand) -> Operand:
    """The value without anything lazy, but with undefined, NaN and infinities still in it."""
    return _Leaving(keeps_special=True).left(value, 0)


class _Leaving:
    """One walk over one value, which counts down what may still leave."""

    __slots__ = ("_keeps_special", "_room", "values")

    def __init__(self, *, keeps_special: bool) -> None:
        self._room = RESULT_BYTES
        self._keeps_special = keeps_special
        self.values = 0
        """How many items and fields were looked at."""

    @property
    def size(self) -> int:
        return RESULT_BYTES - self._room

    def left(self, value: Operand, depth: int) -> Operand:
        self._take(_SMALL)
        if type(value) is str:
            self._check_text(value)
            return value
        if value is None or type(value) in (bool, Undefined):
            return value
        if type(value) is int or type(value) is float:
            return self._number(value)
        if depth >= DATA_DEPTH:
            raise ExpressionError(f"the result is nested more than {DATA_DEPTH} deep")
        if type(value) is list:
            return self._list(value, depth)
        if type(value) is dict:
            return self._object(value, depth)
        if isinstance(value, Lazy):
            return self._object({key: value.get(key) for key in value.keys()}, depth)  # noqa: SIM118
        raise host_value(value)

    def _number(self, value: float) -> Operand:
        if isinstance(value, int):
            if value.bit_length() > INTEGER_BITS:
                raise ExpressionError("the result is an integer that is too large to write out")
            return value
        if self._keeps_special:
            return value
        if not isfinite(value):
            raise ExpressionError(f"the result is {number_text(value)}, which is not a JSON value")
        return value or 0

    def _list(self, values: list[Operand], depth: int) -> Operand:
        self.values += len(values)
        result = [self.left(value, depth + 1) for value in values]
        if not self._keeps_special:
            result = [None if value is UNDEFINED else value for value in result]
        return result if _changed(result, values) else values

    def _object(self, value: dict[str, Operand], depth: int) -> Operand:
        self.values += len(value)
        result: dict[str, Operand] = {}
        for key, each in value.items():
            if each is UNDEFINED and not self._keeps_special:
                continue
            self._check_text(key)
            result[key] = self.left(each, depth + 1)
        same = len(result) == len(value) and not _changed(result.values(), value.values())
        return value if same else result

    def _check_text(self, text: str) -> None:
        if "\0" in text:
            raise ExpressionError("the result holds a NUL character")
        try:
            size = len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError:
            raise ExpressionError("the result holds half a surrogate pair") from None
        self._take(size)

    def _take(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise ExpressionError(f"the result is larger than {RESULT_BYTES:,} bytes")


def _changed(new: Iterable[Operand], old: Iterable[Operand]) -> bool:
    return any(a is not b for a, b in zip(new, old, strict=True))
