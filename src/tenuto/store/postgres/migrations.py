"""Numbered migrations: a new database and an old one end up the same."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

from tenuto.model.errors import StoreUnavailable
from tenuto.store.errors import CommitUnknown
from tenuto.store.postgres.address import identifier
from tenuto.store.postgres.blockers import watching
from tenuto.store.postgres.catalogue import (
    OF_EXTENSION,
    OF_TABLES,
    SCHEMA_INFO,
    Item,
    ahead,
    complete_tables,
    missing,
    names_of_ours,
    shown,
)
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.faults import LOCKED, sqlstate, was_rolled_back
from tenuto.store.postgres.queries import in_schema, statement
from tenuto.store.postgres.repair import repair_of
from tenuto.store.postgres.rhythm import DEAD_AFTER
from tenuto.store.postgres.rights import as_owner, denied, is_denied, roles_of
from tenuto.store.postgres.session import TRIES, Session, Transaction
from tenuto.store.sql import Migration, migrations_of

_PATIENCE = 24 * 3600.0
"""An index over a long log takes its time."""
_LOCK_PATIENCE = 5.0
"""All processes wait behind a statement that waits for a table, and are presumed dead after nine
seconds without a heartbeat."""


_INFO_COLUMNS = frozenset(
    Item("column", SCHEMA_INFO, name, "integer") for name in ("version", "oldest_program")
)

_WITH_PROCESSES = 3
"""The first schema that several processes share."""

MIGRATIONS = migrations_of("tenuto.store.postgres")
NEWEST = MIGRATIONS[-1].version


def tables_of(migration: Migration) -> list[str]:
    """The tables that it makes."""
    return re.findall(r"^CREATE TABLE tenuto\.(\w+)", migration.sql, re.MULTILINE)


class _Upgrade(NamedTuple):
    """How a schema is migrated."""

    newest: int
    dead_after: timedelta
    is_beside_older: bool


async def migrate(
    session: Session,
    *,
    newest: int = NEWEST,
    dead_after: timedelta = DEAD_AFTER,
    is_beside_older: bool = False,
) -> list[Migration]:
    """Bring the schema up to date, in one transaction; the migrations that were needed.

    One whose answer got lost is asked for again: it waits for the first, and finds what that did.
    Refused while a process lives whose program the schema does not support afterwards, unless
    `is_beside_older`; one that was silent for `dead_after` counts as gone.
    """
    upgrade = _Upgrade(newest, dead_after, is_beside_older)
    version = await checked_version(session)
    if version >= newest:
        return []
    in_doubt: list[Migration] = []

    async def work(transaction: Transaction) -> list[Migration]:
        nonlocal in_doubt
        if needed := await _migrate(session, transaction, upgrade):
            in_doubt = needed
        return in_doubt

    for attempt in range(1, TRIES + 1):
        with suppress(CommitUnknown):
            try:
                return await session.transaction(work, begin="begin_migration")
            except StoreUnavailable as error:
                if attempt < TRIES and was_rolled_back(error):
                    continue
                if is_denied(error) and (refused := await denied(session, error, version)):
                    raise refused from error
                raise
    raise StoreUnavailable(
        f"the connection to {session.server.shown} broke each time that a migration was done",
        advice="Look at the network and at the server's log, and try again: a migration is done "
        "once, whole or not at all.",
    )


async def checked_version(session: Session) -> int:
    """The schema's version, 0 when it is empty; StoreUnavailable if it is not for this program."""
    try:
        # Of one moment: a migration that is committed in between is no half of one.
        found, info = await session.look(_found)
    except StoreUnavailable as error:
        if is_denied(error) and (refused := await denied(session, error, None)):
            raise refused from error
        raise
    if not _is_ours(found):
        _require_free(session, found)
        return 0
    if not info:
        raise _half(session, "schema_info is empty")
    require_supported(session, info)
    version = int(info[0][0])
    _require_whole(session, version, found)
    return version


def require_supported(session: Session, info: Sequence[Row]) -> None:
    """That the schema supports this program; StoreUnavailable."""
    [(version, oldest_program)] = info
    if oldest_program > NEWEST:
        raise StoreUnavailable(
            f"{session.server.shown} is of a newer Tenuto "
            f"(schema {version}, this one knows {NEWEST})",
            code="TEN-4005",
            advice="Update Tenuto.",
        )


async def require_newest(session: Session, version: int) -> None:
    """The refusal for users who may not migrate."""
    if version == 0:
        raise StoreUnavailable(
            f"there is no store of Tenuto in {session.server.shown}",
            code="TEN-4005",
            advice="Name the right one with --store, or make it with `tenuto migrate`.",
        )
    if version < NEWEST:
        raise StoreUnavailable(
            f"{session.server.shown} has an older schema ({version}; this program needs {NEWEST})",
            code="TEN-4005",
            advice=as_owner(await roles_of(session)),
        )


async def _migrate(
    session: Session, transaction: Transaction, upgrade: _Upgrade
) -> list[Migration]:
    pid = (await transaction.rows("server"))[0][0]
    async with watching(session.server, pid) as watch:
        # The holder of the lock may take as long as the scripts below may take on a long log.
        lock = statement("lock_schema", session.schema)
        await transaction.run_script(lock.sql, patience=_PATIENCE)
        before = watch.waited

        async def lock_patience() -> None:
            # While this script waits, others wait for the tables that earlier scripts have changed.
            left = max(_LOCK_PATIENCE - (watch.waited - before), _LOCK_PATIENCE / 10)
            await transaction.rows("lock_patience", {"patience": f"{round(left * 1000)}ms"})

        try:
            return await _apply(session, transaction, upgrade, lock_patience)
        except Exception as error:
            if sqlstate(error) != LOCKED:
                raise
            raise StoreUnavailable(
                f"the migration of {session.server.shown} has waited for {_LOCK_PATIENCE:g} s and "
                f"given up: {watch.shown} has the tables in use",
                code="TEN-4016",
                advice=watch.advice,
            ) from error


