"""A template keeps `{{secrets.NAME}}` as it is written, and says where it stands."""

from __future__ import annotations

import pytest

from tenuto.expr import compile_template
from tenuto.expr.values import Value
from tenuto.model.json import JSON
from tenuto.model.secret_place import SecretPlace, fill_in, names_of, secret_name

SCOPE = {"ctx": {"input": {"who": "Zoë", "trap": "{{secrets.KEY}}", "gone": None}}}
VALUES = {"KEY": "sk-1", "OTHER": "{{secrets.KEY}}"}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{{secrets.KEY}}", "sk-1"),
        ("{{ secrets . KEY }}", "sk-1"),
        ("Bearer {{secrets.KEY}}", "Bearer sk-1"),
        ("{{ctx.input.who}}:{{secrets.KEY}}@{{secrets.OTHER}}!", "Zoë:sk-1@{{secrets.KEY}}!"),
        ("{{secrets.KEY}}{{secrets.KEY}}", "sk-1sk-1"),
        ({"a": ["x", {"b": "{{secrets.KEY}}"}]}, {"a": ["x", {"b": "sk-1"}]}),
        # What a payload says stands for nothing, beside a secret and after one.
        ("{{ctx.input.trap}}", "{{secrets.KEY}}"),
        ("{{ctx.input.trap}} {{secrets.KEY}}", "{{secrets.KEY}} sk-1"),
        (
            {"a": "{{ctx.input.trap}}", "b": "{{secrets.KEY}}"},
            {"a": "{{secrets.KEY}}", "b": "sk-1"},
        ),
        (r"\{{secrets.KEY}} {{secrets.OTHER}}", "{{secrets.KEY}} {{secrets.KEY}}"),
        # A key that is left out moves none of the others.
        ({"none": "{{ctx.input.no}}", "k": "{{secrets.KEY}}"}, {"k": "sk-1"}),
    ],
)
def test_only_what_the_template_names_is_filled_in(template: Value, filled: Value) -> None:
    rendered = compile_template(template).render_with_secrets(SCOPE)
    assert fill_in(rendered.value, rendered.secrets, VALUES) == filled  # type: ignore[arg-type]


def test_a_template_says_which_secrets_it_has_and_where() -> None:
    template = compile_template({"h": {"a": "Bearer {{secrets.KEY}}", "b": ["{{secrets.OTHER}}"]}})
    assert template.secrets == ("KEY", "OTHER")
    assert not template.is_constant
    value, places = template.render_with_secrets(SCOPE)
    assert value == {"h": {"a": "Bearer {{secrets.KEY}}", "b": ["{{secrets.OTHER}}"]}}
    assert places == (
        SecretPlace(("h", "a"), 7, "KEY"),
        SecretPlace(("h", "b", 0), 0, "OTHER"),
    )
    assert names_of(places) == ("KEY", "OTHER")
    assert template.render(SCOPE) == value


def test_a_place_whose_text_is_gone_is_left_alone() -> None:
    places = (SecretPlace(("a",), 0, "KEY"), SecretPlace(("b", 2), 0, "KEY"))
    changed: list[JSON] = [{"a": "other"}, {"a": 7}, {"b": ["x"]}, ["a"], None, "text"]
    for edited in changed:
        assert fill_in(edited, places, VALUES) == edited
    given: JSON = {"a": "{{secrets.KEY}}"}
    assert fill_in(given, places, VALUES) == {"a": "sk-1"}
    assert given == {"a": "{{secrets.KEY}}"}, "the recorded input does not change"


@pytest.mark.parametrize(
    "expression",
    [
        "secrets",
        "secrets.a.b",
        "secrets['a']",
        "secrets.a + 1",
        "secrets.a-b",
        "secrets.1",
        "ctx.a",
    ],
)
def test_no_other_expression_is_the_name_of_a_secret(expression: str) -> None:
    assert secret_name(expression) is None
