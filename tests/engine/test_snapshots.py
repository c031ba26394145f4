"""Snapshots bound what is read and folded; large values are written once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from tenuto import Tenuto
from tests.engine.situations import steps

pytestmark = pytest.mark.asyncio


def query(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute(sql).fetchall()
    connection.close()
    return rows


async def run_chain(path: Path, length: int, output: str) -> str:
    app = Tenuto(f"sqlite:///{path}")

    @app.task
    async def work(input: object) -> str:
        return output

    async with app:
        document = steps(*(f"s{n}" for n in range(length)))
        document["steps"][0]["outputVariable"] = "first"  # type: ignore[index,call-overload]
        await app.deploy(document)
        instance = await app.start("flow", None)
        assert await instance.result(60) == output
        return instance.id


async def test_a_long_log_is_folded_from_its_last_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "long.db"
    instance_id = await run_chain(path, 400, "x")
    [(version,)] = query(path, "SELECT version FROM workflow_snapshots")
    [(entries,)] = query(path, "SELECT count(*) FROM workflow_execution_history")
    assert entries == 803
    assert entries - version < 400
    async with Tenuto(f"sqlite:///{path}") as app:
        stored = (await app.engine.store.turns.load([instance_id]))[instance_id]
        assert len(stored.tail) == entries - version
        instance = await app.instance(instance_id)
        assert await instance.result(60) == "x"
        assert (await instance.context())["ctx"] == {"input": None, "first": "x"}


async def test_a_short_log_has_no_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "short.db"
    await run_chain(path, 10, "x")
    assert query(path, "SELECT version FROM workflow_snapshots") == []


@pytest.mark.slow
async def test_a_large_value_is_in_the_log_once_and_in_no_snapshot(tmp_path: Path) -> None:
    """Values over 16 KB stay once in the log and are referred to by seq."""
    path = tmp_path / "large.db"
    large = "y" * 200_000
    instance_id = await run_chain(path, 120, large)
    [(size,)] = query(path, "SELECT length(state) FROM workflow_snapshots")
    assert size < 100_000
    async with Tenuto(f"sqlite:///{path}") as app:
        instance = await app.instance(instance_id)
        context = await instance.context()
        assert context["ctx"] == {"input": None, "first": large}
        assert await instance.result(60) == large
