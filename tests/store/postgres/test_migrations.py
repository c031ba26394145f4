"""Migrations run once, whole or not at all; a schema says which programs it is for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres import PostgresStore, driver, migrations
from tenuto.store.postgres.address import read_address
from tenuto.store.postgres.driver import Connection, Row
from tenuto.store.postgres.migrations import MIGRATIONS, NEWEST, checked_version, migrate
from tenuto.store.postgres.queries import Parameters, Statement, statement
from tenuto.store.postgres.server import Server
from tenuto.store.postgres.session import TRIES, Session
from tenuto.store.sql import Migration
from tests.kit.postgres_database import connected
from tests.kit.tcp_proxy import proxy_to
from tests.store.postgres.conftest import Opener, ask, refusal, run, waits_for_lock
from tests.store.situations import NOON, begin, turn

pytestmark = pytest.mark.asyncio


async def schema_of(url: str, schema: str) -> Any:  # noqa: ANN401
    """Everything that a schema says of itself."""
    columns = await ask(
        url,
        "SELECT table_name, column_name, ordinal_position, data_type, is_nullable, column_default,"
        " collation_name FROM information_schema.columns WHERE table_schema = $1 ORDER BY 1, 3",
        schema,
    )
    indexes = await ask(
        url, "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = $1 ORDER BY 1", schema
    )
    options = await ask(
        url,
        "SELECT relname, reloptions FROM pg_class WHERE relnamespace = $1::regnamespace ORDER BY 1",
        schema,
    )
    rows = [*map(tuple, columns), *map(tuple, indexes), *map(tuple, options)]
    return [[str(each).replace(f"{schema}.", "") for each in row] for row in rows]


async def test_processes_that_start_at_once_migrate_once(empty_url: str, opened: Opener) -> None:
    stores = [PostgresStore(empty_url) for _ in range(4)]
    opened.stores += stores
    await asyncio.gather(*[store.open(f"p{n}", NOON) for n, store in enumerate(stores)])
    assert [tuple(row) for row in await ask(empty_url, "TABLE tenuto.schema_info")] == [
        (1, NEWEST, MIGRATIONS[-1].oldest_program)
    ]
    for number, store in enumerate(stores):
        done = await store.turns.commit(
            turn(f"t{number}", begin(f"i{number}"), process_id=f"p{number}")
        )
        assert len(done.writes) == 1


async def test_a_migration_of_somebody_else_is_waited_for_however_long_it_takes(
    empty_url: str, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_COMMAND_PATIENCE", 0.5)
    async with connected(empty_url) as other:
        await other.execute(f"BEGIN; {statement('lock_schema', 'tenuto').sql}")
        opening = asyncio.create_task(opened(empty_url))
        await waits_for_lock(empty_url)
        for _ in range(3):
            await other.execute("SELECT pg_sleep(0.25)")
        await other.execute("COMMIT")
        store = await opening
    assert len((await store.turns.commit(turn("t1", begin("i1"), process_id="p1"))).writes) == 1


async def test_a_schema_that_grew_step_by_step_is_like_a_fresh_one(empty_url: str) -> None:
    fresh = Session(Server(read_address(empty_url, "fresh")))
    grown = Session(Server(read_address(empty_url, "grown")))
    assert await migrate(fresh) == MIGRATIONS
    for migration in MIGRATIONS:
        assert await migrate(grown, newest=migration.version) == [migration]
    assert await migrate(grown) == []
    await fresh.close()
    await grown.close()
    assert await schema_of(empty_url, "grown") == await schema_of(empty_url, "fresh")


async def test_a_migration_that_is_killed_in_the_middle_leaves_nothing(
    empty_url: str, monkeypatch: pytest.MonkeyPatch, opened: Opener
) -> None:
    deadly = Migration(NEWEST + 1, "x", 1, "SELECT pg_terminate_backend(pg_backend_pid());")
    monkeypatch.setattr(migrations, "MIGRATIONS", [*MIGRATIONS, deadly])
    session = Session(Server(read_address(empty_url)))
    with pytest.raises(StoreUnavailable):
        await migrate(session, newest=deadly.version)
    assert await ask(empty_url, "SELECT 1 FROM pg_namespace WHERE nspname = 'tenuto'") == []
    await session.close()
    monkeypatch.undo()
    await opened(empty_url)


def contended(times: int) -> Migration:
    """A migration that is the victim of a deadlock so many times; sequences are not rolled back."""
    return Migration(
        NEWEST + 1,
        "x",
        1,
        f"""
        DO $$ BEGIN
            IF nextval('public.tries') <= {times} THEN
                RAISE EXCEPTION 'deadlock detected' USING ERRCODE = 'deadlock_detected';
            END IF;
        END $$;
        """,
    )


async def test_a_migration_that_is_the_victim_of_a_deadlock_goes_again(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run(empty_url, "CREATE SEQUENCE public.tries")
    last = contended(TRIES - 1)
    monkeypatch.setattr(migrations, "MIGRATIONS", [*MIGRATIONS, last])
    session = Session(Server(read_address(empty_url)))
    assert await migrate(session, newest=last.version) == [*MIGRATIONS, last]
    await session.close()


async def test_a_migration_that_others_are_always_in_the_way_of_says_so(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run(empty_url, "CREATE SEQUENCE public.tries")
    last = contended(TRIES)
    monkeypatch.setattr(migrations, "MIGRATIONS", [*MIGRATIONS, last])
    session = Session(Server(read_address(empty_url)))
    with pytest.raises(StoreUnavailable, match="again and again") as refused:
        await migrate(session, newest=last.version)
    assert refused.value.code == "TEN-4011"
    await session.close()


async def test_a_migration_that_is_committed_while_somebody_looks_is_no_half_of_one(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Session(Server(read_address(empty_url)))
    await migrate(other, newest=MIGRATIONS[-2].version)
    version = statement("schema_info", "tenuto")
    send = Session._send

    async def overtaken(
        session: Session, connection: Connection, sent: Statement, parameters: Parameters
    ) -> list[Row]:
        if sent is version and session is not other:
            await migrate(other)
        return await send(session, connection, sent, parameters)

    monkeypatch.setattr(Session, "_send", overtaken)
    session = Session(Server(read_address(empty_url)))
    assert await checked_version(session) == MIGRATIONS[-2].version
    monkeypatch.undo()
    assert await checked_version(session) == NEWEST
    assert await migrate(session) == []
    await session.close()
    await other.close()


async def test_a_migration_whose_answer_was_lost_is_done_once(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C1: "cut the response, retry; same answer"."""
    command = Session._command
    async with proxy_to(empty_url) as proxy:
        url = proxy.url(empty_url)

        async def unanswered(session: Session, connection: Connection, name: str) -> None:
            if name != "commit":
                await command(session, connection, name)
                return
            monkeypatch.undo()
            proxy.lose_answers()
            under_way = asyncio.create_task(command(session, connection, name))
            await proxy.lost.wait()
            proxy.mend()
            proxy.cut()
            await under_way

        monkeypatch.setattr(Session, "_command", unanswered)
        done = await PostgresStore(url).migrate()
    assert done == [f"{each.version:04} {each.name}" for each in MIGRATIONS]
    assert await PostgresStore(empty_url).migrate() == []


