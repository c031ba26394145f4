"""start, end and terminate: where instances begin and end."""

from __future__ import annotations

from tenuto.definition.fields import Field, Fields
from tenuto.definition.language_kinds import Template
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.plain_kinds import OneOf
from tenuto.model.graph import DEFAULT, End, Start, Terminate

START = NodeType(
    tag="start",
    step="START",
    make=Start,
    fields=Fields(),
    handles=lambda _: (DEFAULT,),
)

END = NodeType(
    tag="end",
    step="END",
    make=End,
    fields=Fields(Field("outputParameters", "output_parameters", Template("object or text"))),
    handles=lambda _: (),
)

TERMINATE = NodeType(
    tag="terminate",
    step="TERMINATE",
    make=Terminate,
    fields=Fields(
        Field("status", "status", OneOf("COMPLETED", "FAILED")),
        Field("output", "output", Template()),
        Field("reason", "reason", Template("text")),
    ),
    handles=lambda _: (),
)
