"""Documents in graph form, put together piece by piece."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, TypeAlias

Json: TypeAlias = Any
Document: TypeAlias = dict[str, Json]

TASKS = ("work", "flaky", "pick", "slow")
"""The task ids that documents use; all of them do what a plan of behaviours says."""


def node(id: str, type: str, **config: Json) -> Document:
    return {"id": id, "type": type, "config": config}


def task(id: str, task_id: str = "work", **config: Json) -> Document:
    config.setdefault("input", {"node": id, "k": "{{ctx.input.k}}"})
    return node(id, "task", taskId=task_id, **config)


def edge(source: str, target: str, handle: str = "default") -> Document:
    arrow = {"upstreamNodeID": source, "downstreamNodeID": target}
    return arrow if handle == "default" else {**arrow, "sourceHandle": handle}


def edges(*chains: str) -> list[Document]:
    """Edges as they are drawn: `"a > b > c"`, `"a:error > d"`."""
    drawn: list[Document] = []
    for chain in chains:
        places = [place.strip() for place in chain.split(">")]
        for before, after in pairwise(places):
            source, _, handle = before.partition(":")
            drawn.append(edge(source, after.partition(":")[0], handle or "default"))
    return drawn


def document(
    id: str, nodes: Iterable[Document], arrows: Iterable[Document], **options: Json
) -> Document:
    found = {"id": id, "title": id, "nodes": list(nodes), "edges": list(arrows)}
    return {**found, "options": options} if options else found


def ends_of(arrow: Document) -> tuple[str, str, str]:
    """Source, handle and target of an edge."""
    handle = arrow.get("sourceHandle", "default")
    return arrow["upstreamNodeID"], handle, arrow["downstreamNodeID"]
