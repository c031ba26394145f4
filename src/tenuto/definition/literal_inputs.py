"""Inputs that a definition spells out and that their tasks do not take.

What an expression gives is known when it runs; names and literal values are known before. The task
may be another one by then: no more than a warning can be given.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from itertools import islice

from msgspec.structs import replace

from tenuto.definition.report import Place, Report
from tenuto.definition.schema_work import MOST_STEPS
from tenuto.definition.schemas import begun, check_literals
from tenuto.model.errors import Problem
from tenuto.model.graph import Definition, Task
from tenuto.model.json import JSON, Object

_MOST = 100
_CODE = "TEN-2112"
_ALIKE = 0.75
"""How alike a misspelling and its name are; a part for others is not meant."""
_MOST_COMPARED = 1_000
_LONGEST = 100


def literal_input_problems(
    definition: Definition, schema_of: Callable[[str], Object | None]
) -> list[Problem]:
    """Warnings for literal inputs of steps; `schema_of` has the input schemas of tasks."""
    return list(islice(_problems(definition, schema_of), _MOST))


def _problems(
    definition: Definition, schema_of: Callable[[str], Object | None]
) -> Iterator[Problem]:
    in_steps = definition.spelling == "steps"
    spelled = "$.steps[{}].input" if in_steps else "$.nodes[{}].config.input"
    steps = 0
    for index, node in enumerate(definition.graph.nodes):
        if not isinstance(node.config, Task) or not node.config.has_input:
            continue
        schema = schema_of(node.config.task_id)
        if schema is None:
            continue
        found = check_literals(schema, node.config.input)
        for each in (*found.problems, *_misspelled(schema, node.config.input)):
            yield replace(
                each,
                path=spelled.format(index) + each.path.removeprefix("$"),
                message=f"task {node.config.task_id!r} does not take this: {each.message}",
                severity="warning",
            )
        steps += found.steps
        if steps > MOST_STEPS:
            return


def _misspelled(schema: Object, given: JSON) -> Iterator[Problem]:
    """Names that are nearly those of parts that are not given; an open type takes any name."""
    whole = begun(schema)
    names = whole.get("properties")
    if not isinstance(given, dict) or not isinstance(names, dict):
        return
    left = [each for each in names if each not in given]
    unknown = [each for each in given if each not in names and len(each) <= _LONGEST]
    if "additionalProperties" in whole or len(left) * len(unknown) > _MOST_COMPARED:
        return
    report = Report()
    for name in unknown:
        for near in difflib.get_close_matches(name, left, n=1, cutoff=_ALIKE):
            there = Place("$", report).at(name)
            there.warn(_CODE, f"there is no part `{name}` in it", f"Did you mean `{near}`?")
    yield from report.problems
