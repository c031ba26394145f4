"""Tests that the expressions of one template are bounded together."""

from __future__ import annotations

import pytest

from tenuto.expr import ExpressionError, compile_template
from tenuto.expr.bounds import RESULT_BYTES, TEMPLATE_BYTES
from tests.bombs.bomb import Bomb
from tests.bombs.expressions import EXPRESSIONS, Case


@pytest.mark.parametrize("bomb", EXPRESSIONS, ids=[bomb.name for bomb in EXPRESSIONS])
def test_the_expressions_of_a_template_share_one_budget(bomb: Bomb[Case]) -> None:
    template, scope = bomb.make()
    with pytest.raises(ExpressionError, match="the template"):
        compile_template(template).render(scope)


def test_a_template_may_give_several_large_values() -> None:
    text = "x" * (RESULT_BYTES - 100)
    several = TEMPLATE_BYTES // RESULT_BYTES
    rendered = compile_template(["{{ctx.text}}"] * several).render({"ctx": {"text": text}})
    assert rendered == [text] * several
