r"""Cutting a template string into its texts and its expressions.

`{{` opens an expression, `}}` closes it, and `\{{` is a literal `{{`. The closing braces are found
by reading tokens: braces of an object literal, or inside a string, close nothing.
"""

from __future__ import annotations

from typing import Final

from tenuto.expr.bounds import SOURCE_CHARACTERS
from tenuto.expr.errors import ExpressionSyntaxError
from tenuto.expr.expression import Expression, compile_expression
from tenuto.expr.lexer import next_token

_OPEN: Final = "{{"
_CLOSE: Final = "}}"


def segments(
    text: str, roots: frozenset[str]
) -> tuple[list[str | Expression], list[ExpressionSyntaxError]]:
    """The parts of `text` in order, neighbouring texts being one, and every fault in it."""
    parts: list[str | Expression] = []
    faults: list[ExpressionSyntaxError] = []
    literal = ""
    position = 0
    while (start := text.find(_OPEN, position)) >= 0:
        if start > position and text[start - 1] == "\\":
            literal += text[position : start - 1] + _OPEN
            position = start + 2
            continue
        literal += text[position:start]
        try:
            end = _closing(text, start + 2)
        except ExpressionSyntaxError as fault:
            # Where an expression ends is not known, so neither is where the next one starts.
            return parts, [*faults, fault]
        try:
            expression = compile_expression(text[start + 2 : end].strip(), roots=roots)
        except ExpressionSyntaxError as fault:
            faults.append(fault)
        else:
            parts += [literal, expression] if literal else [expression]
            literal = ""
        position = end + 2
    literal += text[position:]
    return ([*parts, literal] if literal else parts), faults


def _closing(text: str, start: int) -> int:
    """Where the `}}` stands that closes the expression which starts at `start`."""
    depth = 0
    position = start
    while position < len(text) and position - start <= SOURCE_CHARACTERS + 2:
        if depth == 0 and text.startswith(_CLOSE, position):
            return position
        token, position = next_token(text, position)
        if token is not None and token.kind == "sign" and token.text in ("{", "}"):
            depth += 1 if token.text == "{" else -1
    raise ExpressionSyntaxError(
        "`{{` is never closed",
        source=text[start - 2 : start + 80],
        position=0,
        advice=r"Close it with `}}`, or write `\{{` for the characters themselves.",
    )
