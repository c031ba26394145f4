"""The places where a definition names data queries."""

from __future__ import annotations

from typing import NamedTuple

from tenuto.model.graph import DataQuery, Definition


class QueryPlace(NamedTuple):
    """A step that runs a data query."""

    query: str
    path: str
    """JSONPath of the name of the query in the document."""
    step_id: str


def query_places(definition: Definition) -> list[QueryPlace]:
    """The first place at which a definition names each data query."""
    spelled = "$.steps[{}]" if definition.spelling == "steps" else "$.nodes[{}].config"
    found: dict[str, QueryPlace] = {}
    for index, node in enumerate(definition.graph.nodes):
        if isinstance(node.config, DataQuery):
            id = node.config.data_query_id
            path = f"{spelled.format(index)}.dataQueryID"
            found.setdefault(id, QueryPlace(id, path, node.id))
    return list(found.values())
