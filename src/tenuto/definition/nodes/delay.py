"""delay: sleeps for a while, or until a moment."""

from __future__ import annotations

from tenuto.definition.fields import Field, Fields
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.nodes.rules import exactly_one, one_of_schema
from tenuto.definition.time_kinds import (
    CalendarId,
    LengthOrTemplate,
    MomentOrTemplate,
    beside_calendar,
)
from tenuto.model.graph import DEFAULT, Delay
from tenuto.model.json import Object


def _finish(found: dict[str, object], settings: Object) -> None:
    if "calendar" in found and "duration" in found:
        found["duration"] = beside_calendar(settings["duration"], found["duration"])


DELAY = NodeType(
    tag="delay",
    step="DELAY",
    make=Delay,
    fields=Fields(
        Field("duration", "duration", LengthOrTemplate()),
        Field("until", "until", MomentOrTemplate()),
        Field("calendar", "calendar", CalendarId()),
    ),
    handles=lambda _: (DEFAULT,),
    finish=_finish,
    rules=lambda settings, place: exactly_one(settings, ("duration", "until"), place),
    rules_schema=(one_of_schema("duration", "until"),),
)
