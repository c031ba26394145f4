"""Runs of the shipped engine on PostgreSQL with its defaults, and their bare statements."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from tenuto import Tenuto
from tenuto.model.json import Object
from tenuto.store.parts.definitions import DefinitionRow
from tenuto.store.postgres import PostgresStore
from tenuto.store.postgres.address import read_address
from tenuto.store.postgres.driver import connect
from tenuto.store.postgres.server import Server


class Sent(NamedTuple):
    """A statement as a lane sent it; each is a transaction by itself."""

    lane: int
    sql: str
    arguments: Sequence[object]


class Recording(NamedTuple):
    """What a process sent; it may be sent again by one that has its name."""

    process_id: str
    lanes: int
    statements: list[Sent]
    definitions: list[DefinitionRow]
    """Starts need them to be there."""


@asynccontextmanager
async def open_app(url: str, *documents: Object) -> AsyncIterator[Tenuto]:
    """An app on the database at `url`."""
    async with Tenuto(PostgresStore(url)) as app:
        for document in documents:
            await app.deploy(document)
        yield app


async def record(app: Tenuto) -> Recording:
    """From now on keep what the lanes of `app` send."""
    store = app.engine.store
    assert isinstance(store, PostgresStore)
    definitions = await store.definitions.newest("default", limit=100)
    recording = Recording(app.engine.process_id, store.lanes, [], definitions)

    def keep(lane: int, sql: str, arguments: Sequence[object]) -> None:
        recording.statements.append(Sent(lane, sql, arguments))

    store.record(keep)
    return recording


class Replayed(NamedTuple):
    """How long a recording takes by itself."""

    seconds: float
    """From the first statement to the last answer."""
    each: list[float]


async def replay(
    url: str, recording: Recording, *, one_by_one: bool = False, after: int = 0
) -> Replayed:
    """Send a recording to a new database, with nothing around it.

    Each lane has its connection, as it had; `one_by_one` sends in the order of the recording. The
    first `after` statements go before the clock runs.
    """
    store = PostgresStore(url)
    await store.open(recording.process_id, datetime.now(UTC))
    for each in recording.definitions:
        saved = each.tenant, each.id, each.content, each.content_hash, each.created_at
        await store.definitions.save(*saved)
    server = Server(read_address(url))
    connections = [await server.connect() for _ in range(recording.lanes)]
    took: list[float] = []
    timed = recording.statements[after:]

    async def send_all(statements: Sequence[Sent]) -> None:
        for each in statements:
            began = time.perf_counter()
            await connections[each.lane].fetch(each.sql, *each.arguments)
            took.append(time.perf_counter() - began)

    await send_all(recording.statements[:after])
    took.clear()
    first = time.perf_counter()
    if one_by_one:
        await send_all(timed)
    else:
        of_lanes = [
            [each for each in timed if each.lane == lane] for lane in range(recording.lanes)
        ]
        await asyncio.gather(*map(send_all, of_lanes))
    seconds = time.perf_counter() - first
    for connection in connections:
        await connection.close()
    await store.close(datetime.now(UTC), clean=True)
    return Replayed(seconds, took)


async def two_commits(url: str, rounds: int) -> list[float]:
    """Seconds of two bare commits of one small row each, as a one-step workflow needs."""
    connection = await connect(url, settings={}, keeps_statements=True, patience=30)
    await connection.execute("CREATE TABLE t (id bigserial PRIMARY KEY, body bytea)")
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(2):
            await connection.fetch("INSERT INTO t (body) VALUES ($1)", b"x" * 200)
        took.append(time.perf_counter() - began)
    await connection.close()
    return took
