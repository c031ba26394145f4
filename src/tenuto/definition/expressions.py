"""Checks of expressions and templates, by `tenuto.expr`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tenuto.definition.report import MOST_PROBLEMS, Place, shown
from tenuto.expr import (
    ALL_ROOTS,
    Expression,
    ExpressionSyntaxError,
    compile_expression,
    is_fixed,
    parse_path,
    references,
    split_condition,
    template_expressions,
    template_problems,
)
from tenuto.expr.bounds import SOURCE_CHARACTERS
from tenuto.model.json import JSON
from tenuto.model.secret_place import ROOT, secret_name

BASE = frozenset({"ctx", "workflow", "steps"})
"""The names that every expression can use."""

_BARE_PATH = re.compile(
    r"(?:ctx|steps|workflow\.input|workflow\.instance)(?:\.[A-Za-z_$][\w$]*|\[\d+\]|\['[^']*'\])+\Z"
)
_LONGEST_BARE = 200
_OF_EACH = 20
"""What reading an expression costs beside its characters, in characters."""

EVENT = frozenset({"event"})
ITERATION = frozenset({"item", "index"})
SECRETS = frozenset({ROOT})


def check_expression(source: str, place: Place) -> bool:
    """Whether `source` is an expression for this place; if not, that is reported."""
    if not _may_read(len(source) + _OF_EACH, place):
        return False
    try:
        expression = compile_expression(source, roots=place.roots)
    except ExpressionSyntaxError as fault:
        braces = source.lstrip().startswith("{{")
        advice = "This field is an expression by itself: leave `{{` and `}}` out." if braces else ""
        _report(fault, place, "TEN-1030" if _is_broken(source) else "TEN-1032", advice)
        return False
    note_references(expression, place)
    return True


def check_template(
    value: JSON, place: Place, *, has_paths: bool = False, is_of_start: bool = False
) -> None:
    """Report why `value` is not a template for this place.

    `has_paths`: whether text that is all path stands for its value here, without braces.
    `is_of_start`: whether it is evaluated before an instance starts, when only its input exists.
    """
    if not holds_template(value):
        if not has_paths:
            _warn_of_bare_paths(value, place)
        return
    if not _may_read(_characters(value), place):
        return
    faults = template_problems(value, roots=place.roots)
    if not faults:
        for where, expression in template_expressions(value, roots=place.roots):
            if not (is_of_start and _refuse_later_values(expression, place.beyond(where))):
                note_references(expression, place.beyond(where))
            if ROOT in expression.roots and secret_name(expression.source) is None:
                refuse_secret(place.beyond(where))
        return
    broken = {(where, fault.position) for where, fault in template_problems(value)}
    for where, fault in faults[:MOST_PROBLEMS]:
        there = place.beyond(where)
        _report(fault, there, "TEN-1031" if (where, fault.position) in broken else "TEN-1032")


def _refuse_later_values(expression: Expression, place: Place) -> bool:
    """Report names of which an instance that has not started has no value; whether there are."""
    if place.report.is_saved:  # before there was this rule
        return False
    paths = dict.fromkeys(each.path for each in references(expression))
    later = [path for path in paths if path[0] == "steps" or path[1:2] not in ((), ("input",))]
    for path in later:
        message = f"`{'.'.join(path)}` has no value before the instance starts"
        place.wrong("TEN-1032", message, "A key may use `ctx.input` and `workflow.input`.")
    return bool(later)


def refuse_secret(place: Place) -> None:
    """Report a secret in a form in which it would have to have a value here."""
    place.wrong("TEN-1660", "a secret stands in an expression, which would need its value")


def _warn_of_bare_paths(value: JSON, place: Place) -> None:
    """Warn of text that is meant as a template: `ctx.input.id`, `${ctx.input.id}`."""
    if not isinstance(value, str):
        items = value.items() if isinstance(value, dict) else ()
        for name, each in items:
            if isinstance(each, str):
                _warn_of_bare_paths(each, place.at(name))
        return
    text = value[2:-1].strip() if value.startswith("${") and value.endswith("}") else value
    if len(text) <= _LONGEST_BARE and _BARE_PATH.match(text):
        place.warn(
            "TEN-1064",
            f"{shown(value)} is text, and not the value that it names",
            f"Write `{{{{{text}}}}}`.",
        )


def note_references(expression: Expression, place: Place) -> None:
    """Keep what an expression refers to, until all that it may refer to is known."""
    place.report.references += [(place, each) for each in references(expression)]


def _may_read(characters: int, place: Place) -> bool:
    """Whether so many more characters of expressions may be read; the first excess is reported."""
    was_full = place.report.is_spent
    if place.report.spend(characters):
        return True
    if not was_full:
        place.wrong("TEN-1036", "the expressions before this one have too many characters already")
    return False


def check_payload_path(text: str, place: Place) -> None:
    """Report why `text` is not a path into an event's payload."""
    try:
        parse_path(text)
    except ExpressionSyntaxError as fault:
        _report(fault, place, "TEN-1033")


def has_equality_term(source: str, *, fixed: bool = False) -> bool:
    """Whether a wait's condition can be looked up in an index instead of evaluated for each event.

    With `fixed`, only by values that never change during an instance.
    """
    condition = split_condition(source)
    return bool(condition.keeping(is_fixed(condition)).terms if fixed else condition.terms)


def expression_names_root(source: str, root: str) -> bool:
    """Whether an expression, which has been checked, names `root`."""
    return root in compile_expression(source).roots


def is_templated(text: str) -> bool:
    return "{{" in text


def holds_template(value: JSON) -> bool:
    """Whether a value has a template in it: large literals are common, and are skipped this way."""
    return any(map(is_templated, _texts(value)))


def _characters(value: JSON) -> int:
    """The most characters that the expressions of a template can have."""
    return sum(
        min(len(part), SOURCE_CHARACTERS) for text in _texts(value) for part in text.split("{{")[1:]
    )


def _texts(value: JSON) -> Iterator[str]:
    todo: list[Iterator[JSON]] = [iter((value,))]
    while todo:
        for inner in todo[-1]:
            if isinstance(inner, str):
                yield inner
            elif isinstance(inner, list):
                todo.append(iter(inner))
                break
            elif isinstance(inner, dict):
                todo.append(iter(inner.values()))
                break
        else:
            todo.pop()


def _is_broken(source: str) -> bool:
    try:
        compile_expression(source, roots=ALL_ROOTS)
    except ExpressionSyntaxError:
        return True
    return False


def _report(fault: ExpressionSyntaxError, place: Place, code: str, advice: str = "") -> None:
    advice = advice or _advice(fault, place)
    place.wrong(code, f"{fault.message} (at character {fault.position + 1})", advice or None)


def _advice(fault: ExpressionSyntaxError, place: Place) -> str:
    if fault.misspelled is None:
        return fault.advice
    name, known, otherwise = fault.misspelled
    near = place.nearest(name, known)
    return otherwise if near is None else f"Did you mean `{near}`?"
