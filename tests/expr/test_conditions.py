"""A split condition decides as the whole one does, and its index never loses a match."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from tenuto.expr import (
    ExpressionError,
    Miss,
    SplitCondition,
    Steps,
    Value,
    canonical,
    compile_expression,
    event_term_values,
    split_condition,
)
from tests.kit.breadth import breadth


def opened(source: str, **ctx: object) -> tuple[SplitCondition, list[Any]]:
    """The condition as it is after its wait was stored and read again."""
    split = split_condition(source)
    captured: list[Any] = json.loads(json.dumps(split.capture({"ctx": ctx}), allow_nan=False))
    return split, captured


def test_the_seed_condition_is_one_look_up() -> None:
    split, captured = opened(
        "event.payload.orderId === ctx.input.orderId", input={"orderId": "o-1"}
    )
    assert split.term_paths == ("payload.orderId",)
    assert [each.source for each in split.captures] == ["ctx.input.orderId"]
    assert captured == [{"v": "o-1"}]
    event = {"payload": {"orderId": "o-1"}}
    assert split.term_values(captured, Steps()) == split.event_values(event, Steps()) == ('"o-1"',)
    assert event_term_values(event, ["payload.orderId"], Steps()) == ('"o-1"',)
    assert split.matches(event, captured, Steps())
    assert not split.matches({"payload": {"orderId": "o-2"}}, captured, Steps())


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        ("event.a === 1 && ctx.b === event.b.c && ctx.x", ("a", "b.c")),
        ("(event.a === 1 && event.b === 2) && event.c > 3", ("a", "b")),
        ("event.a == ctx.x", ("a ==",)),
        ("event.a === ctx.x || event.b === 1", ()),
        ("!(event.a === ctx.x)", ()),
        ("event.a !== ctx.x", ()),
        ("event.a === undefined && event.b === 1", ("b",)),
        ("event.a === event.b", ()),
        ("event === ctx.x", ()),
        ("event.a.trim() === ctx.x", ()),
        ("event['a.b'] === ctx.x", ()),
        ("event.a === ctx.x ? true : false", ()),
        ("(event.a === 1) === ctx.x", ()),
        ("event.list.some(x => x === ctx.x)", ()),
        ("ctx.list.some(x => event.a === x)", ()),
    ],
)
def test_only_terms_that_must_hold_are_indexed(source: str, paths: tuple[str, ...]) -> None:
    assert split_condition(source).term_paths == paths


@pytest.mark.parametrize(
    ("source", "captures"),
    [
        ("event.a === ctx.x + 1 && ctx.y", ["ctx.x + 1", "ctx.y"]),
        ("event.a === ctx.x || event.b === ctx.x", ["ctx.x"]),
        ("event.list.some(x => x.id === ctx.id)", ["ctx.id"]),
        ("ctx.list.filter(x => x > 1).includes(event.a)", ["ctx.list.filter(x => x > 1)"]),
        ("ctx.list.some(x => x === event.a)", ["ctx.list"]),
        ("[ctx.a, 1, event.b].length > 2", ["ctx.a"]),
        ("event.a === 'literal' && true", []),
        ("ctx.ready", ["ctx.ready"]),
        ("{a: ctx.a, b: event.b}.a", ["ctx.a"]),
        ("Math.max(...ctx.list, event.a) > 3", ["ctx.list"]),
    ],
)
def test_the_largest_parts_without_the_event_are_captured(source: str, captures: list[str]) -> None:
    assert [each.source for each in split_condition(source).captures] == captures


def test_the_instances_side_is_evaluated_once() -> None:
    split, captured = opened("event.a === ctx.x", x=1)
    assert split.matches({"a": 1}, captured, Steps())
    # Whatever becomes of ctx later, the condition holds what it was when the wait opened.
    assert split.term_values(captured, Steps()) == ("1",)


def test_an_error_is_raised_only_where_it_is_used() -> None:
    split, captured = opened("event.kind === 'b' && event.a === ctx.x.trim()")
    assert list(captured[0]) == ["e"]
    assert split.term_values(captured, Steps()) is None
    assert not split.matches({"kind": "a"}, captured, Steps())
    with pytest.raises(ExpressionError, match="has no method `trim`"):
        split.matches({"kind": "b", "a": 1}, captured, Steps())


def test_undefined_cannot_be_indexed() -> None:
    split, captured = opened("event.a === ctx.x")
    assert captured == [{"u": True}]
    assert split.term_values(captured, Steps()) is None
    assert split.matches({}, captured, Steps())


@pytest.mark.parametrize(
    "source",
    [
        "!(event.a > ctx.missing * 1)",
        "[undefined, ctx.missing].includes(event.a)",
        "[NaN, ctx.missing * 1].includes(event.b * 1)",
        "1 / (ctx.zero * -1) === -Infinity && !event.a",
        "{x: ctx.missing}.hasOwnProperty(event.key)",
        "{x: [ctx.missing, {y: 0 / 0}]}.x[event.one].y !== 0",
    ],
)
def test_what_json_has_no_word_for_survives_being_stored(source: str) -> None:
    event = {"key": "x", "one": 1}
    split, captured = opened(source, zero=0)
    assert compile_expression(source).truthy({"ctx": {"zero": 0}, "event": event})
    assert split.matches(event, captured, Steps())


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1.0, True),
        (0, -0.0, True),
        (1, "1", False),
        (1, True, False),
        (None, "null", False),
        (2**53, 2**53 + 1, False),
        (1e300, int(1e300), True),
        (0.1, 0.1, True),
        ("a" * 999, "a" * 999, True),
        ("a" * 999, "a" * 998, False),
        ("é", "e\u0301", False),
        ("\u2028", '"', False),
        ([1], [1], True),
    ],
)
def test_equal_values_have_equal_texts(a: Value, b: Value, same: bool) -> None:
    assert (canonical(a) == canonical(b)) is same
    assert len(canonical(a)) <= 202


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-3, max_value=3),
    st.sampled_from([2**53, 2**53 + 1, -(2**60), 1e300, 0.5, -0.0, 1.0, 2.0**53, 10**400]),
    st.sampled_from(["", "0", "1", " 1 ", "1.0", "0.5", "true", "null", "a", "a" * 300, "1e300"]),
    st.sampled_from(
        ["9007199254740993", "9007199254740992", "[object Object]", "1,2", "NaN", "0x1"]
    ),
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2), max_leaves=3)
values = st.one_of(values, st.just({}), st.just({"a": 1}))
conditions = st.sampled_from(
    [
        "event.a === ctx.x",
        "event.a == ctx.x",
        "ctx.x == event.a && event.b === ctx.y",
        "event.a === ctx.x && (event.b == ctx.y || true)",
        "event.b == [ctx.x] && event.a == 1",
        "event.a === (ctx.x ?? 1) && event.b == 'a'",
        "event.a == ctx.x + '' && event.b == +ctx.y",
        "event.a.length === ctx.x && event.b === null",
    ]
)


@pytest.mark.slow
@settings(max_examples=breadth(400, 5000))
@given(source=conditions, a=values, b=values, x=values, y=values)
@example(source="event.a == ctx.x", a=[1], b=None, x="1", y=None)
@example(source="event.a == ctx.x", a="1", b=None, x=True, y=None)
def test_a_match_is_always_found_by_the_index(
    source: str, a: Value, b: Value, x: Value, y: Value
) -> None:
    split, captured = opened(source, x=x, y=y)
    _is_sound(split, captured, {"a": a, "b": b})
    # A pair drawn at random is seldom equal, so every value also meets itself.
    _is_sound(*opened(source, x=a, y=b), {"a": a, "b": b})


def _is_sound(split: SplitCondition, captured: list[Any], event: dict[str, Any]) -> None:
    try:
        matched = split.matches(event, captured, Steps())
    except ExpressionError:
        return
    mine = split.term_values(captured, Steps())
    assert split.event_values(event, Steps()) == event_term_values(event, split.term_paths, Steps())
    if matched and mine is not None:
        assert split.event_values(event, Steps()) == mine


@pytest.mark.slow
@settings(max_examples=breadth(250, 3000))
@given(source=conditions, a=values, b=values, x=scalars, y=scalars)
def test_a_split_condition_decides_as_the_whole_one(
    source: str, a: Value, b: Value, x: Value, y: Value
) -> None:
    event = {"a": a, "b": b}
    split, captured = opened(source, x=x, y=y)
    try:
        whole: object = compile_expression(source).truthy({"ctx": {"x": x, "y": y}, "event": event})
    except ExpressionError:
        whole = None
    try:
        parted: object = split.matches(event, captured, Steps())
    except ExpressionError:
        parted = None
    assert parted == whole


def test_a_near_miss_names_the_parts_that_were_false() -> None:
    source = "event.id === ctx.id && event.amount >= ctx.total && event.name.trim() && ctx.ready"
    split, captured = opened(source, id=1, total=9, ready=True)
    assert split.misses({"id": 1, "amount": 5}, captured, Steps()) == [
        Miss("event.amount >= ctx.total", 5, 9, operator=">="),
        Miss(
            "event.name.trim()",
            error="undefined has no method `trim`. Write `?.trim(…)` if it may be missing.",
        ),
    ]
    assert split.misses({"amount": 10, "name": "x"}, captured, Steps()) == [
        Miss("event.id === ctx.id", None, 1, operator="===")
    ]
    assert split.misses({"id": 1, "amount": 10, "name": "x"}, captured, Steps()) == []


def test_numbers_beyond_all_digits_are_still_texts() -> None:
    assert canonical(math.inf) == "inf"
    assert len(canonical(10**4000)) < 100
