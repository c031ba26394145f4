"""What differs between two definitions: steps by their ids, edges, and the settings around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from msgspec import Struct

from tenuto.definition import compile_definition, to_graph_form
from tenuto.model.errors import InvalidDefinition
from tenuto.model.json import JSON, Object, are_the_same

_DRAWN: Final = ("nodes", "edges")
_IDS: Final = ("id", "stepId")


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One difference of two values."""

    path: str
    """`$.config.retry.maxAttempts`."""
    kind: Literal["added", "removed", "changed"]
    before: JSON = None
    after: JSON = None


class DefinitionDiff(Struct, frozen=True, kw_only=True, rename="camel"):
    """What differs between two definitions."""

    added: list[str]
    """Steps."""
    removed: list[str]
    changed: dict[str, list[Change]]
    """Steps by their ids; paths are those inside the step."""
    added_edges: list[str]
    """`charge → ship`, `charge.error → refund`."""
    removed_edges: list[str]
    settings: list[Change]
    """What differs beside steps and edges: options, triggers, compensation."""

    @property
    def is_empty(self) -> bool:
        edges = self.added_edges or self.removed_edges
        return not (self.added or self.removed or self.changed or edges or self.settings)


def diff_definitions(before: JSON, after: JSON) -> DefinitionDiff:
    """The differences of two documents, in whichever form each is written."""
    try:
        old, new = (to_graph_form(compile_definition(each)) for each in (before, after))
    except InvalidDefinition:
        # An earlier program saved it: the documents are compared as they are.
        return DefinitionDiff(
            added=[],
            removed=[],
            changed={},
            added_edges=[],
            removed_edges=[],
            settings=[*changes(before, after)],
        )
    olds, news = _nodes(old), _nodes(new)
    old_edges, new_edges = _edges(old), _edges(new)
    inside = {id: [*changes(olds[id], node)] for id, node in news.items() if id in olds}
    return DefinitionDiff(
        added=[id for id in news if id not in olds],
        removed=[id for id in olds if id not in news],
        changed={id: found for id, found in inside.items() if found},
        added_edges=[each for each in new_edges if each not in old_edges],
        removed_edges=[each for each in old_edges if each not in new_edges],
        settings=[*changes(_around(old), _around(new))],
    )


def changes(before: JSON, after: JSON, path: str = "$") -> Iterator[Change]:
    """The smallest changes that lead from one value to the other."""
    if are_the_same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            yield from _of_member(before, after, name, f"{path}{_key(name)}")
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_lists(before, after, path)
    else:
        yield Change(path=path, kind="changed", before=before, after=after)


def _of_member(
    before: Mapping[str, JSON], after: Mapping[str, JSON], name: str, path: str
) -> Iterator[Change]:
    if name not in before:
        yield Change(path=path, kind="added", after=after[name])
    elif name not in after:
        yield Change(path=path, kind="removed", before=before[name])
    else:
        yield from changes(before[name], after[name], path)


def _of_lists(before: list[JSON], after: list[JSON], path: str) -> Iterator[Change]:
    """Items that have ids are compared by them, others by their places."""
    by = next((name for name in _IDS if _have_ids(before, name) and _have_ids(after, name)), None)
    if by is None:
        olds: dict[str, JSON] = {str(place): each for place, each in enumerate(before)}
        news: dict[str, JSON] = {str(place): each for place, each in enumerate(after)}
    else:
        olds, news = _by(before, by), _by(after, by)
    for name in dict.fromkeys((*olds, *news)):
        yield from _of_member(olds, news, name, f"{path}[{name}]")


def _have_ids(items: list[JSON], name: str) -> bool:
    ids = [each.get(name) if isinstance(each, dict) else None for each in items]
    return all(isinstance(id, str) for id in ids) and len({*map(str, ids)}) == len(ids)


def _by(items: list[JSON], name: str) -> dict[str, JSON]:
    return {str(each[name]): each for each in items if isinstance(each, dict)}


def _nodes(graph: Object) -> dict[str, JSON]:
    nodes = graph["nodes"]
    assert isinstance(nodes, list)
    return _by(nodes, "id")


def _edges(graph: Object) -> list[str]:
    edges = graph["edges"]
    assert isinstance(edges, list)
    return [_edge(each) for each in edges if isinstance(each, dict)]


def _edge(edge: Mapping[str, JSON]) -> str:
    handle = f".{edge['sourceHandle']}" if "sourceHandle" in edge else ""
    return f"{edge['upstreamNodeID']}{handle} → {edge['downstreamNodeID']}"


def _around(graph: Object) -> Object:
    return {name: value for name, value in graph.items() if name not in _DRAWN}


def _key(name: str) -> str:
    return f".{name}" if name.isidentifier() else f"[{name!r}]"
