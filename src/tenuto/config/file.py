"""Reads a file of settings, with the line of each."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tenuto.model.errors import InvalidInput, NotFound, Problem

FILE: Final = "tenuto.toml"
"""Read if it is in the working folder and no other file is named."""
_TABLE = re.compile(r"\s*\[\s*([\w.\s-]+?)\s*(?:\.\s*[\"'][^\]]*)?\]\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([\w.-]+)\s*=")


class Found(NamedTuple):
    """A value of a file, and its place."""

    value: object
    place: str


def read_file(path: Path, tables: Collection[str] = ()) -> dict[str, Found]:
    """Setting → value; NotFound, InvalidInput. The value of `tables` is a whole table."""
    try:
        text = path.read_text("utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise NotFound(
            f"{path} cannot be read: {error.strerror}",
            code="TEN-4040",
            advice="Name an existing file with --config, or leave it out.",
        ) from error
    except ValueError as error:
        problem = Problem(
            code="TEN-2631",
            path=str(path),
            message=str(error),
            advice="Write TOML: name = value, texts in quotes.",
        )
        raise InvalidInput(f"{path} is not TOML", [problem]) from error
    lines = _lines(text)
    found = _flat("", document, tables)
    return {name: Found(value, _place(path, name, lines)) for name, value in found}


def _flat(
    prefix: str, table: Mapping[str, object], tables: Collection[str]
) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict) and prefix + key not in tables:
            yield from _flat(f"{prefix}{key}.", value, tables)
        else:
            yield prefix + key, value


def _lines(text: str) -> dict[str, int]:
    """Setting → its probable line, good enough for messages."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _TABLE.match(line):
            table = header[1].replace(" ", "") + "."
            found.setdefault(table[:-1], number)
        elif key := _KEY.match(line):
            found.setdefault(table + key[1], number)
    return found


def _place(path: Path, name: str, lines: Mapping[str, int]) -> str:
    while name and name not in lines:
        name = name.rpartition(".")[0]
    return f"{path}:{lines[name]}" if name else str(path)
