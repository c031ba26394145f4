"""What stands in the source beside a name: the text behind an attribute or a constant."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from types import ModuleType


def notes_of(owner: type | ModuleType) -> dict[str, str]:
    """Every attribute or constant that has a text behind it, with that text in one line."""
    [*body] = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    if isinstance(owner, type):
        [inner] = body
        assert isinstance(inner, ast.ClassDef)
        body = inner.body
    found = dict(_notes(body))
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            found |= dict(_notes(node.body))
    return found


def one_line(text: str | None) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((text or "").strip().partition("\n\n")[0].split())


def cell(text: object) -> str:
    """Text that a table can hold."""
    return str(text).replace("|", "\\|")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table without the columns that would be empty."""
    written = [[cell(each) for each in row] for row in rows]
    kept = [column for column in range(len(heads)) if any(row[column] for row in written)]
    lines = [[heads[column] for column in kept], ["---"] * len(kept)]
    lines += [[row[column] for column in kept] for row in written]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _notes(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for node, following in pairwise(body):
        match node, following:
            case (
                ast.AnnAssign(target=target) | ast.Assign(targets=[target]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield ast.unparse(target).removeprefix("self."), " ".join(text.split())
            case _:
                pass
