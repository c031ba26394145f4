"""Which test holds which sentence of docs/semantics.md: writes docs/semantics-coverage.md.

`python -m tests.semantics.coverage_table` when a sentence changed, or a docstring that quotes one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tests.architecture.source_tree import parsed
from tests.semantics.later import LATER
from tests.semantics.sentences import ROOT, Sentence, normal, sentences

TABLE = ROOT / "docs" / "semantics-coverage.md"
_HEAD = """\
# Who holds the contract

Each sentence of [semantics.md](semantics.md) with the tests whose docstrings quote it, or what it
is left to. Written by `python -m tests.semantics.coverage_table`; a test compares.
"""


class Quote(NamedTuple):
    """A docstring, with whose it is."""

    test: str
    text: str


@cache
def quotes() -> tuple[Quote, ...]:
    """The docstrings of every test in the project."""
    found: list[Quote] = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        place = file.relative_to(ROOT / "tests").as_posix()
        spoken = docstrings(parsed(file))
        found += [Quote(f"{place}::{name}", text) for name, text in spoken]
    return tuple(found)


def docstrings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    # To walk through all that is in tests would take seconds.
    classes = [each.body for each in tree.body if isinstance(each, ast.ClassDef)]
    for node in chain(tree.body, *classes):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
            "test"
        ):
            yield node.name, normal(ast.get_docstring(node) or "")


def holders(texts: list[Sentence]) -> dict[str, list[str]]:
    """Sentence → the tests that quote it, word for word."""
    spoken = quotes()
    return {each.text: [q.test for q in spoken if each.text in q.text] for each in texts}


def left(texts: list[Sentence]) -> dict[str, str]:
    """Sentence → what it, or the rest of it, is left to."""
    found: dict[str, str] = {}
    for topic, beginnings in LATER.items():
        for beginning in beginnings:
            named = [each.text for each in texts if each.text.startswith(beginning)]
            assert len(named) == 1, f"{beginning!r} begins {len(named)} sentences"
            assert named[0] not in found, f"{beginning!r} is left to two things"
            found[named[0]] = topic
    return found


def orphans() -> list[str]:
    """Sentences that nobody holds and that are left to nothing."""
    texts = sentences()
    held, later = holders(texts), left(texts)
    return [each.text for each in texts if not held[each.text] and each.text not in later]


def table() -> str:
    texts = sentences()
    held, later = holders(texts), left(texts)
    parts = [_HEAD, _counts(texts, held, later)]
    section = ""
    for each in texts:
        if each.section != section:
            section = each.section
            parts.append(f"\n## {section}\n\n| sentence | held by |\n|---|---|\n")
        answer = [f"`{test}`" for test in held[each.text]]
        if each.text in later:
            answer.append(f"{'the rest is ' if answer else ''}left to: {later[each.text]}")
        parts.append(f"| {_cell(each.text)} | {'<br>'.join(answer)} |\n")
    return "".join(parts)


def _counts(texts: list[Sentence], held: Mapping[str, list[str]], later: Mapping[str, str]) -> str:
    whole = sum(bool(held[each.text]) and each.text not in later for each in texts)
    partly = sum(bool(held[each.text]) and each.text in later for each in texts)
    rest = len(texts) - whole - partly
    return f"\n{len(texts)} sentences: {whole} held, {partly} held in part, {rest} left to later.\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def write(path: Path = TABLE) -> None:
    path.write_text(table())


if __name__ == "__main__":
    write()
