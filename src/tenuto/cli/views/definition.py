"""A definition as a table, as JSON or as a Mermaid picture, and its problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from tenuto.cli.sources import Source
from tenuto.cli.views.errors import problem_json, show_problems
from tenuto.cli.views.tables import table_of
from tenuto.cli.views.terminal import say, show, show_json
from tenuto.definition import compile_definition, to_mermaid
from tenuto.definition.to_mermaid import what_it_does
from tenuto.model.errors import Problem
from tenuto.model.graph import DEFAULT, Edge, Graph
from tenuto.model.json import JSON, Object

if TYPE_CHECKING:
    from rich.text import Text

Form = Literal["graph", "json", "mermaid"]


def show_definition(source: Source, form: Form) -> None:
    """The definition in a file; Located when it has errors."""
    definition = source.checked()
    match form:
        case "json":
            show_json(source.document)
        case "mermaid":
            show(to_mermaid(definition))
        case "graph":
            show(f"{definition.id}  {definition.name or ''}".rstrip())
            show(_table(definition.graph))


def show_graph(document: JSON, name: str) -> None:
    """The steps of a definition that is deployed."""
    definition = compile_definition(document)
    show(f"{name}  {definition.name or ''}".rstrip())
    show(_table(definition.graph))


def validation_json(sources: Sequence[Source]) -> Object:
    """Everything that is wrong with the definitions of a file."""
    return {
        "valid": all(source.definition is not None for source in sources),
        "problems": [each for source in sources for each in remarks_json(source)],
    }


def unreadable_json(problems: Sequence[Problem]) -> Object:
    """What is wrong with a file that cannot be read."""
    return {"valid": False, "problems": [problem_json(each) for each in problems]}


def remarks_json(source: Source) -> list[JSON]:
    """Everything that is wrong with a definition, with its places."""
    return [problem_json(each, source.positions) for each in source.problems]


def show_valid(source: Source) -> None:
    """That a definition is valid, and remarks about it."""
    definition = source.checked()
    show_remarks(source, "is valid")
    nodes = len(definition.graph.nodes)
    show(f"✓ {definition.id}: {nodes} step{'' if nodes == 1 else 's'}, valid")


def show_remarks(source: Source, what: str) -> None:
    """The warnings about a definition, on stderr."""
    if source.problems:
        say(f"{source.path} {what}, with remarks:")
        show_problems(source.problems, source.positions)


def _table(graph: Graph) -> Text:
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
