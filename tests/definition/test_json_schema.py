"""The JSON Schema of definitions agrees with the compiler, as far as a schema can."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tenuto.definition import check, compile_definition, parse_document
from tenuto.definition.json_schema import definition_schema
from tenuto.definition.nodes import TYPES
from tenuto.definition.to_document import to_graph_form
from tests.definition.faults import FAULTS, WARNINGS, Fault, steps_document
from tests.definition.node_examples import COMMON, EVERY, EXECUTES, EXECUTING, STEP_NAMES

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "workflow.schema.json"
FILES = [
    *ROOT.glob("tests/definition/samples/*.json"),
    *ROOT.glob("examples/*/*.json"),
    *ROOT.glob("examples/*/*.yaml"),
]
VALIDATOR = jsonschema_rs.Draft202012Validator(definition_schema())

NOT_EXPRESSIBLE = {
    "TEN-1003": "characters of text anywhere",
    "TEN-1021": "ids that are used twice",
    "TEN-1026": "which of two durations is longer",
    "TEN-1030": "the syntax of expressions",
    "TEN-1031": "the syntax of templates",
    "TEN-1032": "the names that an expression sees",
    "TEN-1033": "paths into payloads",
    "TEN-1660": "secrets in expressions",
    "TEN-1040": "targets that are no steps",
    "TEN-1041": "steps that are not reached",
    "TEN-1042": "cycles",
    "TEN-1043": "an edge that is there twice",
    "TEN-1044": "handles that a step does not have",
    "TEN-1045": "where the start is",
    "TEN-1047": "joins of more edges than there are",
    "TEN-1048": "joins of handles that exclude each other",
    "TEN-1049": "what a step may cancel",
    "TEN-1050": "edges across the border of a loop",
    "TEN-1051": "ends within a loop",
    "TEN-1054": "how deep loops are nested",
    "TEN-1055": "what a step may complete",
    "TEN-1057": "steps that an expression names",
    "TEN-1059": "whether an edge leaves a loop's handle `loop`",
    "TEN-1060": "schemas within definitions",
    "TEN-1062": "compensations of steps that are not there",
}
"""The codes of faults that a schema does not see, and what they are about."""


def problems(document: Any) -> list[str]:  # noqa: ANN401
    return [f"{each.instance_path}: {each.message}" for each in VALIDATOR.iter_errors(document)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_valid_document_fits(file: Path) -> None:
    document = parse_document(file.read_bytes(), file.name)
    assert isinstance(document, dict)
    assert check(document).definition is not None
    assert problems(document) == []
    assert problems(to_graph_form(compile_definition(document))) == []


@pytest.mark.parametrize(("tag", "settings"), EVERY, ids=lambda each: str(each)[:20])
def test_every_field_of_every_type_fits(tag: str, settings: dict[str, Any]) -> None:
    shared = {**COMMON, **(EXECUTING if tag in EXECUTES else {})}
    step = {"stepId": "a", "type": STEP_NAMES[tag], **shared, **settings}
    node = {"id": "a", "type": tag, "config": {**shared, **settings}}
    assert problems({"steps": [step]}) == []
    assert problems({"nodes": [node], "edges": []}) == []


@pytest.mark.parametrize(
    ("settings", "fits"),
    [
        ({"concurrency": 1}, True),
        ({"mode": "parallel", "concurrency": 2, "enough": 3}, True),
        ({"mode": "sequential"}, False),
        ({"joinMode": "all"}, False),
        ({"more": {"eventPattern": "item.found"}}, False),
    ],
)
def test_a_loop_over_arrivals_has_rules_of_its_own(settings: dict[str, Any], fits: bool) -> None:
    loop = {"source": "arrivals", **settings}
    tasks = [{"stepId": id, "type": "TASK", "taskId": "t"} for id in ("a", "b")]
    leading = {**tasks[0], "transitions": {"default": "l"}}
    step = {"stepId": "l", "type": "LOOP", **loop, "transitions": {"loop": "b"}}
    document: Any = {"steps": [leading, step, tasks[1]]}
    assert (check(document).definition is not None) == fits
    assert (problems(document) == []) == fits
    node = {"id": "l", "type": "loop", "config": loop}
    assert (problems({"nodes": [node], "edges": []}) == []) == fits


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_fault_that_a_schema_can_express_is_refused(fault: Fault) -> None:
    document = steps_document()
    assert problems(document) == []
    code, _ = fault(document)
    if fault in WARNINGS:
        assert problems(document) == []
    else:
        assert bool(problems(document)) != (code in NOT_EXPRESSIBLE), code


def test_a_document_that_names_its_schema_is_valid() -> None:
    document = {**steps_document(), "$schema": "./workflow.schema.json"}
    assert problems(document) == []
    assert check(document).problems == ()


@pytest.mark.parametrize("row", TYPES, ids=lambda row: row.tag)
def test_fields_of_another_type_are_refused(row: Any) -> None:  # noqa: ANN401
    step = {"stepId": "a", "type": row.step, "notAField": 1}
    assert any("notAField" in each for each in problems({"steps": [step]}))


def test_the_published_schema_is_the_one_that_is_made() -> None:
    """`tenuto schema > docs/workflow.schema.json` writes it."""
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == definition_schema()
