"""A role that reads for tenants sees the rows of one of them, and nothing at all without one."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tenuto.cli import backends
from tenuto.cli.doctor import examine
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.postgres import PostgresStore
from tenuto.store.postgres.driver import Connection
from tests.kit.postgres_database import connected, database_url
from tests.store.postgres.conftest import Opener, ask, refusal, run
from tests.store.situations import NOON, begin, event, turn

pytestmark = pytest.mark.asyncio

LOCKED_OUT = "permission denied"
READER = """
SELECT DISTINCT roles::text FROM pg_policies
WHERE policyname = 'rows_of_the_tenant' AND schemaname = $1
"""
READER_TO_BE = "SELECT 'tenuto_reader_' || substr(md5(current_database() || '.tenuto'), 1, 12)"
GUARDED = """
SELECT DISTINCT table_name::text FROM information_schema.columns
WHERE table_schema = 'tenuto' AND column_name = 'tenant'
UNION SELECT 'workflow_execution_history' UNION SELECT 'webhook_deliveries'
"""


@pytest_asyncio.fixture
async def humble(bare_url: str) -> AsyncIterator[str]:
    """The URL of a role that may make a schema of its own and no other role."""
    name = f"owning_{bare_url.rpartition('_')[2]}"
    [(reader,)] = await ask(bare_url, READER_TO_BE)
    database = bare_url.rpartition("/")[2]
    await run(
        bare_url,
        f"DROP ROLE IF EXISTS {reader}; DROP ROLE IF EXISTS {name};"
        f" CREATE ROLE {name} LOGIN; GRANT CREATE ON DATABASE {database} TO {name}",
    )
    yield bare_url.replace("://tenuto@", f"://{name}@")
    await run(bare_url, f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}")


async def reader_in(url: str, schema: str = "tenuto") -> str:
    [(roles,)] = await ask(url, READER, schema)
    return str(roles).strip("{}")


async def become(connection: Connection, reader: str, tenant: str | None) -> None:
    await connection.execute(f"SET ROLE {reader}")
    if tenant is not None:
        await connection.execute(f"SET tenuto_reader.tenant = '{tenant}'")


async def count(connection: Connection, table: str) -> int:
    [(rows,)] = await connection.fetch(f"SELECT count(*) FROM tenuto.{table}")
    return int(rows)


async def has_wall(store: PostgresStore) -> bool:
    wall = await store.upkeep.row_security()
    assert wall is not None
    return wall.is_up


def scripts_in(advice: str) -> tuple[str, str]:
    """What an administrator is to run, and what the owner of the tables is."""
    found = re.fullmatch(
        r"(?:As an administrator run: (.*?)\. )?(?:As the role \w+ run: (.*?)\. )?"
        r"Then start anew\.",
        advice,
    )
    assert found is not None, advice
    return found[1] or "", found[2] or ""


async def said_by_doctor(url: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    async with backends.opened(url) as backend:
        await examine(backend, is_json=True)
    findings = json.loads(capsys.readouterr().out)["findings"]
    [found] = [each for each in findings if each["what"] == "tenants"]
    return found["state"], found["advice"]


async def test_every_table_with_a_tenant_shows_its_rows_alone(url: str, opened: Opener) -> None:
    store = await opened(url)
    assert await has_wall(store)
    await store.turns.commit(turn("t1", begin("i1"), process_id="p1", events=(event("e1"),)))
    reader = await reader_in(url)
    tables = sorted(table for (table,) in await ask(url, GUARDED))
    assert len(tables) > 15
    async with connected(url) as connection:
        await become(connection, reader, None)
        assert {table: await count(connection, table) for table in tables} == dict.fromkeys(
            tables, 0
        )
        await become(connection, reader, "another")
        assert sum([await count(connection, table) for table in tables]) == 0
        await become(connection, reader, "default")
        seen = {table for table in tables if await count(connection, table)}
    assert seen >= {"workflow_instances", "workflow_execution_history", "events"}


async def test_who_reads_for_a_tenant_writes_nothing_and_sees_no_other_table(
    url: str, opened: Opener
) -> None:
    await opened(url)
    async with connected(url) as connection:
        await become(connection, await reader_in(url), "default")
        for refused in (
            "DELETE FROM tenuto.workflow_instances",
            "UPDATE tenuto.listeners SET tenant = 'other'",
            "INSERT INTO tenuto.audit_heads VALUES ('default', 1, '')",
            "SELECT 1 FROM tenuto.secrets",
            "SELECT 1 FROM tenuto.workflow_snapshots",
        ):
            with pytest.raises(Exception, match=LOCKED_OUT):
                await connection.execute(refused)


async def test_a_connection_says_once_for_whom_it_reads(url: str, opened: Opener) -> None:
    store = await opened(url)
    query = InstanceQuery(limit=1)

    async def costs(tenant: str) -> int:
        before = store.statements
        await store.seen_by(tenant).instances.page(query)
        return store.statements - before

    assert [await costs(each) for each in ("a", "a", "b", "b", "a")] == [2, 1, 2, 1, 2]


async def test_a_connection_that_broke_says_it_anew(url: str, opened: Opener) -> None:
    store = await opened(url)
    await store.turns.commit(turn("t1", begin("i1"), process_id="p1"))
    query = InstanceQuery(limit=1, tenant="default")
    assert (await store.seen_by("default").instances.page(query)).items
    await run(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'tenuto' AND datname = current_database()",
    )
    assert (await store.seen_by("default").instances.page(query)).items
    assert (await store.seen_by("other").instances.page(query)).items == []


async def test_where_no_role_can_be_made_it_works_without_and_says_what_to_run(
    bare_url: str,
    humble: str,
    opened: Opener,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with caplog.at_level(logging.WARNING, "tenuto.store"):
        store = await opened(humble)
        await store.turns.commit(turn("t1", begin("i1"), process_id="p1"))
        assert (await store.seen_by("default").instances.page(InstanceQuery(limit=1))).items
        store.seen_by("~test:i1")
        assert [each for each in caplog.records if "second time" in each.getMessage()] == []
        for tenant in ("default", "other", "another"):
            assert (await store.seen_by(tenant).instances.page(InstanceQuery(limit=1))).items
    [said] = [each.getMessage() for each in caplog.records if "second time" in each.getMessage()]
    wall = await store.upkeep.row_security()
    assert wall is not None
    assert not wall.is_up
    assert wall.advice in said
    assert await said_by_doctor(humble, capsys) == ("warning", wall.advice)
    by_administrator, by_owner = scripts_in(wall.advice)
    await run(bare_url, by_administrator)
    await run(humble, by_owner)
    again = await opened(humble, "p2")
    assert await has_wall(again)
    assert (await again.seen_by("default").instances.page(InstanceQuery(limit=1))).items
    assert (await again.seen_by("other").instances.page(InstanceQuery(limit=1))).items == []
    assert await said_by_doctor(humble, capsys) == ("ok", "")


async def test_an_owner_who_may_make_roles_needs_nobody(
    bare_url: str, humble: str, opened: Opener
) -> None:
    role = humble.partition("://")[2].partition("@")[0]
    await run(bare_url, f"ALTER ROLE {role} CREATEROLE")
    assert await has_wall(await opened(humble))
    await run(bare_url, f"GRANT {await reader_in(bare_url)} TO {role}")
    # An owner is held back by nothing, whatever it inherits.
    assert (await opened(humble, "p2")).is_shared


async def test_a_role_that_others_may_act_as_is_granted_nothing_by_itself(
    bare_url: str, opened: Opener
) -> None:
    [(reader,)] = await ask(bare_url, READER_TO_BE)
    stranger = f"stranger_{bare_url.rpartition('_')[2]}"
    await run(
        bare_url,
        f"DROP ROLE IF EXISTS {reader}; DROP ROLE IF EXISTS {stranger};"
        f" CREATE ROLE {reader}; CREATE ROLE {stranger} LOGIN; GRANT {reader} TO {stranger}",
    )
    try:
        wall = await (await opened(bare_url)).upkeep.row_security()
        assert wall is not None
        assert not wall.is_up
        assert await ask(bare_url, READER, "tenuto") == []
        _, by_owner = scripts_in(wall.advice)
        await run(bare_url, by_owner)
        assert await has_wall(await opened(bare_url, "p2"))
    finally:
        await run(bare_url, f"DROP ROLE {stranger}")


async def test_who_inherits_the_reader_is_told_instead_of_seeing_nothing(
    bare_url: str, opened: Opener
) -> None:
    await opened(bare_url)
    reader, user = await reader_in(bare_url), f"heir_{bare_url.rpartition('_')[2]}"
    await run(
        bare_url,
        f"DROP ROLE IF EXISTS {user}; CREATE ROLE {user} LOGIN; GRANT {reader} TO {user};"
        f" GRANT ALL ON SCHEMA tenuto TO {user}; GRANT ALL ON ALL TABLES IN SCHEMA tenuto TO {user}"
        f"; GRANT ALL ON ALL SEQUENCES IN SCHEMA tenuto TO {user}",
    )
    theirs = bare_url.replace("://tenuto@", f"://{user}@")
    try:
        refused = await refusal(PostgresStore(theirs))
        assert refused.code == "TEN-4004"
        assert f"inherits {reader}" in refused.message
        _, _, script = refused.advice.partition("run: ")
        await run(bare_url, script.rstrip("."))
        store = await opened(theirs, "p2")
        done = await store.turns.commit(turn("t1", begin("i1"), process_id="p2"))
        assert done.writes
        assert "i1" in await store.turns.load(["i1"])
        wall = await store.upkeep.row_security()
        assert wall is not None
        # Before PostgreSQL 16 nobody but the owner can have both.
        assert wall.is_up or "the owner of the tables, the role tenuto" in wall.advice
        await store.close(NOON, clean=True)
    finally:
        await run(bare_url, f"DROP OWNED BY {user}; DROP ROLE {user}")


async def test_a_wall_with_a_gap_is_none(bare_url: str, opened: Opener) -> None:
    store = await opened(bare_url)
    for gap in (
        "DROP POLICY rows_of_the_tenant ON tenuto.events",
        "ALTER TABLE tenuto.listeners DISABLE ROW LEVEL SECURITY",
        "CREATE TABLE tenuto.later (tenant text)",
    ):
        await run(bare_url, gap)
        assert not await has_wall(store)
        await run(bare_url, "SELECT tenuto.raise_wall()")
        assert await has_wall(store)


async def test_a_role_that_nothing_holds_back_is_no_reader(bare_url: str, opened: Opener) -> None:
    store = await opened(bare_url)
    reader = await reader_in(bare_url)
    await run(bare_url, f"ALTER ROLE {reader} BYPASSRLS")
    wall = await store.upkeep.row_security()
    assert wall is not None
    assert not wall.is_up
    by_administrator, _ = scripts_in(wall.advice)
    await run(bare_url, by_administrator.partition("; REVOKE")[0])
    assert await has_wall(store)


@pytest.mark.slow
async def test_schemas_and_databases_of_one_server_have_a_reader_each(
    bare_url: str, url: str
) -> None:
    """Whoever may act as one must not see what was granted to another; all are made at once."""
    stores = [
        PostgresStore(bare_url),
        PostgresStore(bare_url),
        PostgresStore(bare_url, schema="beside"),
        PostgresStore(url),
    ]
    await asyncio.gather(*(store.migrate() for store in stores))
    assert bare_url != url == database_url()
    readers = {
        await reader_in(bare_url),
        await reader_in(bare_url, "beside"),
        await reader_in(url),
    }
    assert len(readers) == 3
    for store in stores:
        await store.open(f"p{id(store)}", NOON)
        assert await has_wall(store)
        await store.close(NOON, clean=True)
