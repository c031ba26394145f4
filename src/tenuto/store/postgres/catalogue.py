"""The objects of a schema, compared with those that the migrations make.

Each migration ends with comments that list what it makes (`+`) and removes (`-`), as the server
itself tells it; the tests write them (`python -m tests.store.postgres.made`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from tenuto.store.sql import migrations_of


class Item(NamedTuple):
    """Something in a schema."""

    kind: str
    table: str
    """The table that it belongs to; a dash if it belongs to none."""
    name: str
    """Of a key its columns, with commas: its index may be made again under another name."""
    detail: str = ""
    """A column's type; whether a key is the primary one; why something does not work."""

    @property
    def is_spoilt(self) -> bool:
        """Whether it exists and does not work."""
        return self.detail in _SPOILT

    @property
    def shown(self) -> str:
        match self.kind:
            case "table":
                return self.name
            case "column":
                return f"column {self.table}.{self.name} ({self.detail})"
            case "key":
                return f"{self.detail} key of {self.table} ({self.name.replace(',', ', ')})"
            case _ if self.is_spoilt:
                return f"{self.kind} {self.name} is {self.detail}"
            case _:
                return f"{self.kind} {self.name}"


SCHEMA_INFO = "schema_info"
OF_TABLES = frozenset({"column", "index", "key", "trigger"})
"""Their names are their table's matter."""
OF_EXTENSION = "of an extension"
PRIMARY = "primary"
INVALID = "invalid"
SWITCHED_OFF = "switched off"
_SPOILT = frozenset({INVALID, SWITCHED_OFF})
_MOST_SHOWN = 5
_CHANGES = re.compile(r"^-- ([+-]) (.*)$", re.MULTILINE)


@cache
def expected(version: int) -> frozenset[Item]:
    """The objects after so many migrations."""
    return frozenset(
        item
        for first, last, item in _made()
        if first <= version and (last is None or version <= last)
    )


@cache
def names_of_ours() -> frozenset[str]:
    """Every name that a migration gives to a table, index, function or trigger."""
    return frozenset(item.name for _, _, item in _made() if item.kind not in ("column", "key"))


def complete_tables(version: int, found: frozenset[Item]) -> list[Item]:
    """The tables that have all their columns: a table that only has the right name is foreign."""
    lost = {item.table for item in expected(version) - found if item.kind in ("table", "column")}
    return sorted(
        item for item in expected(version) if item.kind == "table" and item.name not in lost
    )


def missing(version: int, found: frozenset[Item]) -> list[Item]:
    """Missing objects of the migrations up to `version`; of a missing table only the table.

    Items that exist and do not work have the reason in `detail`.
    """
    spoilt = {item._replace(detail=""): item for item in found if item.is_spoilt}
    lost = expected(version) - found
    tables = {item.name for item in lost if item.kind == "table"}
    return sorted(
        spoilt.get(item, item) for item in lost if item.kind == "table" or item.table not in tables
    )


def ahead(version: int, newest: int, found: frozenset[Item]) -> list[Item]:
    """Existing objects that only a migration after `version` makes."""
    later = {item for each in range(version + 1, newest + 1) for item in expected(each)}
    there = (later - expected(version)) & found
    tables = {item.name for item in there if item.kind == "table"}
    return sorted(item for item in there if item.kind == "table" or item.table not in tables)


def shown(items: Iterable[Item], between: str = ", ") -> str:
    """Some of them by name, and how many more there are."""
    names = [item.shown for item in items]
    more = f"{between}{len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return between.join(names[:_MOST_SHOWN]) + more


def line_of(sign: str, item: Item) -> str:
    """The comment in a migration that makes (`+`) or removes (`-`) an object."""
    return f"-- {sign} {' '.join(item)}".rstrip()


@cache
def _made() -> tuple[tuple[int, int | None, Item], ...]:
    """Each object with the first and the last version that has it."""
    first: dict[Item, int] = {}
    last: dict[Item, int] = {}
    for migration in migrations_of("tenuto.store.postgres"):
        for sign, line in _CHANGES.findall(migration.sql):
            item = Item(*line.split(" ", 3))
            if sign == "+":
                first[item] = migration.version
            else:
                last[item] = migration.version - 1
    return tuple((since, last.get(item), item) for item, since in first.items())
