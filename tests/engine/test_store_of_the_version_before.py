"""A store that the version before has left, with instances in every state, opens and goes on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import apsw
import pytest

from tenuto.engine.upkeep.verification import verify
from tenuto.model.status import Status
from tenuto.store.postgres.address import read_address
from tenuto.store.postgres.migrations import migrate
from tenuto.store.postgres.server import Server
from tenuto.store.postgres.session import Session
from tenuto.store.sqlite.migrations import MIGRATIONS
from tests.golden.stores.rows import kept, unpacked
from tests.golden.stores.story import program
from tests.kit.postgres_database import connected, empty_database
from tests.store.postgres_place import let_time_pass

Rows = Mapping[str, list[dict[str, object]]]


def _sqlite(path: Path) -> str:
    rows = kept("sqlite.json")
    connection = apsw.Connection(str(path))
    for migration in MIGRATIONS:
        if migration.version <= _version(rows):
            connection.execute(migration.sql)
    for table, found in rows.items():
        connection.execute(f'DELETE FROM "{table}"')
        for row in found:
            marks = ", ".join("?" * len(row))
            names = ", ".join(f'"{name}"' for name in row)
            sql = f'INSERT INTO "{table}" ({names}) VALUES ({marks})'
            connection.execute(sql, tuple(map(unpacked, row.values())))
    connection.close()
    return f"sqlite:///{path}"


async def _postgres() -> str:
    rows = kept("postgres.json")
    url = await empty_database("tenuto_before")
    session = Session(Server(read_address(url)))
    await migrate(session, newest=_version(rows))
    await session.close()
    async with connected(url) as connection:
        for table, found in rows.items():
            await connection.execute(f'DELETE FROM tenuto."{table}"')
            for row in found:
                marks = ", ".join(f"${number}" for number in range(1, len(row) + 1))
                names = ", ".join(f'"{name}"' for name in row)
                into = f'INSERT INTO tenuto."{table}" ({names})'
                sql = f"{into} OVERRIDING SYSTEM VALUE VALUES ({marks})"
                await connection.fetch(sql, *map(unpacked, row.values()))
    await let_time_pass(url, str(rows["processes"][0]["id"]))
    return url


def _version(rows: Rows) -> int:
    return int(str(rows["schema_info"][0]["version"]))


async def _goes_on(url: str) -> None:
    async with program(url) as app:
        ids = {
            name: (await app.start(name, _given(name), key=f"key of {name}")).id for name in KEYS
        }
        paused = await app.start("waiting", {"id": "paused"}, key="key of paused")
        assert await paused.status() is Status.PAUSED
        await paused.resume()
        for id in ("waiting", "child", "paused"):
            assert (await app.publish("go", {"id": id})).resumed == 1
        for number in (1, 3):
            await app.publish("item", {"n": number})
        await (await app.instance(ids["deciding"])).decide("ask", "approved", by="ada")
        await (await app.instance(ids["sleeping"])).cancel("long enough")
        for name in ("waiting", "parent", "looping", "deciding", "running"):
            await (await app.instance(ids[name])).result(timeout=30)
        await paused.result(timeout=30)
        statuses = Counter(each.status for each in await app.instances(limit=100))
        assert statuses == {Status.COMPLETED: 8, Status.FAILED: 2, Status.CANCELLED: 2}
        assert [each.differences async for each in verify(app.engine.store, app.engine.plans)] == [
            ()
        ] * 12


KEYS = (
    "done",
    "failed",
    "running",
    "waiting",
    "sleeping",
    "deciding",
    "parent",
    "undone",
    "looping",
)


def _given(name: str) -> dict[str, object]:
    return {"id": name, "items": [1, 2, 3]}


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_file_of_the_version_before_goes_on(tmp_path: Path) -> None:
    await _goes_on(_sqlite(tmp_path / "before.db"))


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_database_of_the_version_before_goes_on() -> None:
    async with asyncio.timeout(120):
        await _goes_on(await _postgres())
