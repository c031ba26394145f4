"""A store that is full, read-only, locked or damaged: a clear error, nothing lost, it goes on."""

from __future__ import annotations

import resource
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest
import pytest_asyncio

from tenuto.model.errors import StoreUnavailable
from tenuto.store.errors import CommitUnknown
from tenuto.store.parts.turns import Outcome, WriteResult
from tenuto.store.sqlite import Inline, SqliteStore
from tests.store import test_access, test_outbox
from tests.store.situations import NOON, begin, entry, step, turn

pytestmark = pytest.mark.asyncio

LARGE = turn("large", *[begin(f"n{n:03}", entry(1, payload=b"x" * 50_000)) for n in range(20)])


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    made = SqliteStore(tmp_path / "tenuto.db", threads=Inline)
    await made.open("p1", NOON)
    await made.turns.commit(turn("t1", begin("i1")))
    yield made
    made.abandon()


async def refused(store: SqliteStore, code: str) -> None:
    """A turn fails with `code` and an advice, and has written nothing."""
    with pytest.raises(StoreUnavailable) as refusal:
        await store.turns.commit(LARGE)
    assert refusal.value.code == code
    assert refusal.value.advice
    assert await store.turns.load(["n000"]) == {}


async def goes_on(store: SqliteStore) -> None:
    """The same connection works again, with all that was acknowledged."""
    result = await store.turns.commit(LARGE)
    assert set(result.writes.values()) == {WriteResult(Outcome.WON)}
    assert set(await store.turns.load(["i1", "n000"])) == {"i1", "n000"}
    assert store._file.writing.connection.execute("PRAGMA integrity_check").get == "ok"


async def test_a_full_disk_refuses_and_goes_on_when_there_is_space(store: SqliteStore) -> None:
    """R9: "fill during load, free again … reads work, recovery without restart, nothing lost"."""
    connection = store._file.writing.connection
    pages = connection.execute("PRAGMA page_count").get
    connection.execute(f"PRAGMA max_page_count = {pages + 5}").fetchall()
    for _ in range(3):
        await refused(store, "TEN-4003")
    assert len(await store.instances.entries("i1")) == 1
    connection.execute("PRAGMA max_page_count = 1000000").fetchall()
    await goes_on(store)


async def test_a_write_that_fails_in_commit_refuses_and_goes_on(
    store: SqliteStore, tmp_path: Path
) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (tmp_path / "tenuto.db-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100_000, limit[1]))
    try:
        for _ in range(3):
            await refused(store, "TEN-4001")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    await goes_on(store)


async def test_a_read_only_store_refuses_and_goes_on_when_it_may_write(store: SqliteStore) -> None:
    store._file.writing.connection.execute("PRAGMA query_only = ON").fetchall()
    await refused(store, "TEN-4004")
    store._file.writing.connection.execute("PRAGMA query_only = OFF").fetchall()
    await goes_on(store)


async def test_a_locked_store_refuses_and_goes_on_when_it_is_free(store: SqliteStore) -> None:
    store._file.writing.connection.set_busy_timeout(1)
    other = apsw.Connection(store.path)
    other.execute("BEGIN IMMEDIATE")
    await refused(store, "TEN-4011")
    other.execute("ROLLBACK")
    other.close()
    await goes_on(store)


async def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tenuto.db"
    store = SqliteStore(path, threads=Inline)
    await store.open("p1", NOON)
    await store.turns.commit(LARGE)
    await store.close(NOON, clean=True)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with pytest.raises(StoreUnavailable) as refusal:
        await SqliteStore(path, threads=Inline).open("p2", NOON)
    assert refusal.value.code == "TEN-4006"


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as refusal:
        await SqliteStore(tmp_path / "none" / "tenuto.db").open("p1", NOON)
    assert refusal.value.code == "TEN-4001"
    assert "folder" in refusal.value.advice


async def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tenuto.db").mkdir()
    with pytest.raises(StoreUnavailable) as refusal:
        await SqliteStore(tmp_path / "tenuto.db").open("p1", NOON)
    assert refusal.value.code == "TEN-4001"


def fail_to_sync(store: SqliteStore, monkeypatch: pytest.MonkeyPatch, *, is_done: bool) -> None:
    session = store._file.writing
    run = session.run

    def failing(name: str, parameters: tuple[int, ...] = ()) -> None:
        if name == "commit":
            run("commit" if is_done else "rollback")
            error = apsw.IOError("disk I/O error")
            error.extendedresult = apsw.SQLITE_IOERR_FSYNC  # type: ignore[attr-defined]
            raise error
        run(name, parameters)

    monkeypatch.setattr(session, "run", failing)


@pytest.mark.parametrize("is_done", [False, True], ids=["not done", "done"])
async def test_a_sync_that_fails_leaves_the_outcome_open(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    """The frame that makes it a commit may be on the disk: only the same turn again can tell."""
    fail_to_sync(store, monkeypatch, is_done=is_done)
    attempt = turn("t2", step("i1", 1, entry(2), entry(3)))
    with pytest.raises(CommitUnknown):
        await store.turns.commit(attempt)
    monkeypatch.undo()
    assert (await store.turns.commit(attempt)).writes == {"i1": WriteResult(Outcome.WON)}
    assert [row.seq for row in await store.instances.entries("i1")] == [1, 2, 3]


async def test_what_no_turn_can_tell_is_not_said_to_be_refused(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever takes it for refused makes a second one."""
    fail_to_sync(store, monkeypatch, is_done=True)
    for write in (
        store.listeners.put(test_outbox.listener("hook")),
        store.listeners.remove("default", "webhook", "hook"),
        store.access.put_key(test_access.key("k1")),
    ):
        with pytest.raises(StoreUnavailable) as unknown:
            await write
        assert unknown.value.code == "TEN-4019"


async def test_a_connection_that_cannot_roll_back_is_replaced(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store._file.writing
    run = session.run

    def failing(name: str, parameters: tuple[int, ...] = ()) -> None:
        if name in {"commit", "rollback"}:
            raise apsw.IOError("disk I/O error")
        run(name, parameters)

    monkeypatch.setattr(session, "run", failing)
    before = session.connection
    await refused(store, "TEN-4001")
    monkeypatch.undo()
    assert session.connection is not before
    await goes_on(store)


async def test_an_old_sqlite_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "SQLITE_VERSION_NUMBER", 3_040_001)
    store = SqliteStore(tmp_path / "tenuto.db", threads=Inline)
    with pytest.warns(RuntimeWarning, match="can damage databases"):
        await store.open("p1", NOON)
    await store.close(NOON, clean=True)
