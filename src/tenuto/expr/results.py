"""What a value must be to leave an expression: finite, well-formed JSON of bounded size."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import isfinite
from operator import is_not
from typing import NamedTuple

from tenuto.expr.bounds import DATA_DEPTH, INTEGER_BITS, RESULT_BYTES
from tenuto.expr.capture import special_name
from tenuto.expr.coerce import host_value
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.identity import has_twice, mark
from tenuto.expr.numerals import number_text
from tenuto.expr.values import UNDEFINED, Lazy, Operand, Undefined, Value

# Containers up to this long are walked again where they are shared: that takes no longer than to
# find out that they are known.
_SHORT = 8
# In a value that is walked, longer containers of its first depths are looked at together.
_LONG = 100
_FIRST_DEPTHS = 2
# Texts below this length are within all bounds.
_SIMPLE = 1_000
# The bytes that a number, a literal, a comma or a pair of brackets counts for.
_SMALL = 4


def leave(frame: Frame, value: Operand) -> tuple[Value | Undefined, int]:
    """The value as JSON, or UNDEFINED, and about how many bytes it takes.

    As in `JSON.stringify`, undefined is left out of objects and null in arrays. What needs no
    change is not copied: the result may share lists and objects with the scope. The values that
    were looked at are counted in the frame, also where the value may not leave.
    """
    if (size := _size_as_it_is(frame, value)) is not None:
        return value, size  # type: ignore[return-value]
    leaving = Leaving(frame, keeps_special=False)
    left: Value | Undefined = leaving.left(value, 0)  # type: ignore[assignment]
    leaving.count()
    return left, leaving.size


_CONTAINERS: set[type] = {list, dict}
_PLAIN: set[type] = {*_CONTAINERS, str, int, float, bool, type(None)}


def _size_as_it_is(frame: Frame, value: Operand) -> int | None:
    """How many bytes a value has that leaves as it is; None: a walk has to tell."""
    if type(value) is str:
        is_simple = len(value) < _SIMPLE and value.isascii() and "\0" not in value
        return _SMALL + len(value) if is_simple else None
    if type(value) in _CONTAINERS:
        plain = _plain_size(frame, value)
        return None if plain is None else plain.size
    if value is None or type(value) is bool or type(value) is Undefined:
        return _SMALL
    return None


class _Plain(NamedTuple):
    """A list or object that leaves as it is."""

    size: int
    values: int
    height: int


def _plain_size(frame: Frame, value: Operand) -> _Plain | None:
    """How many bytes a value has that leaves as it is; None: a walk has to tell.

    All values of a depth are looked at together, since a megabyte has hundreds of thousands of
    them: one by one they would delay all that the process does. A list or object that a depth has
    twice is left to the walk, which looks at it once: sixty of them are 2^60 values.
    """
    size, values = _SMALL, 0
    level: list[Operand] = [value]
    try:
        for height in range(DATA_DEPTH):
            objects = [each for each in level if type(each) is dict]
            inner = list(chain.from_iterable([each for each in level if type(each) is list]))
            inner += chain.from_iterable([each.values() for each in objects])
            values += len(inner)
            of_names = _text_size(list(chain.from_iterable(objects)))
            of_values = _size_of_all(inner)
            if of_names is None or of_values is None:
                return None
            size += of_names + of_values
            if size > RESULT_BYTES:
                raise _too_large()
            level = [each for each in inner if type(each) in _CONTAINERS]
            if not level:
                return _Plain(size, values, height)
            if has_twice(level):
                return None
        return None
    finally:
        frame.values += values


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


class Aside(NamedTuple):
    """A value for use later, which may hold undefined, NaN and infinities."""

    value: Operand
    size: int
    plain: frozenset[int] | None
    """The ids of lists and objects in it that hold none of these; None: it holds none at all."""
    walk: object
    """Keeps the objects of these ids."""


def set_aside(frame: Frame, value: Operand) -> Aside:
    """The value without anything lazy, but with undefined, NaN and infinities still in it."""
    if (size := _size_as_it_is(frame, value)) is not None:
        return Aside(value, size, None, None)
    leaving = Leaving(frame, keeps_special=True)
    left = leaving.left(value, 0)
    leaving.count()
    return Aside(left, leaving.size, leaving.plain, leaving)


class _Known(NamedTuple):
    """A list or object that was walked, and what it came to."""

    value: Operand
    left: Operand
    size: int
    values: int
    height: int
    is_plain: bool


class Leaving:
    """One walk over one value, which counts down what may still leave.

    A list or object that is in the value many times is walked once.
    """

    __slots__ = ("_frame", "_highest", "_keeps_special", "_known", "_room", "_special", "values")

    def __init__(self, frame: Frame, *, keeps_special: bool) -> None:
        self._frame = frame
        self._room = RESULT_BYTES
        self._keeps_special = keeps_special
        self._known: dict[int, _Known] = {}
        self._highest = 0
        """The depth of the deepest container of the one that is being walked."""
        self._special = 0
        """How many values were found that JSON cannot hold."""
        self.values = 0
        """How many items and fields the value has; of a shared list, as often as it is there."""

    @property
    def size(self) -> int:
        return RESULT_BYTES - self._room

    @property
    def plain(self) -> frozenset[int] | None:
        """As in `Aside`."""
        if not self._special:
            return None
        return frozenset(mark(each.left) for each in self._known.values() if each.is_plain)

    def count(self) -> None:
        """Count what is in shared containers too: whoever takes the value meets it each time."""
        self._frame.values = max(self._frame.values, self.values)

    def left(self, value: Operand, depth: int) -> Operand:
        self._take(_SMALL)
        kind = type(value)
        if kind is str:
            self._check_text(value)  # type: ignore[arg-type]
            return value
        if kind is int or kind is float:
            return self._number(value)  # type: ignore[arg-type]
        if value is None or kind is bool:
            return value
        if kind is Undefined:
            self._special += 1
            return value
        return self._container(value, depth)

    def _container(self, value: Operand, depth: int) -> Operand:
        known = self._known.get(mark(value))
        if known is not None and depth + known.height < DATA_DEPTH:
            self._take(known.size)
            self._highest = max(self._highest, depth + known.height)
            self.values += known.values
            self._special += not known.is_plain
            return known.left
        if depth >= DATA_DEPTH:
            raise ExpressionError(f"the result is nested more than {DATA_DEPTH} deep")
        if not value and type(value) in _CONTAINERS:
            self._highest = max(self._highest, depth)
            return value
        around, self._highest = self._highest, depth
        before = self._room, self.values, self._special
        is_plain = 0 < depth <= _FIRST_DEPTHS and self._is_plain(value, depth)
        if is_plain:
            left = value
        elif type(value) is list:
            left = self._list(value, depth)
        else:
            left = self._walked(value, depth)
        if self._highest > depth or self.values - before[1] > _SHORT:
            self._known[mark(value)] = _Known(
                value=value,
                left=left,
                size=before[0] - self._room,
                values=self.values - before[1],
                height=self._highest - depth,
                is_plain=self._special == before[2],
            )
        self._highest = max(around, self._highest)
        return left

    def _is_plain(self, value: Operand, depth: int) -> bool:
        """Whether a long container leaves as it is; it is counted then."""
        if not (isinstance(value, list | dict) and len(value) > _LONG):
            return False
        plain = _plain_size(self._frame, value)
        if plain is None or depth + plain.height >= DATA_DEPTH:
            return False
        self._take(plain.size - _SMALL)
        self._highest = depth + plain.height
        self.values += plain.values
        return True

    def _walked(self, value: Operand, depth: int) -> Operand:
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
            self._special += special_name(value) is not None
            return value
        if not isfinite(value):
            raise ExpressionError(f"the result is {number_text(value)}, which is not a JSON value")
        return value or 0

    def _list(self, values: list[Operand], depth: int) -> Operand:
        self._frame.values += len(values)
        self.values += len(values)
        if len(values) > _SHORT and (size := _size_of_scalars(values)) is not None:
            self._take(size)
            return values
        result = [self.left(value, depth + 1) for value in values]
        if not self._keeps_special and UNDEFINED in result:
            result = [None if value is UNDEFINED else value for value in result]
        return result if _changed(result, values) else values

    def _object(self, value: dict[str, Operand], depth: int) -> Operand:
        self._frame.values += len(value)
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
            raise _too_large()


def _size_of_scalars(values: list[Operand]) -> int | None:
    """The bytes of values if none of them is a container, and all leave as they are."""
    return None if _CONTAINERS & set(map(type, values)) else _size_of_all(values)


def _too_large() -> ExpressionError:
    return ExpressionError(f"the result is larger than {RESULT_BYTES:,} bytes")


def _changed(new: Iterable[Operand], old: Iterable[Operand]) -> bool:
    return any(map(is_not, new, old))
