"""Values: what expressions and templates give."""

from __future__ import annotations

import pytest

from tenuto import InvalidInput
from tenuto.expr import (
    UNDEFINED,
    ExpressionError,
    Steps,
    compile_expression,
    compile_template,
    split_condition,
)
from tenuto.model.json import JSON, json_problem
from tests.core.drawing import draw
from tests.core.play import play
from tests.semantics.office import office

BIG = 9_007_199_254_740_993


def value(source: str, **ctx: JSON) -> object:
    return compile_expression(source).evaluate({"ctx": ctx})


def text(template: JSON, **ctx: JSON) -> object:
    return compile_template(template).render({"ctx": ctx})


def test_missing_properties_are_undefined_and_missing_methods_errors() -> None:
    """`.` and `[]` on null or undefined give undefined; a method that is not there, or a bound
    passed, is `EXPRESSION_ERROR` (fails the node, not retryable, to `error`; at start 422).
    """
    for source in ("ctx.a", "ctx.a.b.c", "ctx.a[0].b", "ctx.n.x", "null.x", "ctx['a']['b']"):
        assert value(source, n=None) is UNDEFINED
    for source in ("ctx.n.nope()", "ctx.t.nope()", "ctx.nope()", "ctx.t.repeat(1e9)"):
        with pytest.raises(ExpressionError):
            value(source, n=None, t="x")
    run = play(
        draw(
            "a:error>b",
            a={"type": "task", "config": {"taskId": "work", "input": "{{ctx.input.nope()}}"}},
        )
    )
    assert run.start({}).log[2] == "NODE_FAILED a#1 EXPRESSION_ERROR route"


def test_undefined_leaves_its_key_out_and_is_null_in_an_array() -> None:
    """A lone template that gives undefined leaves its key out of an object and is null in an
    array; in text undefined is an error (write `?? ''`), null is `null`, objects are JSON.
    """
    assert text({"a": "{{ctx.x}}", "b": 1}) == {"b": 1}
    assert text(["{{ctx.x}}", 1]) == [None, 1]
    assert text("{{ctx.x}}") is UNDEFINED
    with pytest.raises(ExpressionError):
        text("Dear {{ctx.x}}")
    assert text("Dear {{ctx.x ?? ''}}") == "Dear "
    assert text("it is {{ctx.n}}", n=None) == "it is null"
    assert text("it is {{ctx.o}}", o={"a": [1, None]}) == 'it is {"a":[1,null]}'


@pytest.mark.parametrize("source", ["0 / 0", "1 / 0", "-1 / 0", "[1 / 0]", "({a: 0 / 0})"])
def test_nan_and_infinity_do_not_leave_an_expression(source: str) -> None:
    """NaN and infinities are errors when they leave the expression; inside it they behave as in
    JavaScript.
    """
    with pytest.raises(ExpressionError):
        value(source)
    assert value(f"[{source}].length") == 1
    assert value("1 / 0 > 5 && 0 / 0 !== 0 / 0") is True


def test_integers_keep_their_digits_and_compare_exactly() -> None:
    """Numbers compute as doubles; an integer only passed on keeps all digits, and two integers
    compare exactly, in the evaluator and in the index (a documented difference).
    """
    assert value("ctx.n", n=BIG) == BIG
    assert value("ctx.n + 0", n=BIG) == BIG - 1
    assert value("ctx.n === 9007199254740992", n=BIG) is False
    assert value("ctx.n > 9007199254740992", n=BIG) is True
    split = split_condition("event.payload.n === ctx.n")
    captured = split.capture({"ctx": {"n": BIG}})
    assert split.matches({"payload": {"n": BIG}}, captured, Steps())
    assert not split.matches({"payload": {"n": BIG - 1}}, captured, Steps())
    assert split.term_values(captured, Steps()) == split.event_values(
        {"payload": {"n": BIG}}, Steps()
    )
    assert split.term_values(captured, Steps()) != split.event_values(
        {"payload": {"n": BIG - 1}}, Steps()
    )


def test_a_literal_brace_is_written_with_a_backslash() -> None:
    r"""Literal `{{` is written `\{{`."""
    assert text(r"\{{ctx.x}} is {{ctx.x}}", x=5) == "{{ctx.x}} is 5"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("null == undefined", True),
        ("null === undefined", False),
        ("'1' == 1", True),
        ("'' == 0", True),
        ("[1] == '1'", True),
        ("!!'0'", True),
        ("!![]", True),
        ("!!''", False),
        ("!!(0 / 0)", False),
    ],
)
def test_equality_and_truthiness_are_those_of_javascript(source: str, expected: bool) -> None:
    """`==` and truthiness are JavaScript's."""
    assert value(source) is expected


@pytest.mark.parametrize("bad", ["a\0b", "\ud800", {"a\0": 1}, ["\udfff"]])
@pytest.mark.asyncio
async def test_nul_and_lone_surrogates_are_refused_at_every_edge(bad: JSON) -> None:
    """NUL and lone surrogates are refused at every edge."""
    assert json_problem(bad) is not None
    async with office() as run:
        await run.app.deploy(draw("a"))
        with pytest.raises(InvalidInput):
            await run.app.start("w", bad)
        with pytest.raises(InvalidInput):
            await run.app.publish("paid", bad)
        ref = await run.app.start("w")
        run.finish("a", bad)
        with pytest.raises(Exception, match="NOT_JSON"):
            await ref.result(60)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"b": 1, "a": [1.0, 0.5, None, True]}, '{"b":1,"a":[1,0.5,null,true]}'),
        ([], "[]"),
        ({"t": 'say "hi"\n'}, '{"t":"say \\"hi\\"\\n"}'),
        ([1e21, 1e-7, "é"], '[1e+21,1e-7,"é"]'),
    ],
)
def test_objects_inside_text_are_as_json_stringify(given: JSON, shown: str) -> None:
    """Objects inside text are as `JSON.stringify`."""
    assert text("{{ctx.v}}!", v=given) == f"{shown}!"
