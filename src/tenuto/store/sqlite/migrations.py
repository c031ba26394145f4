"""Numbered migrations: a new database and an old one end up the same."""

from __future__ import annotations

from tenuto.model.errors import StoreUnavailable
from tenuto.store.sql import Migration, migrations_of
from tenuto.store.sqlite.session import Session

MIGRATIONS = migrations_of("tenuto.store.sqlite")
NEWEST = MIGRATIONS[-1].version


def migrate(session: Session, *, newest: int = NEWEST) -> list[Migration]:
    """Bring the schema up to date, in one transaction; the migrations that were needed."""
    version = checked_version(session)
    missing = [each for each in MIGRATIONS if version < each.version <= newest]
    if missing:
        session.write(lambda: _apply(session, missing))
    return missing


def checked_version(session: Session) -> int:
    """The schema's version, 0 for an empty file; StoreUnavailable if it is not for this program."""
    is_migrated, tables = session.rows("has_schema_info")[0]
    if not is_migrated and tables:
        raise StoreUnavailable(
            f"{session.path} is a database, but not one of Tenuto",
            code="TEN-4006",
            advice="Name a file that Tenuto made, or one that does not exist yet.",
        )
    if not is_migrated:
        return 0
    version, oldest_program = session.rows("schema_info")[0]
    if oldest_program > NEWEST:
        raise StoreUnavailable(
            f"{session.path} is of a newer Tenuto (schema {version}, this one knows {NEWEST})",
            code="TEN-4005",
            advice="Update Tenuto.",
        )
    return int(version)


def _apply(session: Session, missing: list[Migration]) -> None:
    for migration in missing:
        session.execute(migration.sql, ())
    last = missing[-1]
    session.run("put_schema_info", (last.version, last.oldest_program))
