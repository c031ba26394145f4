"""Numbered migrations: a new database and an old one end up the same."""

from __future__ import annotations

import re
from contextlib import suppress

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres.queries import in_schema, statement
from tenuto.store.postgres.session import TRIES, Session, Transaction
from tenuto.store.protocol import CommitUnknown
from tenuto.store.sql import Migration, migrations_of

_PATIENCE = 24 * 3600.0
"""An index over a long log takes its time."""


MIGRATIONS = migrations_of("tenuto.store.postgres")
NEWEST = MIGRATIONS[-1].version


def tables_of(migration: Migration) -> list[str]:
    """The tables that it makes."""
    return re.findall(r"^CREATE TABLE tenuto\.(\w+)", migration.sql, re.MULTILINE)


async def migrate(session: Session, *, newest: int = NEWEST) -> list[Migration]:
    """Bring the schema up to date, in one transaction; the migrations that were needed.

    One whose answer got lost is asked for again: it waits for the first, and finds what that did.
    """
    if await checked_version(session) >= newest:
        return []
    in_doubt: list[Migration] = []

    async def work(transaction: Transaction) -> list[Migration]:
        nonlocal in_doubt
        if missing := await _migrate(session, transaction, newest):
            in_doubt = missing
        return in_doubt

    for _ in range(TRIES):
        with suppress(CommitUnknown):
            return await session.transaction(work, begin="begin_migration")
    raise StoreUnavailable(
        f"the connection to {session.server.shown} broke each time that a migration was done",
        advice="Look at the network and at the server's log, and try again: a migration is done "
        "once, whole or not at all.",
    )


async def checked_version(session: Session) -> int:
    """The schema's version, 0 when it is empty; StoreUnavailable if it is not for this program."""
    found = await session.rows("tables", {"schema": session.schema})
    tables = {name for (name,) in found}
    if "schema_info" not in tables:
        _require_empty(session, tables)
        return 0
    info = await session.rows("schema_info")
    if not info:
        raise _half(session, "schema_info is empty")
    version, oldest_program = info[0]
    if oldest_program > NEWEST:
        raise StoreUnavailable(
            f"{session.server.shown} is of a newer Tenuto "
            f"(schema {version}, this one knows {NEWEST})",
            code="TEN-4005",
            advice="Update Tenuto.",
        )
    expected = {
        table for each in MIGRATIONS if each.version <= version for table in tables_of(each)
    }
    missing = expected - tables
    if missing:
        raise _half(session, f"there is no {', no '.join(sorted(missing))}")
    return int(version)


def require_newest(session: Session, version: int) -> None:
    """For those who may not migrate."""
    if version == 0:
        raise StoreUnavailable(
            f"there is no store of Tenuto in {session.server.shown}",
            advice="Name the right one with --store, or make it with `tenuto migrate`.",
        )
    if version < NEWEST:
        raise StoreUnavailable(
            f"{session.server.shown} has an older schema ({version}; this program needs {NEWEST})",
            code="TEN-4005",
            advice="Run `tenuto migrate`, or start the engine once.",
        )


async def _migrate(session: Session, transaction: Transaction, newest: int) -> list[Migration]:
    # Whoever has the lock may be busy with a long log, as long as the scripts below may be.
    lock = statement("lock_schema", session.schema)
    await transaction.run_script(lock.sql, patience=_PATIENCE)
    if not await transaction.rows("has_schema", {"schema": session.schema}):
        await transaction.rows("create_schema")
    # Another process may have migrated while this one waited.
    found = await transaction.rows("tables", {"schema": session.schema})
    info = await transaction.rows("schema_info") if ("schema_info",) in map(tuple, found) else []
    version = info[0][0] if info else 0
    missing = [each for each in MIGRATIONS if version < each.version <= newest]
    for migration in missing:
        await transaction.run_script(in_schema(migration.sql, session.schema), patience=_PATIENCE)
    if missing:
        last = missing[-1]
        await transaction.rows(
            "put_schema_info", {"version": last.version, "oldest_program": last.oldest_program}
        )
    return missing


def _require_empty(session: Session, tables: set[str]) -> None:
    if not tables:
        return
    ours = tables & {table for each in MIGRATIONS for table in tables_of(each)}
    if ours:
        raise _half(session, f"{', '.join(sorted(ours))} without schema_info")
    raise StoreUnavailable(
        f"the schema {session.schema} of {session.server.shown} belongs to another program "
        f"(it has {', '.join(sorted(tables)[:3])})",
        code="TEN-4006",
        advice="Name another schema behind the URL: ?schema=NAME.",
    )


def _half(session: Session, what: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"the schema {session.schema} of {session.server.shown} is only half there: {what}",
        code="TEN-4006",
        advice="Restore a backup; or, if nothing in it is needed, run in the database: "
        f"DROP SCHEMA {session.schema} CASCADE.",
    )
