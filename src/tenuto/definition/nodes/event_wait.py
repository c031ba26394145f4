"""eventWait: waits for an event, for several, or for whichever of several comes first."""

from __future__ import annotations

from tenuto.definition.fields import Field, Fields, Record
from tenuto.definition.language_kinds import (
    EventCondition,
    EventPattern,
    Mapping,
    OwnHandle,
    Template,
)
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.nodes.rules import (
    distinct_ids,
    exactly_one,
    not_beside,
    not_beside_schema,
    one_of_schema,
)
from tenuto.definition.plain_kinds import ListOf, Whole
from tenuto.definition.report import Place
from tenuto.definition.time_kinds import EventTimeout, Lookback
from tenuto.model.graph import DEFAULT, TIMEOUT, Arm, EventWait
from tenuto.model.json import Object

MOST_EVENTS = 1_000
"""The most events that one wait takes: all of them are in its output."""

_CONDITION = Field("eventCondition", "event_condition", EventCondition())
_MAPPING = Field("eventPayloadMapping", "event_payload_mapping", Mapping(into_context=True))

_ARM = Fields(
    Field("id", "id", OwnHandle(), required=True),
    Field("eventPattern", "event_pattern", EventPattern(), required=True),
    _CONDITION,
    _MAPPING,
)


def _handles(wait: EventWait) -> tuple[str, ...]:
    return (*((arm.id for arm in wait.arms) if wait.arms else (DEFAULT,)), TIMEOUT)


def _rules(settings: Object, place: Place) -> None:
    exactly_one(settings, ("eventPattern", "arms"), place)
    not_beside(settings, ("eventCondition", "eventPayloadMapping"), "arms", place)
    not_beside(settings, ("count",), "arms", place)
    not_beside(settings, ("eventPayloadMapping",), "count", place)
    distinct_ids(settings, "arms", place)


EVENT_WAIT = NodeType(
    tag="eventWait",
    step="EVENT_WAIT",
    make=EventWait,
    fields=Fields(
        Field("eventPattern", "event_pattern", EventPattern()),
        _CONDITION,
        _MAPPING,
        Field("eventTimeout", "event_timeout", EventTimeout()),
        Field("lookback", "lookback", Lookback()),
        Field("correlationId", "correlation_id", Template("text")),
        Field("arms", "arms", ListOf(Record(Arm, _ARM), least=1)),
        Field("count", "count", Whole(least=1, most=MOST_EVENTS)),
    ),
    handles=_handles,
    rules=_rules,
    rules_schema=(
        one_of_schema("eventPattern", "arms"),
        not_beside_schema(("eventCondition", "eventPayloadMapping", "count"), "arms"),
        not_beside_schema(("eventPayloadMapping",), "count"),
    ),
    has_own_handles=lambda settings: "arms" in settings,
)
