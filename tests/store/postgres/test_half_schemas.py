"""What is there is looked at before anything is done: all of it is ours, or nothing is touched."""

from __future__ import annotations

import pytest

from tenuto.store.postgres import PostgresStore
from tenuto.store.postgres.address import read_address
from tenuto.store.postgres.migrations import MIGRATIONS, NEWEST, migrate
from tenuto.store.postgres.queries import statement
from tenuto.store.postgres.server import Server
from tenuto.store.postgres.session import Session
from tests.store.postgres.conftest import Opener, ask, refusal, run
from tests.store.postgres.made import PAGE, made
from tests.store.situations import begin, turn

pytestmark = pytest.mark.asyncio

CATALOGUE = statement("catalogue", "tenuto").sql
LOG = "tenuto.workflow_execution_history"
TRIGGER = "workflow_execution_history_leave_place"
NEWER = f"UPDATE tenuto.schema_info SET version = {NEWEST + 1}"


async def migrated(url: str, newest: int = NEWEST) -> None:
    session = Session(Server(read_address(url)))
    await migrate(session, newest=newest)
    await session.close()


async def everything(url: str) -> list[tuple[object, ...]]:
    """All that the schema holds."""
    return sorted(tuple(row) for row in await ask(url, CATALOGUE, "tenuto"))


async def test_what_the_migrations_make_is_written_down(bare_url: str) -> None:
    assert await made(bare_url) == PAGE.read_text("utf-8")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("DROP TABLE tenuto.schema_info", "without the schema_info"),
        ("DELETE FROM tenuto.schema_info", "schema_info is empty"),
        ("DROP TABLE tenuto.timers", "there is no timers"),
        (f"DROP TABLE tenuto.timers; {NEWER}", "there is no timers"),
        ("ALTER TABLE tenuto.jobs DROP COLUMN token", "there is no column jobs.token (bigint)"),
        (
            "ALTER TABLE tenuto.jobs ALTER COLUMN token TYPE integer",
            "there is no column jobs.token (bigint)",
        ),
        (
            "ALTER TABLE tenuto.events ALTER COLUMN number DROP IDENTITY",
            "column events.number (bigint identity)",
        ),
        ("ALTER TABLE tenuto.mailbox DROP CONSTRAINT mailbox_pkey", "there is no index mailbox"),
        (
            "UPDATE tenuto.schema_info SET version = 4",
            "schema_info says 4, and there is ",
        ),
    ],
)
async def test_half_a_schema_is_refused_by_everybody(
    bare_url: str, damage: str, named: str
) -> None:
    """ "with a newer or half-migrated schema: each says exactly what is wrong and what to run"."""
    await PostgresStore(bare_url).migrate()
    await run(bare_url, damage)
    before = await everything(bare_url)
    for store in (PostgresStore(bare_url), PostgresStore.reader(bare_url)):
        refused = await refusal(store)
        assert refused.code == "TEN-4006"
        assert named in refused.message
        assert "Restore a backup" in refused.advice
        assert "DROP SCHEMA tenuto CASCADE" in refused.advice
        assert "`tenuto migrate`" not in refused.advice
    assert await everything(bare_url) == before


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (
            "DROP INDEX tenuto.jobs_offered, tenuto.mailbox_unclaimed",
            "index jobs_offered, no index",
        ),
        (
            f"DROP TRIGGER {TRIGGER} ON {LOG}",
            f"trigger {TRIGGER}",
        ),
        (
            "DROP FUNCTION tenuto.contended, tenuto.clock_ms, tenuto.leave_place CASCADE",
            "function clock_ms, no function contended, no function leave_place, no trigger",
        ),
    ],
)
async def test_what_no_data_are_lost_with_is_repaired_by_what_is_said(
    bare_url: str, damage: str, named: str, opened: Opener
) -> None:
    await PostgresStore(bare_url).migrate()
    before = await everything(bare_url)
    await run(bare_url, damage)
    refused = await refusal(PostgresStore(bare_url))
    assert (refused.code, named in refused.message) == ("TEN-4006", True)
    _, _, repair = refused.advice.partition("as the owner of the tables: ")
    await run(bare_url, repair)
    assert await everything(bare_url) == before
    store = await opened(bare_url)
    assert len((await store.commit(turn("t1", begin("i1"), process_id="p1"))).writes) == 1


async def test_a_trigger_that_is_switched_off_is_seen(bare_url: str) -> None:
    await PostgresStore(bare_url).migrate()
    await run(bare_url, f"ALTER TABLE {LOG} DISABLE TRIGGER ALL")
    assert "no trigger" in (await refusal(PostgresStore(bare_url))).message


async def test_every_older_schema_is_whole(bare_url: str) -> None:
    for migration in MIGRATIONS[:-1]:
        await migrated(bare_url, migration.version)
        refused = await refusal(PostgresStore.reader(bare_url))
        assert refused.code == "TEN-4005"
        assert f"an older schema ({migration.version};" in refused.message
        assert "Run `tenuto migrate`" in refused.advice


async def test_a_newer_schema_may_have_other_indexes(bare_url: str, opened: Opener) -> None:
    await PostgresStore(bare_url).migrate()
    await run(bare_url, f"DROP INDEX tenuto.jobs_leased; {NEWER}")
    await opened(bare_url)


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("CREATE TABLE tenuto.customers (id int)", "customers"),
        ("CREATE TABLE tenuto.schema_info (version text)", "schema_info"),
        ("CREATE TABLE tenuto.schema_info (version int, name text)", "schema_info"),
        ("CREATE VIEW tenuto.schema_info AS SELECT 1 AS one", "schema_info"),
        ("CREATE TABLE tenuto.jobs (id int)", "jobs"),
        ("CREATE FUNCTION tenuto.clock_ms() RETURNS int LANGUAGE sql AS 'SELECT 1'", "clock_ms"),
        ("CREATE TYPE tenuto.mailbox AS ENUM ('full', 'empty')", "type mailbox"),
        ("CREATE TYPE tenuto.timers AS (due int)", "type timers"),
        ("CREATE SEQUENCE tenuto.owners_by_process", "sequence owners_by_process"),
    ],
)
async def test_a_schema_of_another_program_is_left_alone(
    bare_url: str, script: str, named: str
) -> None:
    """ "with another program's tables"."""
    await run(bare_url, f"CREATE SCHEMA tenuto; {script}")
    before = await everything(bare_url)
    for store in (PostgresStore(bare_url), PostgresStore.reader(bare_url)):
        refused = await refusal(store)
        assert refused.code == "TEN-4006"
        assert "belongs to another program" in refused.message
        assert named in refused.message
        assert "?schema=" in refused.advice
    assert await everything(bare_url) == before


async def test_another_schema_of_the_same_database_is_free(bare_url: str, opened: Opener) -> None:
    await run(bare_url, "CREATE SCHEMA tenuto; CREATE TABLE tenuto.customers (id int)")
    beside = await opened(f"{bare_url}?schema=beside")
    await beside.commit(turn("t1", begin("i1"), process_id="p1"))
    assert [tuple(row) for row in await ask(bare_url, "SELECT id FROM beside.processes")] == [
        ("p1",)
    ]


async def test_an_empty_schema_that_somebody_made_is_used(bare_url: str, opened: Opener) -> None:
    await run(
        bare_url,
        "CREATE SCHEMA tenuto;"
        " CREATE FUNCTION tenuto.of_an_extension() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    )
    await opened(bare_url)
