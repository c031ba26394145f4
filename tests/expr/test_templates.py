r"""A template keeps types, leaves out what is undefined, and reports every fault with its place."""

from __future__ import annotations

import pytest

from tenuto.expr import (
    UNDEFINED,
    ExpressionError,
    ExpressionSyntaxError,
    Value,
    compile_template,
    template_problems,
)

SCOPE = {
    "ctx": {
        "id": "o-1",
        "n": 3,
        "big": 12345678901234567890123,
        "ok": True,
        "none": None,
        "list": [1, "é"],
        "object": {"a": [1, None]},
    }
}


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("{{ctx.n}}", 3),
        ("{{ ctx.ok }}", True),
        ("{{ctx.list}}", [1, "é"]),
        ("{{ctx.none}}", None),
        ("{{ctx.big}}", 12345678901234567890123),
        ("{{ {a: {b: ctx.n}} }}", {"a": {"b": 3}}),
        ("{{{a:{b:1}}}}", {"a": {"b": 1}}),
        ("{{'}}'}}", "}}"),
        (" {{ctx.n}}", " 3"),
        ("{{ctx.id}}/{{ctx.n}}", "o-1/3"),
        ("{{ctx.id}}{{ctx.n}}", "o-13"),
        ("id {{ctx.big}}", "id 12345678901234567890123"),
        ("a {{ctx.ok}} {{ctx.none}} {{ctx.n / 2}}", "a true null 1.5"),
        ("a {{ctx.list}} {{ctx.object}}", 'a [1,"é"] {"a":[1,null]}'),
        ("a {{ctx.missing ?? ''}}b", "a b"),
        (r"\{{ctx.n}}", "{{ctx.n}}"),
        (r"a \{{ {{ctx.n}} \{{", "a {{ 3 {{"),
        ("no template } {", "no template } {"),
        ("{ {ctx.n} }", "{ {ctx.n} }"),
        ({"a": "{{ctx.missing}}", "b": "{{ctx.n}}"}, {"b": 3}),
        (["{{ctx.missing}}", "{{ctx.n}}"], [None, 3]),
        ({"{{ctx.n}}": [{"x": ["{{ctx.n + 1}}"]}]}, {"{{ctx.n}}": [{"x": [4]}]}),
        (5, 5),
        (None, None),
        ({"deep": [1, 2.5, False, None, "text"]}, {"deep": [1, 2.5, False, None, "text"]}),
    ],
)
def test_values_are_filled_in(template: Value, rendered: Value) -> None:
    result = compile_template(template).render(SCOPE)
    assert result == rendered
    assert type(result) is type(rendered)


def test_a_lone_undefined_is_undefined() -> None:
    assert compile_template("{{ctx.missing}}").render(SCOPE) is UNDEFINED


def test_undefined_in_text_is_an_error_with_advice() -> None:
    with pytest.raises(ExpressionError, match=r"\?\? ''") as caught:
        compile_template("order {{ctx.missing}}").render(SCOPE)
    assert caught.value.source == "ctx.missing"


def test_nan_in_text_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="NaN"):
        compile_template("order {{ctx.missing * 2}}").render(SCOPE)


def test_text_is_bounded() -> None:
    template = compile_template("{{ctx.text}}{{ctx.text}}")
    with pytest.raises(ExpressionError, match="larger than"):
        template.render({"ctx": {"text": "a" * 600_000}})


def test_a_template_knows_what_it_uses() -> None:
    template = compile_template({"a": "{{ctx.x.y}}", "b": ["{{event.z[0]}} {{ctx.x.y}}"], "c": 1})
    assert template.roots == {"ctx", "event"}
    assert template.paths == (("ctx", "x", "y"), ("event", "z"))
    assert not template.is_constant


def test_a_constant_is_recognised() -> None:
    value = {"a": [1, r"\{{x}}", "}}"]}
    template = compile_template(value)
    assert template.is_constant
    assert template.roots == frozenset()
    assert template.render({}) == {"a": [1, "{{x}}", "}}"]}


def test_every_fault_is_found_with_its_place() -> None:
    value = {
        "good": "{{ctx.a}}",
        "list": ["x", {"odd key's": "{{contxt.a}} and {{ctx.b +}}"}],
        "open": "{{ctx.a",
        "string": "{{'}}",
    }
    problems = template_problems(value)
    assert [path for path, _ in problems] == [
        ".list[1]['odd key\\'s']",
        ".list[1]['odd key\\'s']",
        ".open",
        ".string",
    ]
    assert problems[0][1].path == ["list", 1, "odd key's"]
    assert problems[0][1].advice == "Did you mean `ctx`?"
    assert "never closed" in problems[2][1].message
    with pytest.raises(ExpressionSyntaxError) as caught:
        compile_template(value)
    assert caught.value.path == ["list", 1, "odd key's"]


def test_roots_can_be_narrowed() -> None:
    [(path, problem)] = template_problems({"a": "{{event.x}}"}, roots=frozenset({"ctx"}))
    assert path == ".a"
    assert "`event` is not known" in problem.message


def test_an_expression_is_bounded_but_not_the_text_around_it() -> None:
    assert compile_template("a" * 9000 + "{{1}}").render({}) == "a" * 9000 + "1"
    assert template_problems("{{'" + "a" * 5000 + "'}}")
