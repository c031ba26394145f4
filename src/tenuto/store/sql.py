"""The SQL files of a store: named statements, and numbered migrations."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple

_NAMED = re.compile(r"^-- name: (\w+)\n((?:^-- .*\n)+)((?:^(?!--).*\n)+)", re.MULTILINE)
_FRAGMENT = re.compile(r"^-- fragment: (\w+)\n(?:^-- .*\n)+((?:^(?!--).*\n)+)", re.MULTILINE)
_USE = re.compile(r"\{(\w+)\}")
_OLDEST_PROGRAM = re.compile(r"-- Oldest program: (\d+)\n")


class Named(NamedTuple):
    """A statement as its file has it."""

    name: str
    description: str
    sql: str


class Migration(NamedTuple):
    """One step of the schema."""

    version: int
    name: str
    oldest_program: int
    """The program that knows this many migrations may still use a database that has this one."""
    sql: str


def queries_of(package: str) -> dict[str, Named]:
    """The statements of the package's `queries.sql`, with the fragments of `columns.sql`."""
    texts = (files("tenuto.store") / "columns.sql", files(package) / "queries.sql")
    return read_queries("\n".join(text.read_text("utf-8") for text in texts))


def read_queries(text: str) -> dict[str, Named]:
    """Name → statement; every one has a description.

    A fragment is SQL that several statements share: `{name}` in them, and in later fragments.
    """
    fragments: dict[str, str] = {}
    for name, sql in _FRAGMENT.findall(text):
        if name in fragments:
            raise ValueError(f"two fragments of one name: {name}")
        fragments[name] = _expanded(sql.strip(), fragments)
    text = _expanded(_FRAGMENT.sub("", text), fragments)
    queries = {
        name: Named(name, description.replace("-- ", "").replace("\n", " ").strip(), sql.strip())
        for name, description, sql in _NAMED.findall(text)
    }
    names = re.findall(r"^-- name: (\w+)$", text, re.MULTILINE)
    if names != list(queries):
        raise ValueError(f"without description, or twice: {sorted(set(names) - set(queries))}")
    return queries


def _expanded(sql: str, fragments: dict[str, str]) -> str:
    return _USE.sub(lambda found: fragments[found.group(1)], sql)


def migrations_of(package: str) -> list[Migration]:
    """The package's `migrations/<number>_<name>.sql`, in their order."""
    found = files(package).joinpath("migrations").iterdir()
    return sorted(
        read_migration(file.name, file.read_text("utf-8"))
        for file in found
        if file.name.endswith(".sql")
    )


def read_migration(file_name: str, sql: str) -> Migration:
    """One migration, whose first line names the oldest program that may use its schema."""
    oldest = _OLDEST_PROGRAM.match(sql)
    if oldest is None:
        raise ValueError(f"{file_name} does not name the oldest program that may use it")
    number, _, name = file_name.removesuffix(".sql").partition("_")
    return Migration(int(number), name, int(oldest.group(1)), sql)
