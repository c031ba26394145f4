"""Migrated equals fresh, from every version there ever was."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.store.sqlite import Inline, SqliteStore
from tenuto.store.sqlite.migrations import NEWEST, migrate
from tenuto.store.sqlite.session import Session
from tests.store.situations import NOON, begin, turn
from tests.store.sqlite.snapshots import (
    IN_FULL,
    VERSIONS,
    digest,
    digests,
    opened,
    schema,
    snapshot,
)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_is_as_it_was_released(tmp_path: Path, version: int) -> None:
    session = opened(tmp_path / "old.db")
    migrate(session, newest=version)
    made = schema(session)
    session.close()
    if version in VERSIONS[-IN_FULL:]:
        assert made == snapshot(version).read_text("utf-8")
    else:
        assert digest(made) == digests()[version]


@pytest.mark.parametrize("version", VERSIONS)
def test_migrated_equals_fresh(tmp_path: Path, version: int) -> None:
    old = opened(tmp_path / "old.db")
    migrate(old, newest=version)
    assert [each.version for each in migrate(old)] == [each for each in VERSIONS if each > version]
    assert_is_like_a_fresh_one(old, tmp_path / "fresh.db")


@pytest.mark.parametrize("version", VERSIONS[-IN_FULL:])
def test_a_released_schema_is_migrated_to_the_present_one(tmp_path: Path, version: int) -> None:
    old = opened(tmp_path / "old.db")
    old.connection.execute(snapshot(version).read_text("utf-8"))
    old.connection.execute("INSERT INTO schema_info VALUES (1, ?, ?)", (version, version))
    assert [each.version for each in migrate(old)] == [each for each in VERSIONS if each > version]
    assert_is_like_a_fresh_one(old, tmp_path / "fresh.db")


def assert_is_like_a_fresh_one(old: Session, path: Path) -> None:
    fresh = opened(path)
    migrate(fresh)
    assert schema(old) == schema(fresh)
    assert old.rows("schema_info") == fresh.rows("schema_info")
    assert old.connection.execute("PRAGMA integrity_check").get == "ok"
    for session in (old, fresh):
        session.close()


def test_a_migration_that_fails_leaves_the_old_schema(tmp_path: Path) -> None:
    session = opened(tmp_path / "old.db")
    migrate(session, newest=1)
    before = schema(session)
    session.connection.execute("CREATE TABLE timers (in_the_way)")
    with pytest.raises(apsw.SQLError):
        migrate(session)
    session.connection.execute("DROP TABLE timers")
    assert schema(session) == before
    assert session.rows("schema_info") == [(1, 1)]
    session.close()


@pytest.mark.asyncio
async def test_opening_brings_an_old_database_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    session = opened(path)
    migrate(session, newest=1)
    session.close()
    store = SqliteStore(path, threads=Inline)
    await store.open("p1", NOON)
    await store.turns.commit(turn("t1", begin("i1")))
    await store.close(NOON, clean=True)


@pytest.mark.asyncio
async def test_the_migrate_verb_tells_what_it_did(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    session = opened(path)
    migrate(session, newest=2)
    session.close()
    store = SqliteStore(path)
    assert await store.migrate() == [
        "0003 timers_mail_and_owners",
        "0004 what_came_first",
        "0005 jobs",
        "0006 arms_and_triggers",
        "0007 outbox",
        "0008 what_came_before",
        "0009 listening",
        "0010 access",
        "0011 workers",
        "0013 tenants_of_deliveries",
        "0014 tasks",
        "0015 bulk_and_erasing",
        "0016 forgetting",
        "0017 turns_of_postings",
        "0018 searchable_values",
        "0021 ends_of_chains",
        "0022 makers_and_credentials",
        "0023 quarantine",
        "0024 origins",
        "0025 lists_by_family_and_change",
        "0026 deaths_and_turns_of_tenants",
        "0027 task_logs",
        "0028 connected_workers",
        "0029 calendars_and_schedules",
        "0030 secrets",
        "0031 data_sources_and_queries",
        "0033 encryption",
        "0034 slots",
        "0035 paces",
        "0036 task_limits",
        "0037 load_reports",
        "0038 slots_at_once",
        "0045 programs_and_rules",
        "0046 marks_in_place",
    ]
    assert await store.migrate() == []
    await store.open("p1", NOON)
    with pytest.raises(StoreUnavailable):
        await SqliteStore(path).migrate()
    await store.close(NOON, clean=True)


async def refusal(store: SqliteStore) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as refused:
        await store.open("p1", NOON)
    assert refused.value.advice
    return refused.value


@pytest.mark.asyncio
async def test_a_database_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    session = opened(path)
    migrate(session)
    session.run("put_schema_info", (NEWEST + 1, NEWEST + 1))
    assert (await refusal(SqliteStore(path))).code == "TEN-4005"
    assert (await refusal(SqliteStore.reader(path))).code == "TEN-4005"
    session.run("put_schema_info", (NEWEST + 1, NEWEST))
    session.close()
    store = SqliteStore(path)
    await store.open("p1", NOON)
    await store.close(NOON, clean=True)


@pytest.mark.asyncio
async def test_a_reader_does_not_migrate(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    session = opened(path)
    migrate(session, newest=1)
    session.close()
    refused = await refusal(SqliteStore.reader(path))
    assert refused.code == "TEN-4005"
    assert "tenuto migrate" in refused.advice


@pytest.mark.asyncio
async def test_what_is_no_database_of_ours_is_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "letter.txt"
    text.write_text("Dear Ada, " * 1000)
    assert (await refusal(SqliteStore(text))).code == "TEN-4006"
    assert text.read_text().startswith("Dear Ada")
    foreign = tmp_path / "foreign.db"
    connection = apsw.Connection(str(foreign))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    assert (await refusal(SqliteStore(foreign))).code == "TEN-4006"
    connection = apsw.Connection(str(foreign))
    assert connection.execute("SELECT count(*) FROM sqlite_schema").get == 1
    connection.close()
