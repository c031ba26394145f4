"""Looking at a result is counted, and a list that is in it many times is looked at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenuto.expr import (
    UNDEFINED,
    CountedScope,
    ExpressionError,
    Steps,
    compile_expression,
    compile_template,
    split_condition,
)
from tenuto.expr.bounds import FUEL, RESULT_BYTES, TEMPLATE_BYTES

DOUBLED = "ctx.list.reduce((a, b) => [a, a], [1])"
BIG = list(range(200_000))


def doubling(times: int, **more: object) -> dict[str, Any]:
    return {"ctx": {"list": list(range(times)), **more}}


def failed(source: str, scope: dict[str, Any]) -> tuple[str, int]:
    """The message, and the steps that were counted."""
    steps = Steps()
    with pytest.raises(ExpressionError) as caught:
        compile_expression(source).evaluate(CountedScope(scope, steps))
    return caught.value.message, steps.taken


@pytest.mark.parametrize("leaf", ["1", "undefined", "0 / 0", "'a'", "{a: 1}"])
def test_a_value_of_2_to_60_items_is_found_too_large_in_a_few_steps(leaf: str) -> None:
    source = f"ctx.list.reduce((a, b) => [a, a], [{leaf}])"
    message, steps = failed(source, doubling(60))
    assert message.startswith("the result is") or "NaN" in message
    assert steps < 500


def test_a_shared_value_that_may_leave_counts_as_often_as_it_is_there() -> None:
    steps = Steps()
    value = compile_expression(DOUBLED).evaluate(CountedScope(doubling(10), steps))
    assert json.dumps(value).count("1") == 2**10
    assert steps.taken > 2**11


def test_lists_shared_at_different_depths_leave_as_they_are() -> None:
    source = "ctx.list.reduce((a, b) => [a, {a: [a]}, undefined], [0, 1.5])"
    value = compile_expression(source).evaluate(doubling(5))

    def expected(times: int) -> object:
        inner = expected(times - 1) if times else [0, 1.5]
        return [inner, {"a": [inner]}, None] if times else inner

    assert value == expected(5)


def test_a_shared_list_is_bounded_in_depth_wherever_it_stands() -> None:
    source = "ctx.list.reduce((a, b) => [a], [ctx.list.slice(60).reduce((a, b) => [a], [[]])])"
    assert "deep" in failed(f"[{source}, {source}]", doubling(125))[0]


def test_what_may_not_leave_is_counted_as_what_may() -> None:
    scope = {"ctx": {"big": BIG}}
    message, steps = failed("[ctx.big, ctx.big.slice(0, 1), [ctx.big]]", scope)
    assert message.startswith("the result is larger")
    assert steps >= len(BIG)


def test_a_value_of_a_template_that_fails_is_counted() -> None:
    steps = Steps()
    with pytest.raises(ExpressionError):
        compile_template({"a": "{{[ctx.big, 0 / 0]}}"}).render(
            CountedScope({"ctx": {"big": BIG}}, steps)
        )
    assert steps.taken >= len(BIG)


def test_writing_json_into_text_is_counted() -> None:
    steps = Steps()
    rows = list(range(5_000))
    compile_template("rows: {{ctx.rows}}").render(CountedScope({"ctx": {"rows": rows}}, steps))
    assert steps.taken >= 2 * len(rows)


def test_captures_are_counted_whether_they_succeed_or_fail() -> None:
    condition = split_condition(f"event.payload.x == {DOUBLED}")
    for times, most, key in ((14, 2**17, "v"), (60, 500, "e")):
        steps = Steps()
        captured = condition.capture(CountedScope(doubling(times), steps))
        assert list(captured[0]) == [key]
        assert min(2**times, 60) < steps.taken < most


def test_captures_of_one_condition_are_bounded_together() -> None:
    parts = " || ".join(f"event.x == [ctx.text, {n}]" for n in range(TEMPLATE_BYTES // 2**19))
    scope = {"ctx": {"text": "x" * 2**20}}
    captured = split_condition(parts).capture({"ctx": {"text": scope["ctx"]["text"][:1_000_000]}})
    kept = [each for each in captured if "v" in each]
    assert len(kept) * 1_000_000 <= TEMPLATE_BYTES
    assert "the condition gives more" in captured[-1]["e"]


def test_the_places_of_undefined_in_a_capture_are_bounded() -> None:
    source = "ctx.list.reduce((a, b) => [a, a], [undefined])"
    captured = split_condition(f"event.x == {source}").capture(doubling(16))
    assert captured[0] == {"e": f"the result is larger than {RESULT_BYTES:,} bytes"}


def test_a_capture_with_undefined_is_put_together_without_changing_it() -> None:
    split = split_condition("[event.n, ctx.shared][1][0][0] === event.n")
    shared = [[UNDEFINED, 1], [1], {"a": 0.0}]
    captured = split.capture({"ctx": {"shared": [shared[0], shared[0], shared]}})
    before = json.dumps(captured)
    assert split.matches({}, captured, Steps())
    assert not split.matches({"n": 1}, captured, Steps())
    assert json.dumps(captured) == before


def test_a_side_of_a_near_miss_is_counted() -> None:
    split = split_condition("[event.big, event.big] === ctx.x && event.n === 1")
    steps = Steps()
    misses = split.misses({"big": BIG[:50_000]}, [{"v": 1}], steps)
    assert [miss.left for miss in misses] == [[BIG[:50_000]] * 2, None]
    assert steps.taken >= 50_000


def test_the_text_of_a_term_is_counted() -> None:
    split = split_condition("event.list == ctx.list")
    steps = Steps()
    split.term_values([{"v": BIG}], steps)
    assert steps.taken >= FUEL
