"""Statements that repair a schema whose lost parts held no data."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tenuto.store.postgres.catalogue import INVALID, PRIMARY, SWITCHED_OFF, Item
from tenuto.store.postgres.queries import in_schema
from tenuto.store.sql import Migration

_MADE = {
    "index": r"^CREATE (?:UNIQUE )?INDEX {name}\b[^;]*;",
    "trigger": r"^CREATE TRIGGER {name}\b[^;]*;",
    "function": r"^CREATE FUNCTION tenuto\.{name}\(.*?AS (?:'[^']*'|\$\$.*?\$\$);",
}


def repair_of(lost: Sequence[Item], schema: str, migrations: Sequence[Migration]) -> str | None:
    """The statements for the owner of the tables; None if data were lost."""
    made = [_repair(item, migrations) for item in lost]
    if None in made:
        return None
    return in_schema(" ".join(" ".join(sql.split()) for sql in made if sql), schema)


def _repair(item: Item, migrations: Sequence[Migration]) -> str | None:
    if item.detail == SWITCHED_OFF:
        return f"ALTER TABLE tenuto.{item.table} ENABLE TRIGGER {item.name};"
    if item.kind == "key":
        key = "PRIMARY KEY" if item.detail == PRIMARY else "UNIQUE"
        return f"ALTER TABLE tenuto.{item.table} ADD {key} ({item.name.replace(',', ', ')});"
    made = _made(item, migrations)
    if made and item.detail == INVALID:
        return f"DROP INDEX tenuto.{item.name}; {made}"
    return made


def _made(item: Item, migrations: Sequence[Migration]) -> str | None:
    """The statement by which the newest migration that has one made it."""
    if item.kind not in _MADE:
        return None
    pattern = re.compile(_MADE[item.kind].format(name=item.name), re.MULTILINE | re.DOTALL)
    made = [pattern.search(each.sql) for each in reversed(migrations)]
    return next((found[0] for found in made if found), None)
