"""The limit: the very statements of a run, replayed on a new file with nothing around them."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import apsw

from bench.engine_runs import Statement
from tenuto.store.sqlite import SqliteStore


def replay(statements: Sequence[Statement]) -> list[float]:
    """Seconds that each transaction takes by itself, one after the other on a new file."""
    with tempfile.TemporaryDirectory(prefix="tenuto-bench-") as folder:
        path = Path(folder) / "bare.db"
        settings = asyncio.run(_schema(path))
        connection = apsw.Connection(str(path), statementcachesize=300)
        for pragma, value in settings.items():
            connection.execute(f"PRAGMA {pragma} = {value}")
        took: list[float] = []
        began = time.perf_counter()
        for sql, parameters in statements:
            connection.execute(sql, parameters).fetchall()  # type: ignore[arg-type]
            if sql.startswith("COMMIT"):
                took.append(time.perf_counter() - began)
                began = time.perf_counter()
        connection.close()
        return took


async def _schema(path: Path) -> dict[str, object]:
    store = SqliteStore(path)
    await store.open("bare", datetime.now(UTC))
    settings = await store.settings()
    await store.close(datetime.now(UTC), clean=True)
    wanted = ("journal_mode", "synchronous", "cache_size")
    return {name: settings[name] for name in wanted} | {"wal_autocheckpoint": 8_000}


def two_commits(rounds: int) -> list[float]:
    """Seconds of two bare commits of one small row each, as a one-step workflow needs."""
    with tempfile.TemporaryDirectory(prefix="tenuto-bench-") as folder:
        connection = apsw.Connection(str(Path(folder) / "commits.db"))
        connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)")
        took = []
        for _ in range(rounds):
            began = time.perf_counter()
            for _ in range(2):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("INSERT INTO t (body) VALUES (?)", (b"x" * 200,))
                connection.execute("COMMIT")
            took.append(time.perf_counter() - began)
        connection.close()
        return took