async def test_a_migration_whose_answer_is_lost_each_time_is_told_as_bad_weather(
    empty_url: str, monkeypatch: pytest.MonkeyPatch, opened: Opener
) -> None:
    command = Session._command

    async def broken(session: Session, connection: Connection, name: str) -> None:
        if name == "commit":
            raise ConnectionResetError
        await command(session, connection, name)

    monkeypatch.setattr(Session, "_command", broken)
    refused = await refusal(PostgresStore(empty_url))
    assert refused.code == "TEN-4001"
    assert "migration" in refused.message
    monkeypatch.undo()
    await opened(empty_url)


async def test_migrating_beforehand_tells_what_was_done(empty_url: str) -> None:
    store = PostgresStore(empty_url)
    assert await store.migrate() == [f"{each.version:04} {each.name}" for each in MIGRATIONS]
    assert await store.migrate() == []


async def test_a_newer_schema_is_refused_when_it_says_so(empty_url: str, opened: Opener) -> None:
    await PostgresStore(empty_url).migrate()
    await run(empty_url, f"UPDATE tenuto.schema_info SET version = {NEWEST + 1}")
    (await opened(empty_url)).abandon()
    await run(empty_url, f"UPDATE tenuto.schema_info SET oldest_program = {NEWEST + 1}")
    assert (await refusal(PostgresStore(empty_url))).code == "TEN-4005"
    assert (await refusal(PostgresStore.reader(empty_url))).code == "TEN-4005"


