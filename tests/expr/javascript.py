"""A real JavaScript engine as the judge of what an expression means."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import quickjs  # type: ignore[import-untyped]

from tenuto.expr import UNDEFINED, ExpressionError, ExpressionSyntaxError, compile_expression
from tenuto.expr.frame import Frame
from tenuto.expr.numerals import number_text

# Both sides spell a result in the same way, so that NaN, -0, undefined and lone surrogates compare.
PRELUDE = """
const spell = value => {
  if (value === undefined) return 'undefined';
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (Array.isArray(value)) return value.map(spell);
  if (typeof value === 'object' && value !== null)
    return {object: Object.entries(value).map(([key, each]) => [key, spell(each)])};
  if (typeof value === 'string') return {string: value};
  if (typeof value === 'function') return 'function';
  return {is: value};
};
const judge = sources => JSON.stringify(sources.map(source => {
  try { return spell((0, eval)('(' + source + ')')); }
  catch (error) { return {error: String(error)}; }
}));
"""


@dataclass(frozen=True)
class Difference:
    """A documented way in which an expression differs from JavaScript."""

    name: str
    ours: str = ""
    """How the message of our error starts."""
    javascript: str = ""
    """How the message of JavaScript's error starts."""


# The rest of the table in docs/expressions.md needs no entry here: the generator keeps away from
# integers beyond 2^53, keys that look like integers, names of prototypes and functions as values.
DIFFERENCES = (
    Difference(
        "reading from null or undefined gives undefined", javascript="TypeError: cannot read"
    ),
    Difference("Object.fromEntries takes arrays only", ours="`Object.fromEntries` takes an"),
    Difference("JSON.stringify takes no list of keys", ours="`JSON.stringify` takes no"),
)


class JavaScript:
    def __init__(self, scope: dict[str, Any]) -> None:
        self.context = quickjs.Context()
        self.context.eval(PRELUDE)
        for root, value in scope.items():
            self.context.eval(f"globalThis.{root} = {json.dumps(value)};")

    def outcomes(self, sources: Sequence[str]) -> list[Any]:
        answer = self.context.eval(f"judge({json.dumps(sources)})")
        outcomes: list[Any] = json.loads(answer)
        return outcomes


def ours(source: str, scope: dict[str, Any]) -> object:
    try:
        expression = compile_expression(source)
        return spell(expression._evaluate(Frame(scope, expression._slots, expression._fuel)))
    except (ExpressionError, ExpressionSyntaxError) as error:
        return {"error": error.message}


def spell(value: Any) -> object:  # noqa: ANN401
    if value is UNDEFINED:
        return "undefined"
    if type(value) in (int, float):
        return "-0" if value == 0 and math.copysign(1, value) < 0 else number_text(value)
    if type(value) is list:
        return [spell(each) for each in value]
    if type(value) is dict:
        return {"object": [[key, spell(each)] for key, each in value.items()]}
    if type(value) is str:
        return {"string": value}
    return {"is": value}


def difference(mine: object, theirs: object) -> Difference | None:
    """The documented difference that two unlike outcomes show, if any."""
    for each in DIFFERENCES:
        outcome, start = (mine, each.ours) if each.ours else (theirs, each.javascript)
        if isinstance(outcome, dict) and outcome.get("error", "").startswith(start):
            return each
    return None


def agree(mine: object, theirs: object) -> bool:
    if isinstance(mine, dict) and isinstance(theirs, dict) and "error" in mine:
        return "error" in theirs
    return bool(mine == theirs)
