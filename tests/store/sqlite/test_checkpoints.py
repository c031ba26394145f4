"""The write-ahead log is moved into the database beside commits, and stays short."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import apsw
import pytest

from tenuto.store.sqlite.checkpoints import CHECKPOINT_PAGES, FULL_PAGES, Checkpoints
from tenuto.store.sqlite.file import File
from tenuto.store.sqlite.session import MOST_LOG_PAGES, Session
from tenuto.store.sqlite.store import SqliteStore
from tenuto.store.sqlite.workers import DedicatedThread, Inline

NOW = datetime(2026, 1, 1, tzinfo=UTC)
_MEGABYTE = b"x" * 1_000_000


@pytest.mark.asyncio
async def test_the_log_never_gets_as_long_as_what_is_written(tmp_path: Path) -> None:
    file = await _opened(tmp_path / "a.db")
    longest = 0
    for _ in range(160):
        await file.write(lambda session: session.execute("INSERT INTO t VALUES (?)", [_MEGABYTE]))
        longest = max(longest, file.writing.log_pages)
    file.stop()
    assert CHECKPOINT_PAGES < longest < MOST_LOG_PAGES + CHECKPOINT_PAGES
    assert (tmp_path / "a.db").stat().st_size > 100 * len(_MEGABYTE)


@pytest.mark.asyncio
async def test_a_commit_moves_the_log_itself_where_nothing_does_so_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenuto.store.sqlite.session.MOST_LOG_PAGES", 1_000)
    file = await _opened(tmp_path / "a.db")
    for _ in range(12):
        await file.write(lambda session: session.execute("INSERT INTO t VALUES (?)", [_MEGABYTE]))
    pages = file.writing.log_pages
    file.stop()
    assert pages < 1_500 < FULL_PAGES


@pytest.mark.asyncio
async def test_commits_wait_for_a_checkpoint_under_way_once_the_log_is_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside it a commit cannot move the log itself, which would grow as long as it takes."""
    monkeypatch.setattr("tenuto.store.sqlite.file.MOST_LOG_PAGES", 300)
    monkeypatch.setattr("tenuto.store.sqlite.checkpoints.CHECKPOINT_PAGES", 200)
    file = await _opened(tmp_path / "a.db")
    may_move = asyncio.Event()

    async def moved(_: object) -> int:
        await may_move.wait()
        return 0

    monkeypatch.setattr(file._checkpoints._mover, "run", moved)

    async def write() -> None:
        await file.write(lambda session: session.execute("INSERT INTO t VALUES (?)", [_MEGABYTE]))

    while file._checkpoints._under_way is None:
        await write()
    late = asyncio.ensure_future(write())
    await asyncio.wait([late], timeout=0.05)
    assert not late.done()
    may_move.set()
    await late
    file.stop()


@pytest.mark.asyncio
async def test_a_commit_that_cannot_move_the_log_is_durable_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> tuple[int, int]:
        raise apsw.BusyError("another connection makes a checkpoint")

    monkeypatch.setattr("tenuto.store.sqlite.session.MOST_LOG_PAGES", 1)
    file = await _opened(tmp_path / "a.db")
    connection = cast("apsw.Connection", SimpleNamespace(wal_checkpoint=busy))
    assert file.writing._logged(connection, "main", 5) == apsw.SQLITE_OK
    beside = apsw.Connection(str(tmp_path / "a.db"))
    beside.execute("BEGIN; SELECT count(*) FROM t").fetchall()
    for _ in range(20):
        await file.write(lambda session: session.execute("INSERT INTO t VALUES ('x')", ()))
    beside.execute("ROLLBACK")
    assert await file.look(lambda session: session.execute("SELECT count(*) FROM t", ()).get) == 20
    beside.close()
    file.stop()


@pytest.mark.asyncio
async def test_a_stop_in_the_midst_of_a_checkpoint_loses_nothing(tmp_path: Path) -> None:
    file = await _opened(tmp_path / "a.db")
    while file.writing.log_pages < CHECKPOINT_PAGES:
        await file.write(lambda session: session.execute("INSERT INTO t VALUES (?)", [_MEGABYTE]))
    written = await file.look(lambda session: session.execute("SELECT count(*) FROM t", ()).get)
    file.stop()
    store = SqliteStore(tmp_path / "a.db")
    await store.open("later", NOW)
    session = store._file.reading
    assert session.execute("SELECT count(*) FROM t", ()).get == written
    assert session.execute("PRAGMA integrity_check", ()).get == "ok"
    await store.close(NOW, clean=True)


class Busy:
    """A connection that commits while another one moves its log: so many pages in each round."""

    path = "busy.db"

    def __init__(self, *added: int) -> None:
        self.log_pages = FULL_PAGES
        self._added = list(added)
        self.moved = 0
        self.moved_by_itself: list[int] = []

    def move_beside(self) -> int:
        self.moved = self.log_pages
        self.log_pages += self._added.pop(0)
        return self.moved

    def checkpoint(self) -> int:
        self.moved_by_itself.append(self.log_pages - self.moved)
        return self.log_pages


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("added", "left"),
    [
        pytest.param([900, 300, 80], 80, id="less in each round"),
        pytest.param([90], 90, id="little at once"),
        pytest.param([900, 890], 890, id="no less in the next round"),
        pytest.param([900, 400, 190], 190, id="many rounds"),
    ],
)
async def test_a_connection_that_writes_moves_only_what_several_rounds_have_left(
    added: list[int], left: int
) -> None:
    """All commits wait for what it moves."""
    busy = Busy(*added)
    checkpoints = Checkpoints("busy.db", cast("Session", busy), Inline("writer"), Inline)
    checkpoints._moving = cast("Session", SimpleNamespace(checkpoint=busy.move_beside))
    checkpoints.committed()
    assert checkpoints._under_way is not None
    await checkpoints._under_way
    assert busy.moved_by_itself == [left]


async def _opened(path: Path) -> File:
    store = SqliteStore(path, threads=DedicatedThread)
    await store.open("a process", NOW)
    file = store._file
    await file.write(lambda session: session.execute("CREATE TABLE t (b BLOB)", ()))
    return file
