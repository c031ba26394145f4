"""No attempt to leave the language succeeds: each is refused, fails, or is harmless JSON.

Harmless means: undefined where a property is not an own key (`ctx.__class__`), or a value that the
language documents (`'a'.repeat(3)`). What must never come out is anything that is not JSON,
anything beyond the bounds, an undeclared exception, or an event that the audit hook watches for.
"""

from __future__ import annotations

import json

import pytest

from tenuto.expr import UNDEFINED, ExpressionError, ExpressionSyntaxError, compile_expression
from tenuto.expr.bounds import RESULT_BYTES
from tests.expr.cases import SCOPE
from tests.expr.escapes import DUNDERS, PROTOTYPES, WHOLE, corpus
from tests.expr.test_untrusted_text import attempt, nothing_reached

CORPUS = sorted(set(corpus()))


def test_the_corpus_is_large() -> None:
    assert len(CORPUS) >= 600


@pytest.mark.parametrize("chunk", range(4))
def test_each_is_refused_or_harmless(chunk: int) -> None:
    with nothing_reached():
        outcomes = {source: attempt(source) for source in CORPUS[chunk::4]}
    for source, outcome in outcomes.items():
        if outcome is UNDEFINED or isinstance(outcome, ExpressionError | ExpressionSyntaxError):
            continue
        text = json.dumps(outcome, allow_nan=False)
        assert len(text) <= RESULT_BYTES * 2, source
        assert "__" not in text, source
        assert "function" not in text, source
        assert "<" not in text, source


@pytest.mark.parametrize("name", DUNDERS + PROTOTYPES)
def test_no_inherited_name_is_there(name: str) -> None:
    for start in ("ctx", "ctx.items", "'a'", "[1]", "{a: 1}", "true", "(1)"):
        assert compile_expression(f"{start}.{name}").evaluate(SCOPE) is UNDEFINED


STATEMENTS = WHOLE[: WHOLE.index("'\\ud800'")]
HARMLESS = {"{...ctx}.__class__", "[1].map(x => { return x })"}


@pytest.mark.parametrize("source", [each for each in STATEMENTS if each not in HARMLESS])
def test_what_is_no_expression_is_not_answered(source: str) -> None:
    outcome = attempt(source)
    assert isinstance(outcome, ExpressionError | ExpressionSyntaxError), outcome
