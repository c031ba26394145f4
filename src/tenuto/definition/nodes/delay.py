"""delay: sleeps for a while, or until a moment."""

from __future__ import annotations

from tenuto.definition.fields import Field, Fields
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.nodes.rules import exactly_one, one_of_schema
from tenuto.definition.plain_kinds import Text
from tenuto.definition.time_kinds import LengthOrTemplate, MomentOrTemplate
from tenuto.model.graph import DEFAULT, Delay

DELAY = NodeType(
    tag="delay",
    step="DELAY",
    make=Delay,
    fields=Fields(
        Field("duration", "duration", LengthOrTemplate()),
        Field("until", "until", MomentOrTemplate()),
        Field("calendar", "calendar", Text()),
    ),
    handles=lambda _: (DEFAULT,),
    rules=lambda settings, place: exactly_one(settings, ("duration", "until"), place),
    rules_schema=(one_of_schema("duration", "until"),),
)
