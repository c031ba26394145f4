"""loop: runs its body for each item, or while a condition holds."""

from __future__ import annotations

from typing import cast

from tenuto.definition.expressions import EVENT, ITERATION
from tenuto.definition.fields import Field, Fields, Record
from tenuto.definition.language_kinds import EventCondition, EventPattern, Expression, Template
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.nodes.rules import (
    exactly_one,
    not_beside,
    not_beside_schema,
    one_of_schema,
)
from tenuto.definition.plain_kinds import OneOf, Whole
from tenuto.definition.report import Place
from tenuto.model.graph import BODY, DONE, Loop, More
from tenuto.model.json import JSON, Object


class Enough:
    """A number of completed iterations, or an expression about the results so far."""

    def read(self, value: JSON, place: Place) -> object:
        kind = Expression() if isinstance(value, str) else Whole(least=1)
        return kind.read(value, place)

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"anyOf": [Expression().schema(), Whole(least=1).schema()]}


class ResultTemplate(Template):
    """What an iteration gives, which sees the steps of the body."""

    def __init__(self) -> None:
        super().__init__(sees=ITERATION)

    def read(self, value: JSON, place: Place) -> object:
        return super().read(value, place.in_body())


_MORE = Fields(
    Field("eventPattern", "event_pattern", EventPattern(), required=True),
    Field("eventCondition", "event_condition", EventCondition()),
    Field("item", "item", Template(sees=EVENT)),
)


def _rules(settings: Object, place: Place) -> None:
    exactly_one(settings, ("source", "while"), place)
    not_beside(settings, ("mode", "concurrency", "more"), "while", place)
    not_beside(settings, ("maxIterations",), "source", place)
    if "concurrency" in settings and settings.get("mode") != "parallel" and "while" not in settings:
        place.at("concurrency").wrong(
            "TEN-1018",
            "`concurrency` means nothing where one iteration follows the other",
            "Remove it, or add `mode: parallel`.",
        )
    if "more" in settings and settings.get("mode") != "parallel" and "while" not in settings:
        place.at("more").wrong(
            "TEN-1018",
            "`more` appends items while others are under way, which needs `mode: parallel`",
            "Add `mode: parallel`, with `concurrency: 1` if one is to follow the other.",
        )


_PARALLEL: Object = {"properties": {"mode": {"const": "parallel"}}, "required": ["mode"]}

LOOP = NodeType(
    tag="loop",
    step="LOOP",
    make=Loop,
    fields=Fields(
        Field("source", "source", Template("array or template")),
        Field("while", "while_", Expression(frozenset({"index"}))),
        Field("mode", "mode", OneOf("sequential", "parallel")),
        Field("concurrency", "concurrency", Whole(least=1)),
        Field("onItemError", "on_item_error", OneOf("fail", "continue")),
        Field("maxIterations", "max_iterations", Whole(least=1)),
        Field("result", "result", ResultTemplate()),
        Field("enough", "enough", Enough()),
        Field("more", "more", Record(More, _MORE)),
    ),
    handles=lambda _: (BODY, DONE),
    rules=_rules,
    rules_schema=(
        one_of_schema("source", "while"),
        not_beside_schema(("mode", "concurrency", "more"), "while"),
        not_beside_schema(("maxIterations",), "source"),
        {"dependentSchemas": {"concurrency": _PARALLEL, "more": _PARALLEL}},
    ),
    has_own_handles=lambda _: True,
)
