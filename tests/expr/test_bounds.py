"""An expression stays within its bounds, and what it can be made of is a closed list."""

from __future__ import annotations

import tracemalloc
import typing
from functools import partial

import pytest

from tenuto.expr import (
    ExpressionError,
    ExpressionSyntaxError,
    bounds,
    compile_expression,
    syntax,
    utf16,
)
from tenuto.expr.evaluators import EVALUATORS
from tenuto.expr.frame import Frame
from tenuto.expr.library import CALLBACKS, FUNCTIONS, ITERATIONS, METHODS
from tenuto.expr.library.searching import LONG, with_room
from tenuto.expr.operators import OPERATORS


def refused(source: str) -> ExpressionSyntaxError:
    with pytest.raises(ExpressionSyntaxError) as caught:
        compile_expression(source)
    return caught.value


def failed(source: str, **ctx: object) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(source).evaluate({"ctx": ctx})
    return caught.value


def test_the_bounds_are_those_of_the_documentation() -> None:
    assert (bounds.SOURCE_CHARACTERS, bounds.DEPTH, bounds.FUEL, bounds.RESULT_BYTES) == (
        4096,
        64,
        10_000,
        2**20,
    )


def test_a_source_of_4_kib_is_the_longest() -> None:
    longest = "'" + "a" * 4094 + "'"
    assert compile_expression(longest).evaluate({}) == "a" * 4094
    assert "longer than 4,096" in refused(longest + " ").message


@pytest.mark.parametrize(
    ("opening", "middle", "closing"),
    [
        ("(", "1", ")"),
        ("[", "", "]"),
        ("-", "1", ""),
        ("!", "1", ""),
        ("{a: ", "1", "}"),
        ("", "ctx", "[0]"),
        ("", "''", ".trim()"),
        ("", "1", " + 1"),
        ("", "1", " ** 1"),
        ("[1].map(x => ", "1", ")"),
        ("1 ? ", "1", " : 1"),
        ("", "ctx.a()", "?.b"),
    ],
)
def test_depth_is_bounded_however_it_is_made(opening: str, middle: str, closing: str) -> None:
    def nested(levels: int) -> str:
        space = " " if opening == "-" else ""
        return (opening + space) * levels + middle + closing * levels

    compile_expression(nested(20))
    assert "nested more than 64" in refused(nested(65)).message


def test_long_lists_of_terms_and_long_paths_are_not_deep() -> None:
    terms = " && ".join(f"ctx.a{i} === {i}" for i in range(150))
    assert compile_expression(terms).truthy({"ctx": {f"a{i}": i for i in range(150)}})
    assert compile_expression("ctx" + ".a" * 500).evaluate({"ctx": {}}) is not None


