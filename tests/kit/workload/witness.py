"""Shows that so many edges of a join can be taken in one run, by finding such a run."""

from __future__ import annotations

from tests.kit.workload.choices import Seeded, chance, pick
from tests.kit.workload.drawing import Document, ends_of

_TRIES = 24


def most_taken_together(
    nodes: list[Document], arrows: list[Document], parents: list[tuple[str, str]]
) -> int:
    """The most of `parents` (node, handle) seen taken in one imagined run."""
    choices = Seeded("witness")
    incoming: dict[str, list[tuple[str, str]]] = {node["id"]: [] for node in nodes}
    used: dict[str, set[str]] = {node["id"]: set() for node in nodes}
    places = {node["id"]: place for place, node in enumerate(nodes)}
    for source, handle, target in map(ends_of, arrows):
        # What leads back to a loop from its body ends an iteration, and nothing else.
        if places[source] < places[target]:
            incoming[target].append((source, handle))
        used[source].add(handle)
    for source, handle in parents:
        used[source].add(handle)
    best = 0
    for _ in range(_TRIES):
        taken: set[tuple[str, str]] = set()
        for node in nodes:
            if _fires(node, incoming[node["id"]], taken):
                taken |= {(node["id"], handle) for handle in _some(node, used, choices)}
        best = max(best, sum(port in taken for port in parents))
    return best


def _fires(node: Document, incoming: list[tuple[str, str]], taken: set[tuple[str, str]]) -> bool:
    mode = node["config"].get("joinMode", "all")
    needed = mode["atLeast"] if isinstance(mode, dict) else 1
    return not incoming or sum(port in taken for port in incoming) >= needed


def _some(node: Document, used: dict[str, set[str]], choices: Seeded) -> list[str]:
    """Handles that this node may take together; those that lead somewhere."""
    handles = sorted(used[node["id"]] - {"loop"})
    inward = ["loop"] if node["type"] == "loop" else []
    if not handles or inward:
        return inward + ([pick(choices, handles)] if handles else [])
    together = [handle for handle in handles if handle not in ("else", "default", "error")]
    if node["config"].get("select") == "all" and together and chance(choices, 80):
        return together
    return [pick(choices, handles)]
