"""The page about definitions says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tenuto.definition import check, parse_document
from tenuto.definition.compiler import compile_definition
from tenuto.definition.nodes import TYPES
from tenuto.definition.settings import COMMON

PAGE = (Path(__file__).parents[2] / "docs" / "definitions.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_on_the_page_is_valid(number: int) -> None:
    assert check(parse_document(EXAMPLES[number], "page")).problems == ()


def test_the_page_has_examples_of_all_three_forms() -> None:
    graphs = [compile_definition(parse_document(each, "page")) for each in EXAMPLES]
    spellings = [each.spelling for each in graphs]
    assert spellings == ["steps", "steps", "graph", "steps", "steps", "steps", "steps"]
    assert "dependsOn" in EXAMPLES[1]
    assert "SET" in EXAMPLES[3]
    assert "APPROVAL" in EXAMPLES[4]
    assert "calendar" in EXAMPLES[5]
    assert "compensationSteps" in EXAMPLES[6]


def test_the_page_lists_every_type_and_every_field() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.*?) \|", PAGE, re.MULTILINE)
    listed = {(step, tag): set(re.findall(r"`(\w+)`", fields)) for step, tag, fields in rows}
    assert listed == {(row.step, row.tag): set(row.fields.by_name) for row in TYPES}
    assert all(f"`{name}`" in PAGE for name in COMMON.by_name)
