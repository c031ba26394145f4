"""Values come through as they are: digits, laziness, and names of what is used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import tenuto.expr
from tenuto.expr import (
    UNDEFINED,
    ExpressionSyntaxError,
    Lazy,
    compile_expression,
    is_rooted_path,
    look_up,
    parse_path,
)

BIG = 9007199254740993
PUBLIC = """ALL_ROOTS CountedScope Expression ExpressionError ExpressionSyntaxError LOOSE Lazy Miss
    Reference Rendered SplitCondition Steps Template Term UNDEFINED Undefined Value canonical
    compile_expression compile_template event_term_values is_fixed is_rooted_path look_up parse_path
    references split_condition template_expressions template_problems"""


class Watched(Lazy):
    """A lazy object that writes down what was read."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.read: list[str] = []

    def get(self, name: str) -> Any:  # noqa: ANN401
        self.read.append(name)
        return self.values.get(name, UNDEFINED)

    def keys(self) -> Iterable[str]:
        self.read.append("*")
        return self.values.keys()


def answer(source: str, **ctx: object) -> object:
    return compile_expression(source).evaluate({"ctx": ctx})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("ctx.id", BIG),
        ("[ctx.id, {a: ctx.id}]", [BIG, {"a": BIG}]),
        ("ctx.id ?? 1", BIG),
        ("String(ctx.id)", str(BIG)),
        ("'id ' + ctx.id", f"id {BIG}"),
        ("JSON.parse(JSON.stringify({a: ctx.id})).a", BIG),
        ("ctx.id === 9007199254740993", True),
        ("ctx.id === 9007199254740992", False),
        ("ctx.id == '9007199254740993'", True),
        ("ctx.id == '9007199254740992'", False),
        ("ctx.id > 9007199254740992", True),
        ("[ctx.id].includes(9007199254740992)", False),
        ("9007199254740993", BIG),
        ("ctx.id + 0", BIG - 1),
        ("-ctx.id", -BIG + 1),
        ("Number(ctx.id)", BIG - 1),
    ],
)
def test_an_integer_keeps_its_digits_until_it_is_computed_with(
    source: str, expected: object
) -> None:
    assert answer(source, id=BIG) == expected


def test_whole_results_are_integers() -> None:
    for source, expected in (("1 + 1", 2), ("6 / 3", 2), ("0.5 * 4", 2), ("-0", 0), ("[-0]", [0])):
        result = answer(source)
        assert (result, repr(result)) == (expected, repr(expected))


def test_only_the_properties_on_a_path_are_read() -> None:
    order = Watched({"id": 7, "huge": object()})
    ctx = Watched({"order": order, "other": object()})
    scope = {"ctx": ctx}
    assert compile_expression("ctx.order.id === 7 && ctx['order']?.id < 8").truthy(scope)
    assert "*" not in ctx.read + order.read
    assert set(ctx.read) == {"order"}
    assert set(order.read) == {"id"}


def test_naming_the_properties_of_a_lazy_object_reads_none() -> None:
    ctx = Watched({"a": object(), "b": object()})
    assert compile_expression("Object.keys(ctx)").evaluate({"ctx": ctx}) == ["a", "b"]
    assert ctx.read == ["*"]


def test_a_lazy_object_leaves_as_a_plain_one() -> None:
    scope = {"ctx": Watched({"a": 1, "b": Watched({"c": UNDEFINED, "d": [2]})})}
    assert compile_expression("ctx").evaluate(scope) == {"a": 1, "b": {"d": [2]}}
    assert compile_expression("{x: ctx.b}").evaluate(scope) == {"x": {"d": [2]}}
    assert compile_expression("JSON.stringify(ctx)").evaluate(scope) == '{"a":1,"b":{"d":[2]}}'
    assert compile_expression("{...ctx.b, e: 'd' in ctx.b}").evaluate(scope) == {
        "d": [2],
        "e": True,
    }
    assert compile_expression("typeof ctx + ctx").evaluate(scope) == "object[object Object]"
    assert compile_expression("ctx.hasOwnProperty('a')").evaluate(scope) is True


def test_undefined_is_left_out_as_in_json() -> None:
    assert answer("[undefined, {a: undefined, b: null}]") == [None, {"b": None}]
    assert answer("ctx.missing") is UNDEFINED


def test_an_expression_knows_what_it_uses() -> None:
    expression = compile_expression(
        "ctx.reservation.partial && event?.payload.items[0].id === steps['a-b'].output"
        " || ctx.list.some(item => item.x === ctx.reservation.partial)"
    )
    assert expression.roots == {"ctx", "event", "steps"}
    assert expression.paths == (
        ("ctx", "reservation", "partial"),
        ("event", "payload", "items"),
        ("steps", "a-b", "output"),
        ("ctx", "list"),
    )


def test_compiling_twice_is_compiling_once() -> None:
    assert compile_expression("ctx.same") is compile_expression("ctx.same")


def test_the_public_names_are_these() -> None:
    assert sorted(tenuto.expr.__all__) == PUBLIC.split()


def test_a_root_that_is_not_in_the_scope_is_undefined() -> None:
    assert compile_expression("event.payload.id").evaluate({}) is UNDEFINED


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("id", ("id",)),
        ("a.b[0]", ("a", "b", 0)),
        ("[1][2].x", (1, 2, "x")),
        ("a['b.c'].d", ("a", "b.c", "d")),
        ('order-id["x y"]', ("order-id", "x y")),
    ],
)
def test_paths_into_a_payload(path: str, keys: tuple[str | int, ...]) -> None:
    assert parse_path(path) == keys


@pytest.mark.parametrize(
    "path", ["", ".a", "a.", "a..b", "a[", "a[-1]", "a[b]", "a b", "a[0]b", "'a'"]
)
def test_what_is_not_a_path_is_refused(path: str) -> None:
    with pytest.raises(ExpressionSyntaxError):
        parse_path(path)


def test_a_missing_value_is_null() -> None:
    payload = {"a": {"b": [{"c": 1}]}, "n": None}
    assert look_up(payload, "a.b[0].c") == 1
    for path in ("x", "a.x.y", "a.b[1].c", "n.x", "a.b.c", "a[0]"):
        assert look_up(payload, path) is None


@pytest.mark.parametrize(
    ("text", "rooted"),
    [
        ("ctx.a", True),
        ("workflow.input.id", True),
        ("steps['a-b'].output[0]", True),
        ("ctx", False),
        ("ctx[0]", False),
        ("event.a", False),
        ("ctx.a + 1", False),
        ("ctx.a.trim()", False),
        (" ctx.a", False),
        ("ctx.a is great", False),
        ("ctx.", False),
        ("context.a", False),
        ("ctx.a?.b", False),
        ("'ctx.a'", False),
    ],
)
def test_a_rooted_path_is_nothing_but_a_path(text: str, rooted: bool) -> None:
    assert is_rooted_path(text) is rooted
