"""What no store can keep is found wherever it is, by the look at many values and at one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies

from tenuto.model import json
from tenuto.model.json import json_problem

GOOD: list[Any] = ["x", "é", "💣", 7, -(2**200), 1.5, True, None, [], {}, (1,), {"a": ["b"]}]
BAD: list[Any] = [
    *("a\0", "\ud800", 2**14_050, float("nan"), float("inf"), {1: 2}, {"a\0": 1}, {"\udfff": 1}),
    *(object(), {1, 2}, b"x", [[[float("-inf")]]], {"a": {"b": ("\0",)}}),
]


@pytest.mark.parametrize("beside", [0, 1, 30])
@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_a_value_that_cannot_be_kept_is_found_among_others(bad: object, beside: int) -> None:
    assert json_problem([*GOOD * beside, bad, *GOOD * beside]) is not None
    named: dict[str, object] = {f"k{n}": each for n, each in enumerate(GOOD * beside)}
    assert json_problem(named | {"bad": bad}) is not None


@pytest.mark.parametrize("times", [1, 30])
def test_values_that_can_be_kept_have_no_problem(times: int) -> None:
    assert json_problem(GOOD * times) is None
    assert json_problem({f"k{n}": each for n, each in enumerate(GOOD * times)}) is None


def test_many_values_of_a_kind_are_not_looked_at_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A megabyte has hundreds of thousands, and the loop waits meanwhile."""
    looks = 0

    def counted(value: object) -> bool:
        nonlocal looks
        looks += 1
        return real(value)

    real = json._is_kept
    monkeypatch.setattr(json, "_is_kept", counted)
    monkeypatch.setattr(json, "_first_problem", lambda _: pytest.fail("looked at each"))
    large: list[object] = [[1] * 450_000, ["x"] * 240_000, [{}] * 300_000]
    for many in large:
        assert json_problem(many) is None
    assert looks < 100


values = strategies.recursive(
    strategies.sampled_from(GOOD + BAD) | strategies.text() | strategies.integers(),
    lambda inner: (
        strategies.lists(inner, max_size=40)
        | strategies.dictionaries(strategies.text(), inner, max_size=40)
    ),
    max_leaves=60,
)


@given(values)
def test_the_quick_look_agrees_with_the_close_one(value: object) -> None:
    assert json_problem(value) == json._first_problem(value)