@pytest.mark.parametrize(
    "source",
    [
        "ctx.many.map(x => x)",
        "ctx.many.filter(x => x > 1)",
        "ctx.many.includes(-1)",
        "ctx.many.slice(0)",
        "ctx.many.concat([])",
        "ctx.many.join('')",
        "ctx.many.sort()",
        "ctx.many.flat()",
        "[...ctx.many]",
        "Math.max(...ctx.many)",
        "Object.keys(ctx.many)",
        "String(ctx.many)",
        "ctx.many + ''",
        "ctx.many == ''",
        "JSON.stringify(ctx.many)",
        "ctx.few.map(x => ctx.few.map(y => ctx.few.map(z => 1)))",
        "ctx.few.flatMap(x => ctx.few.flatMap(y => ctx.few))",
        "'a'.repeat(2000000)",
        "'a'.padEnd(2000000)",
        "ctx.text.toUpperCase().trim().toLowerCase().trim()",
        "ctx.text.split('a')",
        "ctx.text.replaceAll('a', 'bb')",
        "ctx.text.indexOf('b') + ctx.text.indexOf('c') + ctx.text.indexOf('d')",
        "ctx.few.every(x => ctx.text === ctx.other)",
        "ctx.few.every(x => ctx.text <= ctx.other)",
        "ctx.few.map(x => ctx.text).includes(ctx.near)",
        "ctx.few.flatMap(x => [ctx.text, ctx.other]).sort()",
        "ctx.few.some(x => [ctx.text] == ctx.near)",
        "ctx.few.every(x => ctx.accents.length > 1)",
        "ctx.few.every(x => ctx.accents[0] === 'é')",
        "ctx.few.every(x => ctx.accents['0'] === 'é')",
        "ctx.few.every(x => 'a'.replaceAll('a', ctx.text) > 1)",
        "'ab'.repeat(20000).replaceAll('b', '$`')",
        "ctx.few.every(x => ctx.accents.padEnd(1) !== '')",
        "ctx.few.every(x => ctx.few.every(y => String(ctx.large) !== ''))",
        "ctx.few.every(x => ctx.few.every(y => ctx.large.toString() !== ''))",
        "ctx.few.every(x => JSON.stringify(ctx.few.map(y => ctx.large)) !== '')",
        "JSON.parse(ctx.numbers)",
    ],
)
def test_fuel_runs_out(source: str) -> None:
    text = "a" * 600_000
    many = list(range(bounds.FUEL + 1))
    other = "".join(["a"] * 600_000)
    near = text[:-1] + "b"
    few = list(range(100))
    heavy = {
        "accents": "é" * 600_000,
        "numbers": "[" + "1," * 60_000 + "1]",
        "large": 2**bounds.INTEGER_BITS - 1,
    }
    error = failed(source, many=many, few=few, text=text, other=other, near=near, **heavy)
    assert "10,000 steps" in error.message
    assert error.source == source


def steps(source: str, **ctx: object) -> int:
    expression = compile_expression(source)
    frame = Frame({"ctx": ctx}, expression._slots)
    expression._evaluate(frame)
    return frame.taken


def evaluated(source: str, **ctx: object) -> object:
    """The value, even one that may not leave."""
    expression = compile_expression(source)
    return expression._evaluate(Frame({"ctx": ctx}, expression._slots))


