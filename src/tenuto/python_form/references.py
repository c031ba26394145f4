"""Steps that are named in text: `ctx.paid.amount`, `steps.paid.status`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from tenuto.expr import ExpressionSyntaxError, compile_expression, compile_template
from tenuto.python_form.json_values import Code, Expression
from tenuto.python_form.step import Step

_NAMED = re.compile(
    r"(?<![\w$.])(?P<root>ctx|steps)\s*"
    r"(?:\?\.\s*|\.\s*|(?:\?\.)?\[\s*(?P<mark>[\"'`]))"
    r"(?:(?(mark)(?P<quoted>[\w-]+)(?P=mark)|(?P<plain>\w+)))"
)
Path = tuple[str, ...]


def named_steps(
    step: Step, by_id: Mapping[str, Step], by_variable: Callable[[str, Step], Step | None]
) -> Iterator[Step]:
    """The other steps that the text of a step names, except those in its own body."""
    for path in paths_in(step.config):
        match path:
            case ("ctx", name, *_) if name not in by_id:
                setting = by_variable(name, step)
                if setting is not None:
                    yield setting
            case ("ctx" | "steps", name, *_) if name in by_id:
                named = by_id[name]
                if named is not step and not _is_below(named, step):
                    yield named
            case ("workflow", "instance", "state", "steps", name, *_) if name in by_id:
                yield by_id[name]
            case _:
                pass


def _is_below(step: Step, head: Step) -> bool:
    return any(block.head is head for block in step.block.around)


def paths_in(value: object) -> Iterator[Path]:
    """The paths that the texts in a value read."""
    match value:
        case Code():
            yield from _code_paths(value.text)
        case Expression(is_text=True):
            yield from _expression_paths(value.formula.text())
        case str() if "{{" in value:
            yield from _template_paths(value)
        case dict():
            for each in value.values():
                yield from paths_in(each)
        case list():
            for each in value:
                yield from paths_in(each)
        case _:
            return


def _code_paths(code: str) -> Iterator[Path]:
    """What code reads, as far as it writes the names: `ctx.paid`, `steps["paid"]`."""
    for found in _NAMED.finditer(code):
        yield found["root"], found["plain"] or found["quoted"]


def _expression_paths(text: str) -> tuple[Path, ...]:
    try:
        return compile_expression(text).paths
    except ExpressionSyntaxError:
        # The compiler reports its problem, with the place.
        return ()


def _template_paths(text: str) -> tuple[Path, ...]:
    try:
        return compile_template(text).paths
    except ExpressionSyntaxError:
        return ()
