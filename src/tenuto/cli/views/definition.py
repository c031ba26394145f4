"""`tenuto show FILE`: the definition in a file, for people, for programs or as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tenuto.cli import exits
from tenuto.cli.sources import Source, read_source
from tenuto.cli.views.terminal import show, show_json, table_of
from tenuto.definition import to_mermaid
from tenuto.definition.to_mermaid import what_it_does
from tenuto.model.graph import DEFAULT, Edge, Graph

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

Form = Literal["graph", "json", "mermaid"]


def is_definition(text: str) -> bool:
    """Whether what was typed names a file, not an instance."""
    return text.endswith((".json", ".py")) or ".py:" in text


async def show_definition(path: Path, form: Form) -> int:
    """Print the definition in a file; Located when it has errors."""
    source = read_source(path)
    definition = source.checked()
    match form:
        case "json":
            show_json(source.document)
        case "mermaid":
            show(to_mermaid(definition))
        case "graph":
            _show_graph(source, definition.graph)
    return exits.DONE


def _show_graph(source: Source, graph: Graph) -> None:
    definition = source.checked()
    show(f"{definition.id}  {definition.name or ''}".rstrip())
    show(_table(graph))


def _table(graph: Graph) -> Table:
    before: dict[str, list[Edge]] = {}
    for edge in graph.edges:
        before.setdefault(edge.target, []).append(edge)
    rows: list[list[str | Text]] = [
        [f"  {node.id}", what_it_does(node), ", ".join(map(_leaving, before.get(node.id, [])))]
        for node in graph.nodes
    ]
    return table_of(("  STEP", "DOES", "AFTER"), rows, whole=3)


def _leaving(edge: Edge) -> str:
    return edge.source if edge.handle == DEFAULT else f"{edge.source}.{edge.handle}"
