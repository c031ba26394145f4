"""Features that validate but cannot run yet: each row is removed with its implementation."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tenuto.definition.report import Place, Report
from tenuto.model.errors import Problem
from tenuto.model.graph import Definition, Node

NOT_AVAILABLE = "NOT_AVAILABLE"


class _Setting(NamedTuple):
    code: str
    name: str
    is_used: Callable[[Node], bool]


_SETTINGS: tuple[_Setting, ...] = ()


class _Surrounding(NamedTuple):
    code: str
    path: tuple[str, ...]
    is_used: Callable[[Definition], bool]


_SURROUNDINGS: tuple[_Surrounding, ...] = ()


def unavailable(definition: Definition) -> tuple[Problem, ...]:
    """Everything in a definition that this version does not run, each with its place."""
    report = Report()
    root = Place("$", report)
    in_steps = definition.spelling == "steps"
    nodes = root.at("steps" if in_steps else "nodes")
    for index, node in enumerate(definition.graph.nodes):
        place = nodes.at(index)
        settings = place if in_steps else place.at("config")
        for setting in _SETTINGS:
            if setting.is_used(node):
                _refuse(settings.at(setting.name), setting.code, f"`{setting.name}` of `{node.id}`")
    for surrounding in _SURROUNDINGS:
        if surrounding.is_used(definition):
            place = root
            for key in surrounding.path:
                place = place.at("workflowOptions" if key == "options" and not in_steps else key)
            _refuse(place, surrounding.code, f"`{'.'.join(surrounding.path)}`")
    return report.problems


def _refuse(place: Place, code: str, what: str) -> None:
    place.wrong(code, f"{NOT_AVAILABLE}: this version does not run {what}")