async def test_a_reader_never_migrates(empty_url: str) -> None:
    refused = await refusal(PostgresStore.reader(empty_url))
    assert refused.code == "TEN-4005"
    assert "there is no store of Tenuto" in refused.message
    assert "tenuto migrate" in refused.advice
    assert await ask(empty_url, "SELECT 1 FROM pg_namespace WHERE nspname = 'tenuto'") == []


OLD = """
INSERT INTO tenuto.processes (id, started_at, beat_at, steady_since)
SELECT 'old', now_ms, now_ms, now_ms FROM (SELECT tenuto.clock_ms() AS now_ms) AS clock
"""
"""A process of a program that does not say which it is, as programs before schema 45 do not."""


async def test_a_migration_is_refused_while_a_program_runs_that_its_schema_does_not_support(
    bare_url: str, opened: Opener
) -> None:
    session = Session(Server(read_address(bare_url)))
    await migrate(session, newest=38)
    await run(bare_url, OLD)
    refused = await refusal(PostgresStore(bare_url))
    assert refused.code == "TEN-4024"
    assert "processes old" in refused.message
    assert refused.advice is not None
    assert "--beside-older" in refused.advice
    assert await checked_version(session) == 38
    # A process that died counts as gone, without another that declares it dead.
    await run(bare_url, "UPDATE tenuto.processes SET beat_at = beat_at - 9001")
    store = await opened(bare_url)
    assert await checked_version(session) == NEWEST
    assert await ask(bare_url, "SELECT program FROM tenuto.processes WHERE id = 'p1'") == [
        (NEWEST,)
    ]
    await store.close(NOON, clean=True)
    await session.close()


async def test_a_migration_goes_on_beside_older_programs_where_that_is_asked_for(
    bare_url: str,
) -> None:
    session = Session(Server(read_address(bare_url)))
    await migrate(session, newest=38)
    await run(bare_url, OLD)
    with pytest.raises(StoreUnavailable):
        await PostgresStore(bare_url).migrate()
    done = await PostgresStore(bare_url).migrate(is_beside_older=True)
    assert done == [f"{each.version:04} {each.name}" for each in MIGRATIONS if each.version > 38]
    assert await PostgresStore(bare_url).migrate() == []
    await session.close()


async def test_a_program_that_enters_during_a_migration_is_refused_after_it(
    bare_url: str, opened: Opener
) -> None:
    """It has found a schema that supports it, and the migration no process of its program."""
    store = await opened(bare_url)
    await run(bare_url, f"UPDATE tenuto.schema_info SET oldest_program = {NEWEST + 1}")
    with pytest.raises(StoreUnavailable) as refused:
        await store.members.enter("p2", NOON)
    assert refused.value.code == "TEN-4005"
    assert await ask(bare_url, "SELECT id FROM tenuto.processes WHERE id = 'p2'") == []


async def test_a_program_of_the_schema_that_is_supported_lives_through_a_migration(
    bare_url: str, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(bare_url)
    last = Migration(NEWEST + 1, "next", NEWEST, "SELECT 1;")
    monkeypatch.setattr(migrations, "MIGRATIONS", [*MIGRATIONS, last])
    session = Session(Server(read_address(bare_url)))
    assert await migrate(session, newest=last.version) == [last]
    deadly = Migration(NEWEST + 2, "later", NEWEST + 1, "SELECT 1;")
    monkeypatch.setattr(migrations, "MIGRATIONS", [*MIGRATIONS, last, deadly])
    with pytest.raises(StoreUnavailable) as refused:
        await migrate(session, newest=deadly.version)
    assert refused.value.code == "TEN-4024"
    assert f"p1 (schema {NEWEST})" in refused.value.message
    await store.members.beat()
    await session.close()
