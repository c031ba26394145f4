"""emit: publishes an event."""

from __future__ import annotations

from tenuto.definition.fields import Field, Fields
from tenuto.definition.language_kinds import EventPattern, Template
from tenuto.definition.nodes.node_type import NodeType
from tenuto.model.graph import DEFAULT, Emit

EMIT = NodeType(
    tag="emit",
    step="EMIT",
    make=Emit,
    fields=Fields(
        Field("pattern", "pattern", EventPattern(is_subscription=False), required=True),
        Field("payload", "payload", Template()),
        Field("correlationId", "correlation_id", Template("text")),
    ),
    handles=lambda _: (DEFAULT,),
)
