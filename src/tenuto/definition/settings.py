"""The settings that nodes share, whatever their type."""

from __future__ import annotations

from typing import cast

from tenuto.definition.fields import UNUSABLE, Field, Fields, Record
from tenuto.definition.language_kinds import Expression, Template, Variable
from tenuto.definition.nodes import TYPES, AnyNodeType
from tenuto.definition.plain_kinds import Flag, Id, ListOf, Number, OneOf, Text, Whole
from tenuto.definition.report import Place, shown
from tenuto.definition.time_kinds import Span
from tenuto.model.graph import ErrorRoute, Route
from tenuto.model.json import JSON, Object
from tenuto.model.policy import RetryPolicy


class JoinMode:
    """`all`, `any` or `{"atLeast": n}`: how many incoming edges must be taken."""

    def read(self, value: JSON, place: Place) -> object:
        match value:
            case "all":
                return None
            case "any":
                return 1
            case {"atLeast": least, **rest}:
                for name in rest:
                    place.at(str(name)).wrong("TEN-1012", f"`{name}` is not a field here")
                return Whole(least=1).read(cast("JSON", least), place.at("atLeast"))
            case _:
                place.wrong(
                    "TEN-1013",
                    f"{shown(value)} is not a join mode",
                    'It is `all`, `any` or `{"atLeast": n}`.',
                )
                return UNUSABLE

    def write(self, value: object) -> JSON:
        match value:
            case None:
                return "all"
            case 1:
                return "any"
            case _:
                return {"atLeast": cast("JSON", value)}

    def schema(self) -> Object:
        least: Object = {
            "type": "object",
            "properties": {"atLeast": Whole(least=1).schema()},
            "required": ["atLeast"],
            "additionalProperties": False,
        }
        return {"anyOf": [{"enum": ["all", "any"]}, least]}


RETRY = Record(
    RetryPolicy,
    Fields(
        Field("maxAttempts", "max_attempts", Whole(least=1)),
        Field("initialDelay", "initial_delay", Span()),
        Field("multiplier", "multiplier", Number(least=1)),
        Field("maxDelay", "max_delay", Span()),
        Field("nonRetryable", "non_retryable", ListOf(Text())),
        Field("onLost", "on_lost", OneOf("retry", "fail")),
    ),
)

TITLES = Fields(
    Field("name", "name", Text(may_be_empty=True)),
    Field("description", "description", Text(may_be_empty=True)),
)

COMMON = TITLES + Fields(
    Field("outputVariable", "output_variable", Variable()),
    Field("timeout", "timeout", Span(may_be_zero=False)),
    Field("errorHandling", "error_handling", OneOf("continue", "fail_workflow")),
    Field("joinMode", "at_least", JoinMode()),
    Field("cancelRest", "cancel_rest", Flag()),
    Field("cancels", "cancels", ListOf(Text())),
    Field("completes", "completes", ListOf(Text())),
    Field("when", "when", Expression()),
)

EXECUTING = Fields(Field("retry", "retry", RETRY), Field("mutex", "mutex", Template("text")))

CODES = ListOf(Text(), least=1)

ROUTES = Fields(
    Field(
        "conditions",
        "conditions",
        ListOf(
            Record(
                Route,
                Fields(
                    Field("when", "when", Expression(), required=True),
                    Field("handle", "handle", Id(), required=True),
                ),
            )
        ),
    ),
    Field(
        "onError",
        "on_error",
        ListOf(
            Record(
                ErrorRoute,
                Fields(
                    Field("codes", "codes", CODES, required=True),
                    Field("handle", "handle", Id(), required=True),
                ),
            )
        ),
    ),
)


def shared_fields(row: AnyNodeType) -> Fields:
    """The settings of the node itself, beside those of its config."""
    return _EXECUTING if row.executes else COMMON


def readable_fields(row: AnyNodeType, *, has_routes: bool) -> Fields:
    """All fields of a node of this type; with `ROUTES` if it has routes."""
    return _READABLE[row.tag, has_routes]


_EXECUTING = COMMON + EXECUTING

_READABLE = {
    (row.tag, has_routes): shared_fields(row) + row.fields + (ROUTES if has_routes else Fields())
    for row in TYPES
    for has_routes in (True, False)
}
