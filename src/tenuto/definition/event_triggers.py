"""Reads `triggers` and `cancellationTriggers`: which events start and which cancel instances."""

from __future__ import annotations

from typing import cast

from tenuto.definition.fields import Field, Fields, Record
from tenuto.definition.language_kinds import EventCondition, EventPattern, Mapping
from tenuto.definition.plain_kinds import Flag, ListOf, Text
from tenuto.definition.report import Place
from tenuto.model.graph import CancellationTrigger, Trigger
from tenuto.model.json import JSON, Object

_PATTERN = Field("eventPattern", "event_pattern", EventPattern(), required=True)

_CANCELLATION_TRIGGERS = ListOf(
    Record(
        CancellationTrigger,
        Fields(
            _PATTERN,
            Field("eventCondition", "event_condition", EventCondition(is_lasting=True)),
            Field("reason", "reason", Text(may_be_empty=True)),
            Field("shouldCompensate", "should_compensate", Flag()),
        ),
    )
)

_TRIGGERS = ListOf(
    Record(
        Trigger,
        Fields(
            _PATTERN,
            # There is no instance yet that an equality could be indexed by.
            Field("eventCondition", "event_condition", EventCondition(is_indexed=False)),
            Field("inputMapping", "input_mapping", Mapping(into_context=False)),
        ),
    )
)


def read_cancellation_triggers(value: JSON, place: Place) -> tuple[CancellationTrigger, ...]:
    """The events that cancel an instance."""
    read = _CANCELLATION_TRIGGERS.read(value, place)
    return cast("tuple[CancellationTrigger, ...]", read) if isinstance(read, tuple) else ()


def write_cancellation_triggers(triggers: tuple[CancellationTrigger, ...]) -> JSON:
    """As documents spell them."""
    return _CANCELLATION_TRIGGERS.write(triggers)


def triggers_schema() -> Object:
    """The JSON Schema of `triggers`."""
    return _TRIGGERS.schema()


def cancellation_triggers_schema() -> Object:
    """The JSON Schema of `cancellationTriggers`."""
    return _CANCELLATION_TRIGGERS.schema()


def read_triggers(value: JSON, place: Place) -> tuple[Trigger, ...]:
    """The events that start an instance; their expressions see only the event."""
    read = _TRIGGERS.read(value, Place(place.path, place.report))
    return cast("tuple[Trigger, ...]", read) if isinstance(read, tuple) else ()


def write_triggers(triggers: tuple[Trigger, ...]) -> JSON:
    """As documents spell them."""
    return _TRIGGERS.write(triggers)