async def _apply(
    session: Session,
    transaction: Transaction,
    upgrade: _Upgrade,
    lock_patience: Callable[[], Awaitable[None]],
) -> list[Migration]:
    """Run the scripts that are needed; `lock_patience` says how long the next may wait."""
    await lock_patience()
    if not await transaction.rows("has_schema", {"schema": session.schema}):
        await transaction.rows("create_schema")
    # Another process may have migrated while this one waited.
    _, info = await _found(transaction)
    version = info[0][0] if info else 0
    needed = [each for each in MIGRATIONS if version < each.version <= upgrade.newest]
    if not needed:
        return []
    oldest = max(each.oldest_program for each in MIGRATIONS if each.version <= upgrade.newest)
    has_processes = version >= _WITH_PROCESSES
    if has_processes:
        await _refuse_beside_older(session, transaction, upgrade, oldest)
    for migration in needed:
        await lock_patience()
        await transaction.run_script(in_schema(migration.sql, session.schema), patience=_PATIENCE)
    reached = {"version": needed[-1].version, "oldest_program": oldest}
    await transaction.rows("put_schema_info", reached)
    if has_processes:
        # Again, since scripts take their time: a process may have entered meanwhile. One that
        # enters after this finds the new schema.
        await lock_patience()
        await transaction.rows("lock_processes")
        await _refuse_beside_older(session, transaction, upgrade, oldest)
    return needed


async def _refuse_beside_older(
    session: Session, transaction: Transaction, upgrade: _Upgrade, oldest: int
) -> None:
    """That no process lives whose program is older than the schema supports; StoreUnavailable."""
    if upgrade.is_beside_older:
        return
    living = {"dead_after": upgrade.dead_after // timedelta(milliseconds=1), "oldest": oldest}
    found = await transaction.rows("older_programs", living)
    if not found:
        return
    shown = ", ".join(f"{id} (schema {program})" if program else id for id, program in found[:5])
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    seconds = upgrade.dead_after.total_seconds()
    raise StoreUnavailable(
        f"{session.server.shown} is in use by an older Tenuto, which the schema {upgrade.newest} "
        f"does not support (it supports {oldest} and newer): processes {shown}{more}",
        code="TEN-4024",
        advice=f"Stop these processes, then try again; one that died is passed over {seconds:g} s "
        "after its last heartbeat. `tenuto migrate --beside-older` migrates all the same: until "
        "they stop, they ignore limits, rates and rules that they do not know.",
    )


async def _found(transaction: Transaction) -> tuple[frozenset[Item], list[Row]]:
    """The objects in the schema, and the rows of its schema_info if the schema is Tenuto's."""
    rows = await transaction.rows("catalogue", {"schema": transaction.schema})
    found = frozenset(Item(*row) for row in rows)
    return found, await transaction.rows("schema_info") if _is_ours(found) else []


def _is_ours(found: frozenset[Item]) -> bool:
    """Whether there is a schema_info that says what ours says: others have a table of that name."""
    return found >= _INFO_COLUMNS


def _require_free(session: Session, found: frozenset[Item]) -> None:
    """That nothing is in the way of a schema that is yet to be made."""
    if ours := complete_tables(NEWEST, found):
        raise _half(session, f"{shown(ours)} without the schema_info that Tenuto makes")
    # What it has beside tables may stay, as all of an extension does, unless it has our names.
    in_the_way = sorted(
        item
        for item in found
        if (item.kind == "table" and item.detail != OF_EXTENSION)
        or (item.kind not in OF_TABLES and item.name in names_of_ours())
    )
    if in_the_way:
        raise StoreUnavailable(
            f"the schema {session.schema} of {session.server.shown} belongs to another program "
            f"(it has {shown(in_the_way)})",
            code="TEN-4006",
            advice="Name another schema behind the URL: ?schema=NAME. Nothing was changed.",
        )


def _require_whole(session: Session, version: int, found: frozenset[Item]) -> None:
    """Check that the schema has all that the migrations made, and nothing of later ones."""
    # First: a later migration may have taken something away again.
    if early := ahead(version, NEWEST, found):
        raise _half(session, f"schema_info says {version}, and there is {shown(early)} already")
    lost = missing(min(version, NEWEST), found)
    if version > NEWEST:
        # A newer program has other indexes, and leaves the tables that this one may use.
        lost = [item for item in lost if item.kind == "table"]
    if lost:
        raise _half(
            session,
            f"schema_info says {version}, and {_said_of(lost)}",
            repair=repair_of(lost, session.schema, MIGRATIONS),
        )


def _said_of(lost: Sequence[Item]) -> str:
    spoilt = [item for item in lost if item.is_spoilt]
    gone = [item for item in lost if not item.is_spoilt]
    said = [f"there is no {shown(gone, ', no ')}"] if gone else []
    return ", and ".join([*said, shown(spoilt, ", ")] if spoilt else said)


def _half(session: Session, what: str, repair: str | None = None) -> StoreUnavailable:
    return StoreUnavailable(
        f"the schema {session.schema} of {session.server.shown} is only half there: {what}",
        code="TEN-4006",
        advice=f"No data are lost: run in the database, as the owner of the tables: {repair}"
        if repair
        else "A migration does not help: it takes existing steps as complete. Restore a backup; "
        "or, if nothing in it is needed, run in the database: "
        f"DROP SCHEMA {identifier(session.schema)} CASCADE.",
    )
