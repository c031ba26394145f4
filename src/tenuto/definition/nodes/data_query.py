"""dataQuery: a stored query, with arguments."""

from __future__ import annotations

from tenuto.definition.fields import Field, Fields
from tenuto.definition.language_kinds import Template
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.plain_kinds import Text
from tenuto.model.graph import DEFAULT, DataQuery

DATA_QUERY = NodeType(
    tag="dataQuery",
    step="DATA_QUERY",
    make=DataQuery,
    fields=Fields(
        Field("dataQueryID", "data_query_id", Text(), required=True),
        Field("args", "args", Template("object or text", with_secrets=True)),
    ),
    handles=lambda _: (DEFAULT,),
    executes=True,
)
