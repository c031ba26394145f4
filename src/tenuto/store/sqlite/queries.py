"""The statements of `queries.sql`, by name."""

from __future__ import annotations

import re
from functools import cached_property
from importlib.resources import files
from typing import NamedTuple

WIDTHS = (256, 64, 16, 4, 1)
"""How many rows a statement may take at once: few enough to be kept prepared."""

_NAMED = re.compile(r"^-- name: (\w+)\n((?:^-- .*\n)+)((?:^(?!--).*\n)+)", re.MULTILINE)
_FOR_EACH_ROW = re.compile(r"(\([^()]*\)) /\* for each row \*/")


class Named(NamedTuple):
    """A statement as its file has it."""

    name: str
    description: str
    sql: str


class Query:
    """A statement, and its wider forms if it takes many rows."""

    def __init__(self, named: Named) -> None:
        self.name = named.name
        self.description = named.description
        self.sql = named.sql

    def __repr__(self) -> str:
        return f"<{self.name}: {self.description}>"

    @cached_property
    def wide(self) -> dict[int, str]:
        """The statement for each of `WIDTHS`: its row of question marks, so many times."""
        found = _FOR_EACH_ROW.search(self.sql)
        if found is None:
            raise LookupError(f"{self.name} does not say what it repeats for each row")
        row = found.group(1).replace(" ", "")
        before, after = self.sql[: found.start()], self.sql[found.end() :]
        return {width: f"{before}{', '.join([row] * width)}{after}" for width in WIDTHS}


def read_queries(text: str) -> dict[str, Query]:
    """Name → statement; every one has a description."""
    queries = {
        name: Query(
            Named(name, description.replace("-- ", "").replace("\n", " ").strip(), sql.strip())
        )
        for name, description, sql in _NAMED.findall(text)
    }
    names = re.findall(r"^-- name: (\w+)$", text, re.MULTILINE)
    if names != list(queries):
        raise ValueError(f"without description, or twice: {sorted(set(names) - set(queries))}")
    return queries


QUERIES = read_queries(files("tenuto.store.sqlite").joinpath("queries.sql").read_text("utf-8"))
