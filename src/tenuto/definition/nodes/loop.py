"""loop: runs its body for each item or arrival, or while a condition holds."""

from __future__ import annotations

from typing import cast

from tenuto.definition.expressions import EVENT, ITERATION, is_templated
from tenuto.definition.fields import UNUSABLE, Field, Fields, Record
from tenuto.definition.language_kinds import (
    TEMPLATE,
    EventCondition,
    EventPattern,
    Expression,
    Template,
)
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.nodes.rules import (
    exactly_one,
    not_beside,
    not_beside_schema,
    one_of_schema,
)
from tenuto.definition.plain_kinds import OneOf, Whole
from tenuto.definition.report import Place, shown
from tenuto.model.graph import ARRIVALS, BODY, DONE, Loop, More
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


_AS_SOURCE = "Write an array, or a template such as `{{ctx.input.items}}`."


class Source:
    """An array, a template that gives one, or `arrivals`, the loop's incoming edges."""

    def read(self, value: JSON, place: Place) -> object:
        if value == ARRIVALS:
            return value
        if isinstance(value, str) and not is_templated(value):
            found = f"expected array, template or `{ARRIVALS}`, found {shown(value)}"
            place.wrong("TEN-1010", found, place.did_you_mean(value, (ARRIVALS,), _AS_SOURCE))
            return UNUSABLE
        return Template("array or template").read(value, place)

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"anyOf": [{"type": "array"}, TEMPLATE, {"const": ARRIVALS}]}


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
    if settings.get("source") == ARRIVALS:
        _rules_of_arrivals(settings, place)
        return
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


def _rules_of_arrivals(settings: Object, place: Place) -> None:
    if settings.get("mode") == "sequential":
        place.at("mode").wrong(
            "TEN-1018",
            "a loop over arrivals begins each as it arrives, beside those under way",
            "Remove `mode`; with `concurrency: 1` one follows the other.",
        )
    if "joinMode" in settings:
        place.at("joinMode").wrong(
            "TEN-1018",
            "a loop over arrivals begins with its first taken edge, and waits for none",
            "Remove `joinMode`; `enough: n` ends the loop once n iterations are done.",
        )
    if "more" in settings:
        place.at("more").wrong(
            "TEN-1018",
            "the items of a loop over arrivals are its incoming edges, and events append none",
            "Lead an event wait to the loop, or give the loop an array as its source.",
        )


_PARALLEL: Object = {"properties": {"mode": {"const": "parallel"}}, "required": ["mode"]}
_OVER_ARRIVALS: Object = {"properties": {"source": {"const": ARRIVALS}}, "required": ["source"]}
_OF_ARRIVALS: Object = {
    "properties": {"mode": {"const": "parallel"}, "joinMode": False, "more": False}
}

LOOP = NodeType(
    tag="loop",
    step="LOOP",
    make=Loop,
    fields=Fields(
        Field("source", "source", Source()),
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
        {
            "if": _OVER_ARRIVALS,
            "then": _OF_ARRIVALS,
            "else": {"dependentSchemas": {"concurrency": _PARALLEL, "more": _PARALLEL}},
        },
    ),
    has_own_handles=lambda _: True,
)
