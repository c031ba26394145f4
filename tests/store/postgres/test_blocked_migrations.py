"""A migration that somebody keeps waiting says who, and does not wait for ever."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres import PostgresStore, blockers, migrations
from tenuto.store.postgres.migrations import MIGRATIONS
from tenuto.store.postgres.queries import statement
from tests.kit.postgres_database import connected
from tests.kit.postgres_server import PostgresServer
from tests.store.postgres.conftest import run, waits_for_lock
from tests.store.postgres.test_half_schemas import everything, migrated

pytestmark = pytest.mark.asyncio


@pytest.fixture
def server_of_prepared() -> Iterator[PostgresServer]:
    """A server that lets transactions be prepared, which others do not."""
    server = PostgresServer(settings={"max_prepared_transactions": "2"})
    try:
        server.start()
        yield server
    finally:
        server.remove()


async def test_a_migration_gives_up_and_names_who_is_in_the_way(
    bare_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(migrations, "_LOCK_PATIENCE", 0.5)
    monkeypatch.setattr(blockers, "LOOK_EVERY", 0.05)
    # The fifth migration changes the mailbox.
    await migrated(bare_url, 4)
    before = await everything(bare_url)
    async with connected(bare_url) as other:
        await other.execute("BEGIN; SELECT count(*) FROM tenuto.mailbox")
        with pytest.raises(StoreUnavailable) as refused:
            await PostgresStore(bare_url).migrate()
        await other.execute("ROLLBACK")
        pid = other.get_server_pid()
    assert refused.value.code == "TEN-4016"
    assert f"pid {pid} (application test, user tenuto, in a transaction since 20" in (
        refused.value.message
    )
    assert "idle in transaction" in refused.value.message
    assert f"SELECT pg_terminate_backend({pid});" in refused.value.advice
    assert "run `tenuto migrate` again" in refused.value.advice
    assert caplog.text.count(f"waits for pid {pid}") == 1
    assert await everything(bare_url) == before
    assert len(await PostgresStore(bare_url).migrate()) == len(MIGRATIONS) - 4


async def test_a_migration_waits_for_all_tables_together_no_longer_than_for_one(
    bare_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers of several tables end one after the other, each soon enough for itself alone: who
    uses the tables that the migration has already would wait for all of them.
    """
    monkeypatch.setattr(migrations, "_LOCK_PATIENCE", 0.5)
    # The nineteenth changes nearly all tables.
    await migrated(bare_url, 18)
    before = await everything(bare_url)
    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(connected(bare_url)) for _ in range(3)]
        for reader, table in zip(readers, ("bulk_operations", "events", "listeners"), strict=True):
            await reader.execute(f"BEGIN; SELECT count(*) FROM tenuto.{table}")
        migrating = asyncio.create_task(PostgresStore(bare_url).migrate())
        await waits_for_lock(bare_url)
        for reader in readers:
            await reader.execute("SELECT pg_sleep(0.3)")
            await reader.execute("COMMIT")
        with pytest.raises(StoreUnavailable) as refused:
            await migrating
    assert refused.value.code == "TEN-4016"
    assert await everything(bare_url) == before
    done = await PostgresStore(bare_url).migrate()
    newer = [each.version for each in MIGRATIONS if each.version >= 19]
    assert [int(each[:4]) for each in done] == newer


async def test_what_one_migration_has_waited_the_next_does_not_wait_again(
    bare_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are of one transaction: what the first has changed nobody else may use meanwhile."""
    monkeypatch.setattr(migrations, "_LOCK_PATIENCE", 1.0)
    monkeypatch.setattr(blockers, "LOOK_EVERY", 0.05)
    # The seventeenth has new indexes made of the first table, the nineteenth changes the other.
    await migrated(bare_url, 16)
    async with connected(bare_url) as writer, connected(bare_url) as reader:
        await writer.execute("BEGIN; DELETE FROM tenuto.webhook_deliveries")
        await reader.execute("BEGIN; SELECT count(*) FROM tenuto.events")
        migrating = asyncio.create_task(PostgresStore(bare_url).migrate())
        await waits_for_lock(bare_url)
        for other in (writer, reader):
            await other.execute("SELECT pg_sleep(0.9)")
            await other.execute("COMMIT")
        with pytest.raises(StoreUnavailable) as refused:
            await migrating
    assert refused.value.code == "TEN-4016"


async def test_a_prepared_transaction_is_named_with_what_ends_it(
    monkeypatch: pytest.MonkeyPatch, server_of_prepared: PostgresServer
) -> None:
    monkeypatch.setattr(migrations, "_LOCK_PATIENCE", 0.5)
    monkeypatch.setattr(blockers, "LOOK_EVERY", 0.05)
    url = server_of_prepared.url()
    await migrated(url, 4)
    await run(
        url,
        "BEGIN; SELECT count(*) FROM tenuto.mailbox; PREPARE TRANSACTION 'ada''s';"
        " BEGIN; SELECT 1; PREPARE TRANSACTION 'not in the way'",
    )
    with pytest.raises(StoreUnavailable) as refused:
        await PostgresStore(url).migrate()
    assert refused.value.code == "TEN-4016"
    assert "the prepared transaction ada's (user tenuto, since 20" in refused.value.message
    assert "not in the way" not in str(refused.value)
    _, _, advised = refused.value.advice.partition("or end it on the server: ")
    await run(url, advised.partition(" Then run")[0])
    assert len(await PostgresStore(url).migrate()) == len(MIGRATIONS) - 4


async def test_a_prepared_transaction_without_a_name_is_told_as_what_it_is() -> None:
    nameless = blockers.Blocker(0, None, None, None, None)
    assert "pg_prepared_xacts" in nameless.shown
    assert "ROLLBACK PREPARED" in nameless.end


async def test_a_migration_that_waits_for_another_says_for_whom(
    bare_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(blockers, "LOOK_EVERY", 0.01)
    caplog.set_level(logging.WARNING)
    said = asyncio.Event()
    warning = blockers.log.warning

    def heard(*words: object) -> None:
        warning(*words)
        said.set()

    monkeypatch.setattr(blockers.log, "warning", heard)
    async with connected(bare_url) as other:
        await other.execute(f"BEGIN; {statement('lock_schema', 'tenuto').sql}")
        migrating = asyncio.create_task(PostgresStore(bare_url).migrate())
        await waits_for_lock(bare_url)
        await said.wait()
        await other.execute("COMMIT")
        pid = other.get_server_pid()
    assert len(await migrating) == len(MIGRATIONS)
    assert f"waits for pid {pid} (application test" in caplog.text
