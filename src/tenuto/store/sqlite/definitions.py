"""Saved definition versions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from tenuto.model.durations import epoch_ms
from tenuto.store.columns import DefinitionColumns, definition_row, refuse_superseded
from tenuto.store.parts.definitions import DefinitionKey, DefinitionRow
from tenuto.store.parts.waits import WaitRow
from tenuto.store.sqlite.commit import put_waits
from tenuto.store.sqlite.part import SqlitePart, commits, looks, looks_for, none, writes
from tenuto.store.sqlite.session import Column, Session


class SqliteDefinitions(SqlitePart):
    """Definitions in a table of the file."""

    @commits
    def save(  # noqa: PLR0917 - the protocol's parameters, and the connection
        self,
        session: Session,
        tenant: str,
        id: str,
        content: bytes,
        content_hash: bytes,
        now: datetime,
        *,
        triggers: Sequence[WaitRow] = (),
        only_after: int | None = None,
    ) -> DefinitionRow:
        newest = _definition(session, tenant, id, None)
        refuse_superseded(newest, only_after)
        if newest is not None and newest.content_hash == content_hash:
            return newest
        version = 1 if newest is None else newest.version + 1
        columns = DefinitionColumns(tenant, id, version, content, content_hash, epoch_ms(now))
        session.run("insert_definition", columns)
        session.run("delete_triggers", (id, tenant))
        put_waits(session, [replace(each, attempt=version) for each in triggers])
        return definition_row(columns)

    @looks_for(none)
    def get(
        self, session: Session, tenant: str, id: str, version: int | None = None
    ) -> DefinitionRow | None:
        return _definition(session, tenant, id, version)

    @looks
    def ids(self, session: Session, tenant: str) -> list[str]:
        return session.packed("definition_ids", {"tenant": tenant})

    @looks
    def newest(
        self, session: Session, tenant: str, *, after: str = "", limit: int
    ) -> list[DefinitionRow]:
        page: dict[str, Column] = {"tenant": tenant, "after": after, "limit": limit}
        found = session.rows("newest_definitions", page)
        return [definition_row(DefinitionColumns(*row)) for row in found]

    @writes
    def erase(self, session: Session, tenant: str, id: str) -> None:
        session.run("erase_definition", {"tenant": tenant, "id": id})

    @looks_for(list)
    def old_test_runs(self, session: Session, before: datetime, limit: int) -> list[DefinitionKey]:
        found = session.rows("old_rehearsals", {"before": epoch_ms(before), "limit": limit})
        return [DefinitionKey(*row) for row in found]


def _definition(
    session: Session, tenant: str, id: str, version: int | None
) -> DefinitionRow | None:
    if version is None:
        found = session.rows("newest_definition", (tenant, id))
    else:
        found = session.rows("definition", (tenant, id, version))
    return definition_row(DefinitionColumns(*found[0])) if found else None
