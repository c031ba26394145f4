"""A schema is brought up to date while programs of the older one are at work."""

from __future__ import annotations

import asyncio

import pytest

from tenuto.store.postgres.address import read_address
from tenuto.store.postgres.migrations import MIGRATIONS, NEWEST, migrate
from tenuto.store.postgres.server import Server
from tenuto.store.postgres.session import Session
from tests.kit.postgres_database import connected
from tests.store.postgres.conftest import Opener, ask, run
from tests.store.situations import NOON, begin, turn

pytestmark = pytest.mark.asyncio

WITH_MAIL = [each.version for each in MIGRATIONS if 3 <= each.version < NEWEST]
WRITERS = 4
FILL = """
INSERT INTO tenuto.workflow_instances
SELECT 'i' || n, 'default', 'd', 1, 'RUNNING', NULL, 0, NULL, n, n, n, NULL, '["a"]',
    NULL, NULL, NULL, NULL, NULL, NULL FROM generate_series(1, {rows}) AS n;
INSERT INTO tenuto.workflow_execution_history
SELECT 'i' || n, 1, 'INPUT_SET', NULL, '', 0, NULL, NULL, NULL, NULL, 0, NULL
FROM generate_series(1, {rows}) AS n;
INSERT INTO tenuto.mailbox (id, instance_id, input, created_at)
SELECT 'old' || n, 'i' || n, '', 0 FROM generate_series(1, {rows}) AS n;
INSERT INTO tenuto.owners SELECT 'i' || n, 'old', 1 FROM generate_series(1, {rows}) AS n;
INSERT INTO tenuto.processes (id, started_at, beat_at, steady_since)
SELECT 'old', now_ms, now_ms, now_ms FROM (SELECT tenuto.clock_ms() AS now_ms) AS clock;
"""
LETTER = "INSERT INTO tenuto.mailbox (id, instance_id, input, created_at) VALUES ($1, 'i1', '', 0)"


class Writer:
    """What an older program does: a letter after the other, in the statements of its time."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self.written = 0
        self.has_written = asyncio.Event()

    async def run(self) -> None:
        async with connected(self._url) as connection:
            try:
                while True:
                    await connection.fetch(LETTER, f"{self._name}-{self.written}")
                    self.written += 1
                    self.has_written.set()
            finally:
                self.has_written.set()


async def _migrated_under_load(url: str, version: int, rows: int, opened: Opener) -> None:
    await run(url, "DROP SCHEMA IF EXISTS tenuto CASCADE")
    session = Session(Server(read_address(url)))
    before = [each for each in MIGRATIONS if each.version <= version]
    assert len(await migrate(session, newest=version)) == len(before)
    await run(url, FILL.format(rows=rows))
    writers = [Writer(url, f"w{number}") for number in range(WRITERS)]
    tasks = [asyncio.create_task(each.run()) for each in writers]
    try:
        for writer in writers:
            await writer.has_written.wait()
        done = await migrate(session, is_beside_older=True)
        for writer in writers:
            # They go on after it, and were only made to wait.
            writer.has_written.clear()
            await writer.has_written.wait()
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        await session.close()
    assert [type(end) for end in ends] == [asyncio.CancelledError] * WRITERS
    assert [each.version for each in done] == [
        each.version for each in MIGRATIONS if each.version > version
    ]
    letters = rows + sum(writer.written for writer in writers)
    [(stored,)] = await ask(url, "SELECT count(*) FROM tenuto.mailbox")
    # One that was called off in the middle of its last may have written that, too.
    assert letters <= stored <= letters + WRITERS
    [(kept, owned)] = await ask(
        url,
        "SELECT (SELECT count(*) FROM tenuto.workflow_execution_history),"
        " (SELECT count(*) FROM tenuto.owners WHERE process_id = 'old')",
    )
    assert (kept, owned) == (rows, rows)
    store = await opened(url)
    assert (await store.turns.commit(turn("t1", begin("new"), process_id="p1"))).writes["new"]
    await run(url, "UPDATE tenuto.processes SET stopped_at = 1, is_clean = true WHERE id = 'old'")
    assert len(await store.members.claim_orphans(rows)) == rows
    assert len(await store.mailbox.claim(stored + 1)) == stored
    await store.close(NOON, clean=True)


@pytest.mark.parametrize("version", WITH_MAIL)
async def test_programs_at_work_are_only_made_to_wait_by_a_migration(
    bare_url: str, version: int, opened: Opener
) -> None:
    await _migrated_under_load(bare_url, version, 1_000, opened)


@pytest.mark.soak
@pytest.mark.parametrize("version", WITH_MAIL)
async def test_a_large_store_is_migrated_under_load(
    bare_url: str, version: int, opened: Opener
) -> None:
    await _migrated_under_load(bare_url, version, 100_000, opened)
