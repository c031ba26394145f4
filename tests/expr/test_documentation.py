"""Every example in the language reference gives what the page says, and nothing is left out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tenuto.expr import (
    UNDEFINED,
    ExpressionError,
    ExpressionSyntaxError,
    compile_expression,
    compile_template,
)
from tenuto.expr.library import CONSTANTS, FUNCTIONS, ITERATIONS, METHODS
from tenuto.expr.parser import STRENGTHS

PAGE = (Path(__file__).parents[2] / "docs" / "expressions.md").read_text(encoding="utf-8")
SCOPE: dict[str, Any] = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1])  # type: ignore[index]
ROW = re.compile(
    r"^\| `(?P<source>.+?)` \| (?:`(?P<result>.+)`|(?P<error>error)) \|$", re.MULTILINE
)


def examples(kind: str) -> list[tuple[str, str]]:
    """The rows of all tables with this heading, as (source, result)."""
    found: list[tuple[str, str]] = []
    for table in re.findall(rf"^\| (?:⇒ )?{kind} \| gives \|\n(?:\|.*\n)+", PAGE, re.MULTILINE):
        rows = table.splitlines()[2:]
        matches = [ROW.match(row) for row in rows]
        assert all(matches), [row for row, match in zip(rows, matches, strict=True) if not match]
        for match in matches:
            assert match is not None
            source, result = match["source"], match["result"] or match["error"]
            found.append((source.replace(r"\|", "|"), result))
    return found


def shown(value: object) -> str:
    return "undefined" if value is UNDEFINED else json.dumps(value, ensure_ascii=False)


def outcome(kind: str, source: str) -> str:
    try:
        if kind == "template":
            return shown(compile_template(source).render(SCOPE))
        return shown(compile_expression(source).evaluate(SCOPE))
    except (ExpressionError, ExpressionSyntaxError):
        return "error"


def test_there_are_examples() -> None:
    assert len(examples("expression")) > 150
    assert len(examples("template")) > 5


@pytest.mark.parametrize(
    ("kind", "source", "result"),
    [(kind, *row) for kind in ("expression", "template") for row in examples(kind)],
)
def test_the_example_gives_what_the_page_says(kind: str, source: str, result: str) -> None:
    if result not in ("undefined", "error"):
        result = shown(json.loads(result))
    assert outcome(kind, source) == result


def test_everything_in_the_language_is_on_the_page() -> None:
    names = {*FUNCTIONS, *CONSTANTS}
    names |= {f".{name}(" for name in {*ITERATIONS}.union(*METHODS.values())}
    names |= {f"`{operator}`" for operator in STRENGTHS if operator != "||"}
    assert [name for name in sorted(names) if name not in PAGE] == []