@pytest.mark.parametrize("method", ["replace", "replaceAll"])
@pytest.mark.parametrize("mark", ["$&", "$`", "$'"])
def test_a_replacement_is_paid_before_it_is_built(method: str, mark: str) -> None:
    # A few kilobytes that stand for a gigabyte and a half: built at all, they would show here.
    text = {"$&": "x" * 200_000, "$`": "a" * 200_000 + "x", "$'": "x" + "a" * 200_000}[mark]
    pattern = text if mark == "$&" else "x"
    source = f"ctx.text.{method}(ctx.pattern, ctx.given).length"
    tracemalloc.start()
    try:
        error = failed(source, text=text, pattern=pattern, given=mark * 8_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "10,000 steps" in error.message
    assert peak < 16 * bounds.RESULT_BYTES


@pytest.mark.parametrize("mark", ["$$", "$&", "$`", "$'"])
def test_marks_of_a_replacement_cost_also_where_they_stand_for_nothing(mark: str) -> None:
    marks = mark * 32_000
    assert "steps" in failed("ctx.t.replaceAll('', ctx.r).length", t="x" * 40, r=marks).message


def test_few_marks_of_a_replacement_cost_what_they_stand_for() -> None:
    plain = "ctx.text.replaceAll('b', 'ab').length"
    marked = "ctx.text.replaceAll('b', 'a$&').length"
    assert steps(plain, text="ab" * 500) == steps(marked, text="ab" * 500) == 507


def test_a_long_pattern_is_looked_for_where_cpython_is_linear() -> None:
    # Its search is when the rest of the text is longer than both of these, from any place on.
    for size, length in ((101, 100), (2_499, 1_200), (600_000, 100), (600_000, 599_000)):
        room = with_room("a" * size, "b" * length)
        assert room.startswith("a" * size)
        rest = len(room) - size
        assert rest >= 2_500
        assert rest // 4 > length // 4 * 3
    assert with_room("a" * 600_000, "b" * (LONG - 1)) == "a" * 600_000


@pytest.mark.parametrize("ends_in", ["", "\0", "é", "😀"])
def test_a_long_pattern_is_found_where_it_is(ends_in: str) -> None:
    # All places are a mismatch at the last moment: what makes a search quadratic.
    pattern = "a" * 150 + "b" + "a" * 150 + ends_in
    other = "a" * 301 + ends_in
    width = len(pattern.encode("utf-16-le")) // 2
    texts = ["", "a" * 900, pattern, pattern[:-1], "aa" + pattern + "a", pattern * 3]
    texts += ["a" * 200 + pattern[150:], "😀" + (pattern + other) * 4 + "a" * 5_000]
    for text in texts:
        units = utf16.units(text)
        wanted = utf16.units(pattern)
        found = partial(evaluated, t=text, p=pattern)
        for position in (0, 1, 2, 300, 620, len(units)):
            start = min(position, len(units))
            assert found(f"ctx.t.indexOf(ctx.p, {position})") == units.find(wanted, start)
            assert found(f"ctx.t.includes(ctx.p, {position})") is (wanted in units[start:])
            latest = units.rfind(wanted, 0, position + width)
            assert found(f"ctx.t.lastIndexOf(ctx.p, {position})") == latest
        assert found("ctx.t.lastIndexOf(ctx.p)") == units.rfind(wanted)
        assert found("ctx.t.split(ctx.p)") == text.split(pattern)
        assert found("ctx.t.split(ctx.p, 2)") == text.split(pattern)[:2]
        assert found("ctx.t.replace(ctx.p, 'x$$')") == text.replace(pattern, "x$", 1)
        assert found("ctx.t.replaceAll(ctx.p, 'x')") == text.replace(pattern, "x")


def test_a_long_separator_costs_what_a_short_one_does() -> None:
    for separator in ("-" * (LONG - 1), "-" * LONG):
        text = separator.join(["part"] * 50)
        taken = steps("ctx.t.split(ctx.s)", t=text, s=separator)
        assert taken == 49 + len(text) // bounds.CHARACTERS_PER_STEP


def test_text_is_not_written_where_it_costs_more_than_is_left() -> None:
    # Each character is six in JSON.
    text = "\1" * 4_000_000
    for source in ("JSON.stringify(ctx.t).length", "JSON.stringify({[ctx.t]: 1}).length"):
        tracemalloc.start()
        try:
            assert "10,000 steps" in failed(source, t=text).message
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < bounds.RESULT_BYTES


def test_a_long_filler_costs_what_is_read_of_it() -> None:
    source = "ctx.few.every(x => 'ab'.padStart(4, ctx.long) === 'éé' + 'ab')"
    scope = {"ctx": {"few": list(range(100)), "long": "é" * 600_000}}
    assert compile_expression(source).truthy(scope)


def test_a_long_name_is_no_index() -> None:
    scope = {"ctx": {"list": [1], "long": "0" * 600_000}}
    assert not compile_expression("ctx.long in ctx.list").truthy(scope)
    assert compile_expression("ctx.list[ctx.long] === undefined").truthy(scope)


def test_ordinary_integers_are_written_for_nothing() -> None:
    assert steps("String(ctx.n)", n=2**1022) == 0
    assert steps("String(ctx.n)", n=2**4095) == 16


def test_comparing_with_a_long_text_costs_what_decides() -> None:
    scope = {"ctx": {"few": list(range(100)), "huge": "é" * 5_000_000}}
    assert compile_expression("ctx.few.every(x => 'à' < ctx.huge)").truthy(scope)


def test_ordinary_work_is_within_the_fuel() -> None:
    scope = {"ctx": {"items": [{"price": i, "ok": True} for i in range(3000)]}}
    total = "ctx.items.filter(x => x.ok && x.price > 10).reduce((sum, x) => sum + x.price, 0)"
    assert compile_expression(total).evaluate(scope) == sum(range(11, 3000))


def test_a_result_is_at_most_1_mib() -> None:
    assert failed("[ctx.text, ctx.text]", text="a" * 600_000).message.startswith("the result is la")
    assert failed("ctx.text", text="é" * 600_000).message.startswith("the result is larger")
    assert failed("ctx.items", items=[0] * 300_000).message.startswith("the result is larger")
    compile_expression("ctx.text").evaluate({"ctx": {"text": "a" * 1_000_000}})


def test_deep_values_fail_rather_than_exhaust_the_stack() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for source in ("ctx.d", "String(ctx.d)", "JSON.stringify(ctx.d)", "ctx.d.flat(Infinity)"):
        assert "deep" in failed(source, d=deep).message
    assert compile_expression("ctx.d.length").evaluate({"ctx": {"d": deep}}) == 1


@pytest.mark.parametrize(
    "source", ["NaN", "1 / 0", "[-1 / 0]", "{a: {b: 0 / 0}}", "'\\0'", "'\\ud800'"]
)
def test_what_json_cannot_hold_does_not_leave(source: str) -> None:
    assert failed(source).message.startswith("the result")
    compile_expression(source).truthy({})


def test_errors_say_where() -> None:
    error = failed("1 + ctx.name.nope()", name="x")
    assert (error.source, error.position) == ("1 + ctx.name.nope()", 4)
    problem = refused("ctx.a === tru")
    assert (problem.position, problem.advice) == (10, "Did you mean `true`?")
    assert refused("contxt.a").source == "contxt.a"
    assert compile_expression("ctx.a", roots=frozenset({"ctx"})).roots == {"ctx"}
    with pytest.raises(ExpressionSyntaxError, match="`event` is not known"):
        compile_expression("event.a", roots=frozenset({"ctx"}))


# The allow-lists. Widening the language means changing these lines, and the tests that they name.

NODES = """ArrayLiteral Binary Call Captured Chain Conditional Literal Local Logical Member Method
    ObjectLiteral Path Subscript Unary"""
FUNCTION_NAMES = """Array.isArray Boolean Date.parse JSON.parse JSON.stringify Math.abs
    Math.ceil Math.exp Math.floor Math.log Math.log10 Math.log2 Math.max Math.min Math.pow
    Math.round Math.sign Math.sqrt Math.trunc Number Number.isFinite Number.isInteger Number.isNaN
    Number.isSafeInteger Number.parseFloat Number.parseInt Object.entries Object.fromEntries
    Object.keys Object.values String encodeURIComponent isFinite isNaN parseFloat parseInt"""
METHODS_OF = {
    str: """at charAt charCodeAt concat endsWith includes indexOf lastIndexOf padEnd padStart repeat
        replace replaceAll slice split startsWith substring toLowerCase toString toUpperCase trim
        trimEnd trimStart""",
    list: """at concat flat includes indexOf join lastIndexOf reverse slice sort toReversed toSorted
        toString""",
    int: "toFixed toString",
    float: "toFixed toString",
    bool: "toString",
    dict: "hasOwnProperty toString",
}
OPERATOR_NAMES = "!= !== % * ** + - / < <= == === > >= in"
ITERATION_NAMES = """every filter find findIndex findLast findLastIndex flatMap map reduce
    reduceRight some sort toSorted"""


def test_the_syntax_tree_is_a_closed_list() -> None:
    names = sorted(kind.__name__ for kind in typing.get_args(syntax.Node))
    assert names == NODES.split()
    assert set(EVALUATORS) == set(typing.get_args(syntax.Node))


def test_what_can_be_called_is_a_closed_list() -> None:
    assert sorted(FUNCTIONS) == FUNCTION_NAMES.split()
    assert {kind: sorted(methods) for kind, methods in METHODS.items()} == {
        kind: names.split() for kind, names in METHODS_OF.items()
    }
    assert sorted(ITERATIONS) == ITERATION_NAMES.split()
    assert sorted(CALLBACKS) == ["Boolean", "Number", "String", "parseFloat"]
    assert sorted(OPERATORS) == OPERATOR_NAMES.split()


def test_the_tables_cannot_be_changed() -> None:
    for table in (FUNCTIONS, METHODS, METHODS[str], ITERATIONS):
        with pytest.raises(TypeError):
            table["x"] = None  # type: ignore[index]
