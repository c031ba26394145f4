"""Expressions and templates that are evaluated to try them."""

from __future__ import annotations

from tenuto.cli import exits
from tenuto.cli.sources import read_json
from tenuto.cli.views.terminal import show, show_as_it_is, show_json
from tenuto.definition.expressions import check_expression, check_template, holds_template
from tenuto.definition.report import Place, Report
from tenuto.expr import (
    ExpressionError,
    Undefined,
    Value,
    compile_expression,
    compile_template,
)
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.failure import EXPRESSION_ERROR
from tenuto.model.json import Object

_ROOTS = frozenset({"ctx", "steps", "workflow", "event"})
_TYPES = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


def given_scope(text: str | None) -> Object:
    """The values of --context: all roots, or `ctx` alone."""
    found = {} if text is None else read_json(text, "--context")
    if not isinstance(found, dict):
        problem = Problem(
            code="TEN-2000",
            path="--context",
            message="it is not an object",
            advice="""Write an object, such as '{"input": {"id": 7}}'.""",
        )
        raise InvalidInput("there are no values to evaluate over", [problem])
    given = found if "ctx" in found else {"ctx": found}
    empty: Object = {"ctx": {}, "steps": {}, "workflow": {}}
    return empty | {name: value for name, value in given.items() if name in _ROOTS}


def show_value(text: str, scope: Object, *, is_json: bool) -> int:
    """Print what a text evaluates to; InvalidInput with all that is wrong with it."""
    value = evaluated(text, scope)
    is_undefined = isinstance(value, Undefined)
    if is_json:
        kind = "undefined" if isinstance(value, Undefined) else _TYPES[type(value)]
        show_json({"value": None if isinstance(value, Undefined) else value, "type": kind})
    elif is_undefined:
        show("undefined")
    elif isinstance(value, str):
        show_as_it_is(value)
    else:
        assert not isinstance(value, Undefined)
        show_json(value)
    return exits.DONE


def evaluated(text: str, scope: Object) -> Value | Undefined:
    """The value of an expression, or of a template."""
    report = Report()
    place = Place("$", report, frozenset(scope))
    is_template = holds_template(text)
    if is_template:
        check_template(text, place)
    else:
        check_expression(text, place)
    if report.problems:
        what = "template" if is_template else "expression"
        raise InvalidInput(f"this is no {what}", report.problems)
    try:
        if is_template:
            return compile_template(text).render(scope)
        return compile_expression(text).evaluate(scope)
    except ExpressionError as error:
        problem = Problem(
            code="TEN-2000",
            path="$",
            message=f"{EXPRESSION_ERROR}: {error}",
            advice="A step would fail with this code; look at the values that it names.",
        )
        raise InvalidInput("the evaluation failed", [problem]) from None
