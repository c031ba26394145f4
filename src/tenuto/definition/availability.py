"""Features that validate but cannot run yet: each row is removed with its implementation."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tenuto.definition.expressions import expression_names_root, is_templated, names_root
from tenuto.definition.report import Place, Report
from tenuto.model.errors import Problem
from tenuto.model.graph import (
    CompensationStep,
    DataQuery,
    Definition,
    Http,
    JavaScript,
    Node,
    Task,
)

NOT_AVAILABLE = "NOT_AVAILABLE"

_TYPES: dict[type, str] = {
    JavaScript: "TEN-1903",
    DataQuery: "TEN-1904",
    Http: "TEN-1905",
}


class _Setting(NamedTuple):
    code: str
    name: str
    is_used: Callable[[Node], bool]


def _has_secrets(node: Node) -> bool:
    return isinstance(node.config, Task) and names_root(node.config.input, "secrets")


def _undoes_with_secrets(step: CompensationStep) -> bool:
    if isinstance(step.input, str) and not is_templated(step.input):
        return expression_names_root(step.input, "secrets")
    return names_root(step.input, "secrets")


_SETTINGS = (_Setting("TEN-1916", "input", _has_secrets),)


class _Surrounding(NamedTuple):
    code: str
    path: tuple[str, ...]
    is_used: Callable[[Definition], bool]


_SURROUNDINGS = (
    _Surrounding("TEN-1915", ("options", "encrypt"), lambda it: bool(it.options.encrypt)),
)


def unavailable(definition: Definition) -> tuple[Problem, ...]:
    """Everything in a definition that this version does not run, each with its place."""
    report = Report()
    root = Place("$", report)
    in_steps = definition.spelling == "steps"
    nodes = root.at("steps" if in_steps else "nodes")
    for index, node in enumerate(definition.graph.nodes):
        place = nodes.at(index)
        code = _TYPES.get(type(node.config))
        if code is not None:
            _refuse(place.at("type"), code, f"`{node.id}`")
        settings = place if in_steps else place.at("config")
        for setting in _SETTINGS:
            if setting.is_used(node):
                _refuse(settings.at(setting.name), setting.code, f"`{setting.name}` of `{node.id}`")
    undoing = root.at("compensationSteps")
    for index, step in enumerate(definition.compensation_steps):
        if _undoes_with_secrets(step):
            what = f"`input` of `{step.step_id}`"
            _refuse(undoing.at(index).at("input"), "TEN-1916", what)
    for surrounding in _SURROUNDINGS:
        if surrounding.is_used(definition):
            place = root
            for key in surrounding.path:
                place = place.at("workflowOptions" if key == "options" and not in_steps else key)
            _refuse(place, surrounding.code, f"`{'.'.join(surrounding.path)}`")
    return report.problems


def _refuse(place: Place, code: str, what: str) -> None:
    place.wrong(code, f"{NOT_AVAILABLE}: this version does not run {what}")
