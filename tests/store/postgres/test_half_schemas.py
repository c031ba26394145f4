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
from tests.store.postgres.made import made, written
from tests.store.situations import begin, turn

pytestmark = pytest.mark.asyncio

CATALOGUE = statement("catalogue", "tenuto").sql
LOG = "tenuto.workflow_execution_history"
TRIGGER = "workflow_execution_history_leave_place"
INVALID = "indisvalid = false"
DROP_KEYS_AND_INDEXES = """
DO $$ DECLARE name regclass; BEGIN
    FOR name IN SELECT indexrelid::regclass FROM pg_index
        INNER JOIN pg_class ON pg_class.oid = indrelid
        WHERE relnamespace = '"Orders"'::regnamespace AND NOT indisprimary
        AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid) LOOP
        EXECUTE format('DROP INDEX %s', name);
    END LOOP;
END $$;
DO $$ DECLARE key record; BEGIN
    FOR key IN SELECT conrelid::regclass AS of_table, conname FROM pg_constraint
        WHERE connamespace = '"Orders"'::regnamespace AND contype IN ('p', 'u') LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', key.of_table, key.conname);
    END LOOP;
END $$
"""
NEWER = f"UPDATE tenuto.schema_info SET version = {NEWEST + 1}"


async def migrated(url: str, newest: int = NEWEST) -> None:
    session = Session(Server(read_address(url)))
    await migrate(session, newest=newest)
    await session.close()


async def everything(url: str, schema: str = "tenuto") -> list[tuple[object, ...]]:
    """All that the schema holds."""
    return sorted(tuple(row) for row in await ask(url, CATALOGUE, schema))


async def test_what_the_migrations_make_is_written_down(bare_url: str) -> None:
    found = await made(bare_url)
    assert {version: written(version) for version in found} == found


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
        (
            "UPDATE tenuto.schema_info SET version = 4",
            "column events.cancelled (bigint), column events.chain (bigint), ",
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
        (
            f"ALTER TABLE {LOG} DISABLE TRIGGER ALL",
            f"schema_info says {NEWEST}, and trigger {TRIGGER} is switched off",
        ),
        (
            f"ALTER TABLE {LOG} ENABLE REPLICA TRIGGER {TRIGGER}; DROP INDEX tenuto.jobs_leased",
            f"there is no index jobs_leased, and trigger {TRIGGER} is switched off",
        ),
        (
            f"UPDATE pg_index SET {INVALID} WHERE indexrelid = 'tenuto.jobs_offered'::regclass",
            f"schema_info says {NEWEST}, and index jobs_offered is invalid",
        ),
        (
            "ALTER TABLE tenuto.mailbox DROP CONSTRAINT mailbox_pkey",
            "there is no primary key of mailbox (number)",
        ),
        (
            "ALTER TABLE tenuto.mailbox DROP CONSTRAINT mailbox_id_instance_id_key",
            "there is no unique key of mailbox (id, instance_id)",
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
    assert len((await store.turns.commit(turn("t1", begin("i1"), process_id="p1"))).writes) == 1


async def test_every_key_and_index_is_made_again_in_any_schema(
    empty_url: str, opened: Opener
) -> None:
    url = f"{empty_url}?schema=Orders"
    await PostgresStore(url).migrate()
    before = await everything(empty_url, "Orders")
    await run(empty_url, DROP_KEYS_AND_INDEXES)
    refused = await refusal(PostgresStore(url))
    await run(empty_url, refused.advice.partition("as the owner of the tables: ")[2])
    assert await everything(empty_url, "Orders") == before
    await opened(url)


async def test_a_key_may_be_made_again_under_another_name(bare_url: str, opened: Opener) -> None:
    await PostgresStore(bare_url).migrate()
    await run(
        bare_url,
        "CREATE UNIQUE INDEX lean ON tenuto.mailbox (number);"
        " ALTER TABLE tenuto.mailbox DROP CONSTRAINT mailbox_pkey,"
        " ADD CONSTRAINT lean PRIMARY KEY USING INDEX lean;"
        " CREATE UNIQUE INDEX lean_too ON tenuto.mailbox (id, instance_id);"
        " ALTER TABLE tenuto.mailbox DROP CONSTRAINT mailbox_id_instance_id_key",
    )
    store = await opened(bare_url)
    assert len((await store.turns.commit(turn("t1", begin("i1"), process_id="p1"))).writes) == 1


async def test_only_the_schema_that_is_half_there_is_dropped(empty_url: str) -> None:
    for schema in ("Orders", "orders"):
        await PostgresStore(f"{empty_url}?schema={schema}").migrate()
    await run(empty_url, 'DROP TABLE "Orders".timers')
    refused = await refusal(PostgresStore(f"{empty_url}?schema=Orders"))
    await run(empty_url, refused.advice.partition("run in the database: ")[2].rstrip("."))
    left = await ask(empty_url, "SELECT nspname FROM pg_namespace WHERE nspname ILIKE 'orders'")
    assert [tuple(row) for row in left] == [("orders",)]


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
    await beside.turns.commit(turn("t1", begin("i1"), process_id="p1"))
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


async def test_what_an_extension_has_in_a_schema_is_nobodys_claim(
    empty_url: str, opened: Opener
) -> None:
    await run(
        empty_url,
        "CREATE VIEW public.statistics AS SELECT 1 AS one;"
        " ALTER EXTENSION plpgsql ADD VIEW public.statistics",
    )
    await opened(f"{empty_url}?schema=public")


async def test_a_name_of_ours_is_in_the_way_though_it_is_of_an_extension(empty_url: str) -> None:
    await run(
        empty_url,
        "CREATE VIEW public.events AS SELECT 1 AS one;"
        " ALTER EXTENSION plpgsql ADD VIEW public.events",
    )
    refused = await refusal(PostgresStore(f"{empty_url}?schema=public"))
    assert refused.code == "TEN-4006"
    assert "belongs to another program (it has events)" in refused.message
