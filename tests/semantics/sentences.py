"""Splits docs/semantics.md into its sentences, each under its heading."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "semantics.md"

_END = re.compile(r"(?<=[.?])\s+(?=[A-Z`\"*])")


class Sentence(NamedTuple):
    """One promise, in the words of the document."""

    section: str
    text: str


def sentences(text: str | None = None) -> list[Sentence]:
    """Every sentence and every row of a table, in order; what stands before the first section
    introduces the page and promises nothing."""
    found: list[Sentence] = []
    for section, paragraphs in _sections(DOCUMENT.read_text() if text is None else text):
        for paragraph in paragraphs:
            found += [Sentence(section, part) for part in split(paragraph)]
    return found


def split(paragraph: str) -> list[str]:
    """The sentences of a paragraph; a stop within `code` or (brackets) ends none."""
    parts: list[str] = []
    for piece in _END.split(normal(paragraph)):
        if parts and _is_open(parts[-1]):
            parts[-1] += f" {piece}"
        else:
            parts.append(piece)
    return parts


def normal(text: str) -> str:
    """`text` with every run of white space as one space."""
    return " ".join(text.split())


def _is_open(text: str) -> bool:
    plain = re.sub(r"`[^`]*`", "", text)
    return "`" in plain or plain.count("(") > plain.count(")")


def _sections(text: str) -> list[tuple[str, list[str]]]:
    sections: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("## "):
            sections.append((line.removeprefix("## ").strip(), []))
        elif sections:
            _add(sections[-1][1], line)
    return [(name, [each for each in paragraphs if each]) for name, paragraphs in sections]


def _add(paragraphs: list[str], line: str) -> None:
    if line.startswith("|"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        is_ruler = all(set(cell) <= set("-:") for cell in cells)
        paragraphs.append("" if is_ruler or cells[0] == "type" else " | ".join(cells))
    elif line.startswith("- ") or not line.strip() or not paragraphs:
        paragraphs.append(line.removeprefix("- "))
    else:
        paragraphs[-1] += f" {line}"
