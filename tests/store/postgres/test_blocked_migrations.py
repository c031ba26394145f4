"""A migration that somebody keeps waiting says who, and does not wait for ever."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres import PostgresStore, blockers, migrations
from tenuto.store.postgres.migrations import NEWEST
from tenuto.store.postgres.queries import statement
from tests.kit.postgres_database import connected
from tests.store.postgres.conftest import waits_for_lock
from tests.store.postgres.test_half_schemas import everything, migrated

pytestmark = pytest.mark.asyncio


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
    assert len(await PostgresStore(bare_url).migrate()) == NEWEST - 4


async def test_a_prepared_transaction_is_named_as_what_it_is() -> None:
    assert "pg_prepared_xacts" in blockers.Blocker(0, None, None, None, None).shown


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
    assert len(await migrating) == NEWEST
    assert f"waits for pid {pid} (application test" in caplog.text
