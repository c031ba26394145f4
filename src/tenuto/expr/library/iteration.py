"""The methods of arrays that take an arrow function."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key
from typing import Final

from tenuto.expr import utf16
from tenuto.expr.bounds import CHARACTERS_PER_STEP
from tenuto.expr.coerce import to_number, to_text, truthy
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.library.calling import Arguments, Callback, IterationOf, MethodOf
from tenuto.expr.values import UNDEFINED, Operand


def map_(frame: Frame, values: list[Operand], call: Callback, _rest: Arguments) -> Operand:
    return [call(frame, value, i, values) for i, value in enumerate(values)]


def filter_(frame: Frame, values: list[Operand], call: Callback, _rest: Arguments) -> Operand:
    return [value for i, value in enumerate(values) if truthy(call(frame, value, i, values))]


def some(frame: Frame, values: list[Operand], call: Callback, _rest: Arguments) -> Operand:
    return any(truthy(call(frame, value, i, values)) for i, value in enumerate(values))


def every(frame: Frame, values: list[Operand], call: Callback, _rest: Arguments) -> Operand:
    return all(truthy(call(frame, value, i, values)) for i, value in enumerate(values))


def _first(
    frame: Frame, values: list[Operand], call: Callback, indexes: Iterable[int]
) -> int | None:
    return next((i for i in indexes if truthy(call(frame, values[i], i, values))), None)


def find(frame: Frame, values: list[Operand], call: Callback, _rest: Arguments) -> Operand:
    index = _first(frame, values, call, range(len(values)))
    return UNDEFINED if index is None else values[index]


def find_index(frame: Frame, values: list[Operand], call: Callback, _rest: Arguments) -> Operand:
    index = _first(frame, values, call, range(len(values)))
    return -1 if index is None else index


def find_last(frame: Frame, values: list[Operand], call: Callback, _rest: Arguments) -> Operand:
    index = _first(frame, values, call, reversed(range(len(values))))
    return UNDEFINED if index is None else values[index]


def find_last_index(
    frame: Frame, values: list[Operand], call: Callback, _rest: Arguments
) -> Operand:
    index = _first(frame, values, call, reversed(range(len(values))))
    return -1 if index is None else index


def flat_map(frame: Frame, values: list[Operand], call: Callback, _rest: Arguments) -> Operand:
    result: list[Operand] = []
    for i, value in enumerate(values):
        mapped = call(frame, value, i, values)
        added = mapped if type(mapped) is list else [mapped]
        frame.pay(len(added))
        result += added
    return result


def _reduced(
    frame: Frame, values: list[Operand], call: Callback, rest: Arguments, order: list[int]
) -> Operand:
    if rest:
        total = rest[0]
    elif order:
        total = values[order.pop(0)]
    else:
        raise ExpressionError("`reduce` of an empty array needs a first value")
    for i in order:
        total = call(frame, total, values[i], i, values)
    return total


def reduce(frame: Frame, values: list[Operand], call: Callback, rest: Arguments) -> Operand:
    frame.pay(len(values))
    return _reduced(frame, values, call, rest, list(range(len(values))))


def reduce_right(frame: Frame, values: list[Operand], call: Callback, rest: Arguments) -> Operand:
    frame.pay(len(values))
    return _reduced(frame, values, call, rest, list(reversed(range(len(values)))))


def sort_by(frame: Frame, values: list[Operand], call: Callback, _rest: Arguments) -> Operand:
    def order(a: Operand, b: Operand) -> float:
        result = to_number(frame, call(frame, a, b))
        return result if result == result else 0

    frame.pay(len(values))
    # Undefined is never handed to the arrow function and comes last, as in JavaScript.
    defined = [value for value in values if value is not UNDEFINED]
    last = [UNDEFINED] * (len(values) - len(defined))
    return [*sorted(defined, key=cmp_to_key(order)), *last]  # type: ignore[arg-type]


def sort(frame: Frame, values: list[Operand], _arguments: Arguments) -> Operand:
    frame.pay(len(values))
    defined = [value for value in values if value is not UNDEFINED]
    texts = [to_text(frame, value) for value in defined]
    # Every text is compared with about log2(n) others.
    characters = sum(map(len, texts)) // CHARACTERS_PER_STEP
    frame.pay(characters * len(values).bit_length())
    ascending = sorted(range(len(defined)), key=lambda i: utf16.sort_key(texts[i]))
    return [*(defined[i] for i in ascending), *[UNDEFINED] * (len(values) - len(defined))]


ITERATIONS: Final[dict[str, IterationOf]] = {
    "every": every,
    "filter": filter_,
    "find": find,
    "findIndex": find_index,
    "findLast": find_last,
    "findLastIndex": find_last_index,
    "flatMap": flat_map,
    "map": map_,
    "reduce": reduce,
    "reduceRight": reduce_right,
    "some": some,
    "sort": sort_by,
    "toSorted": sort_by,
}
"""Methods called with an arrow function first."""

UNGUIDED: Final[dict[str, MethodOf]] = {"sort": sort, "toSorted": sort}
"""Those of them that can also go without."""
