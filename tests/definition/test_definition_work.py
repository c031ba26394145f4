"""Tests that the work of checking a definition is bounded, whatever it says."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence

import pytest

from tenuto.definition import check, compile_definition, compiler
from tenuto.definition.compiler import MOST_EXPRESSION_CHARACTERS
from tenuto.definition.report import MOST_COMPARED, MOST_PROBLEMS
from tenuto.model.json import JSON, Object
from tests.bombs.bomb import Bomb
from tests.bombs.definitions import DEFINITIONS


@pytest.mark.slow
@pytest.mark.parametrize("bomb", DEFINITIONS, ids=[bomb.name for bomb in DEFINITIONS])
def test_a_definition_bomb_is_refused_within_its_bounds(
    bomb: Bomb[Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read of the expressions is bounded by their characters: here by a tenth of them."""
    monkeypatch.setattr(compiler, "MOST_EXPRESSION_CHARACTERS", MOST_EXPRESSION_CHARACTERS // 10)
    checked = check(bomb.make())
    assert checked.definition is None
    assert 0 < len(checked.problems) <= MOST_PROBLEMS
    assert sum(len(each.path) + len(each.message) for each in checked.problems) < 3_000_000


@pytest.mark.parametrize(
    "bomb", [each for each in DEFINITIONS if "unknown-" in each.name], ids=lambda each: each.name
)
def test_the_names_that_a_document_has_compared_are_bounded(
    bomb: Bomb[Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []

    def no_match(name: str, names: Sequence[str], **_: object) -> list[str]:
        compared.extend(names)
        return []

    monkeypatch.setattr(difflib, "get_close_matches", no_match)
    assert check(bomb.make()).problems
    assert sum(map(len, compared)) <= MOST_COMPARED


def test_a_small_document_has_unknown_names_too() -> None:
    [small] = [each.make() for each in DEFINITIONS if each.name == "unknown-variables"]
    assert len(json.dumps(small)) < 20_000


def test_a_few_unknown_names_are_each_told_the_nearest() -> None:
    known: list[JSON] = [{"stepId": f"step_{n}", "type": "END"} for n in range(200)]
    wrong: list[JSON] = [
        {"stepId": f"s{n}", "type": "TASK", "taskId": "t", "transitions": {"default": f"stpe_{n}"}}
        for n in range(100, 110)
    ]
    advice = [each.advice for each in check({"steps": [*known, *wrong]}).problems]
    assert [f"Did you mean `step_{n}`?" in str(advice) for n in range(100, 110)] == [True] * 10


def _task(input: JSON) -> Object:
    return {"steps": [{"stepId": "a", "type": "TASK", "taskId": "t", "input": input}]}


def test_expressions_are_bounded_together_and_the_first_excess_is_named() -> None:
    text = "{{ctx.a" + "     " * 600 + "}}"
    count = MOST_EXPRESSION_CHARACTERS // len(text) + 1
    document = _task({f"k{n}": text for n in range(count)})
    document["cancellationTriggers"] = [{"eventPattern": "a", "eventCondition": "event.payload.a"}]
    [problem] = [each for each in check(document).problems if each.severity == "error"]
    assert (problem.code, problem.path) == ("TEN-1036", "$.steps[0].input")


def test_a_definition_with_many_expressions_that_was_saved_before_still_compiles() -> None:
    text = "{{ctx.a" + "     " * 600 + "}}"
    document = _task([text] * (MOST_EXPRESSION_CHARACTERS // len(text) + 1))
    assert compile_definition(document, is_saved=True).graph.nodes


@pytest.mark.slow
def test_ten_thousand_nodes_with_expressions_of_their_own_are_within_the_bounds() -> None:
    steps: list[JSON] = [
        {
            "stepId": f"s{n}",
            "type": "TASK",
            "taskId": "t",
            "input": "{{workflow.input.amount + 100}}",
            "transitions": {"default": f"s{n + 1}"} if n < 9_999 else {},
        }
        for n in range(10_000)
    ]
    assert check({"steps": steps}).definition is not None
