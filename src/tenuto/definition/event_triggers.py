"""Reads `triggers` and `cancellationTriggers`: which events start and which cancel instances."""

from __future__ import annotations

from typing import cast

from tenuto.definition.fields import Field, Fields, Verbatim
from tenuto.definition.plain_kinds import Flag, ListOf, Text
from tenuto.definition.report import Place
from tenuto.definition.spoken_kinds import EventCondition, EventPattern, Mapping
from tenuto.model.json import JSON, Object

_PATTERN = Field("eventPattern", "event_pattern", EventPattern(), required=True)

_CANCELLATION_TRIGGERS = ListOf(
    Verbatim(
        Fields(
            _PATTERN,
            Field("eventCondition", "event_condition", EventCondition()),
            Field("reason", "reason", Text(may_be_empty=True)),
            Field("shouldCompensate", "should_compensate", Flag()),
        )
    )
)

_TRIGGERS = ListOf(
    Verbatim(
        Fields(
            _PATTERN,
            # There is no instance yet that an equality could be indexed by.
            Field("eventCondition", "event_condition", EventCondition(is_indexed=False)),
            Field("inputMapping", "input_mapping", Mapping(into_context=False)),
        )
    )
)


def read_cancellation_triggers(value: JSON, place: Place) -> tuple[Object, ...]:
    """The events that cancel an instance, as written."""
    read = _CANCELLATION_TRIGGERS.read(value, place)
    return cast("tuple[Object, ...]", read) if isinstance(read, tuple) else ()


def read_triggers(value: JSON, place: Place) -> tuple[Object, ...]:
    """The events that start an instance, as written; their expressions see only the event."""
    read = _TRIGGERS.read(value, Place(place.path, place.report))
    return cast("tuple[Object, ...]", read) if isinstance(read, tuple) else ()
