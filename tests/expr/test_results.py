"""Large results are looked at by the depth, and come out as if looked at one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from tenuto.expr import UNDEFINED, ExpressionError
from tenuto.expr.bounds import DATA_DEPTH, INTEGER_BITS, RESULT_BYTES
from tenuto.expr.frame import Frame
from tenuto.expr.results import Leaving, leave

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=8),
    st.just(UNDEFINED),
    st.just("\0"),
)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(st.characters(), max_size=4), inner, max_size=5)
    ),
    max_leaves=20,
)


def one_by_one(value: Any) -> object:  # noqa: ANN401
    leaving = Leaving(Frame({}), keeps_special=False)
    try:
        left = leaving.left(value, 0)
    except ExpressionError as error:
        return error.message
    return repr(left), leaving.size


def together(value: Any) -> object:  # noqa: ANN401
    try:
        left, size = leave(Frame({}), value)
    except ExpressionError as error:
        return error.message
    return repr(left), size


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@given(_VALUES)
@example([0.0, -0.0])
@example([float("nan")])
@example(["\ud83d", "\ude00"])
@example({"\ud83d": "\ude00"})
@example([UNDEFINED, {"a": UNDEFINED}])
@example([1 << 13_999])
@example(nested(DATA_DEPTH))
@example(nested(DATA_DEPTH + 1))
def test_a_result_is_the_same_looked_at_together_or_one_by_one(value: Any) -> None:  # noqa: ANN401
    if isinstance(value, list | dict):
        assert together(value) == one_by_one(value)


@pytest.mark.parametrize("over", [0, 1])
def test_the_bound_of_bytes_is_the_same(over: int) -> None:
    value = ["a" * (RESULT_BYTES - 8 + over)]
    assert together(value) == one_by_one(value)
    assert isinstance(together(value), str) is bool(over)


def test_an_integer_that_is_too_large_is_refused_in_a_list_too() -> None:
    value = [1 << INTEGER_BITS]
    assert together(value) == one_by_one(value)
