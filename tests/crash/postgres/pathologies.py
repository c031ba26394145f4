"""Tables in a state in which queues of other products come to a standstill."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from tenuto.store.postgres import PostgresStore
from tenuto.store.postgres.driver import Connection
from tests.crash.postgres.aftermath import judged
from tests.crash.postgres.crew import Crew, crew
from tests.crash.postgres.worker import Orders
from tests.kit.checker.record import Fields
from tests.kit.postgres_database import connected, empty_database

QUEUES = ("timers", "mailbox", "owners", "workflow_event_subscriptions", "events", "processes")
WORKFLOWS = 40
TO_CLAIM = 300
LIMIT = 50
MOST_VERSIONS = 5_000
"""Of one row: each new one is found behind all that are dead."""

Pathology = Callable[[Connection, int], Awaitable[None]]


async def long_snapshot(connection: Connection, rows: int) -> None:
    """Nothing that dies while somebody reads is cleared away; rows change again and again."""
    versions = min(rows // 50, MOST_VERSIONS)
    await connection.execute(
        "INSERT INTO tenuto.timers (instance_id, kind, node, iteration, due)"
        " VALUES ('again', 'delay', 'a', '', 1);"
        "DO $$ BEGIN"
        f" FOR n IN 1..{versions} LOOP UPDATE tenuto.timers SET due = n; END LOOP;"
        " END $$;"
        "DELETE FROM tenuto.timers"
    )


async def stale_statistics(connection: Connection, rows: int) -> None:
    """The planner believes that the tables are empty, and they are not."""
    for table in QUEUES:
        await connection.execute(
            f"ALTER TABLE tenuto.{table} SET (autovacuum_enabled = off); ANALYZE tenuto.{table}"
        )
    far = "extract(epoch FROM now())::bigint * 1000 + 86400000"
    await connection.execute(
        "INSERT INTO tenuto.processes (id, started_at, beat_at, steady_since)"
        f" VALUES ('busy', 0, {far}, 0);"
        "INSERT INTO tenuto.owners (instance_id, process_id, epoch)"
        f" SELECT 'busy ' || n, 'busy', 1 FROM generate_series(1, {rows}) n;"
        "INSERT INTO tenuto.timers (instance_id, kind, node, iteration, due)"
        f" SELECT 'busy ' || n, 'delay', 'a', '', {far} + n FROM generate_series(1, {rows}) n"
    )


async def dead_rows(connection: Connection, rows: int) -> None:
    """Before everything that is there lie rows that are gone, and that nobody may clear away."""
    many = f"generate_series(1, {rows}) n"
    await connection.execute(
        "INSERT INTO tenuto.processes (id, started_at, beat_at, steady_since, stopped_at)"
        " VALUES ('0', 0, 0, 0, 0);"
        "INSERT INTO tenuto.owners (instance_id, process_id, epoch)"
        f" SELECT '0 ' || n, '0', 1 FROM {many};"
        "INSERT INTO tenuto.timers (instance_id, kind, node, iteration, due)"
        f" SELECT '0 ' || n, 'delay', 'a', '', n FROM {many};"
        "INSERT INTO tenuto.mailbox (id, instance_id, input, created_at)"
        f" SELECT '0 ' || n, '0 ' || n, '', 0 FROM {many}"
    )
    await connection.execute(
        "DELETE FROM tenuto.owners; DELETE FROM tenuto.timers; DELETE FROM tenuto.mailbox"
    )


async def endure(folder: Path, pathology: Pathology, rows: int) -> None:
    """Claims keep to their limit, and work goes on, in tables of that kind."""
    url = await empty_database("crash")
    await PostgresStore(url).migrate()
    async with connected(url) as sick, connected(url) as reader:
        # A snapshot from before keeps what dies from being cleared away.
        await reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM tenuto.owners")
        await pathology(sick, rows)
        async with connected(url) as connection:
            await _claim(url, connection)
        orders = Orders(url=url, folder=str(folder), beat_every=1, dead_after=30, work_takes=0)
        async with crew(orders, 2) as members:
            book = await _work(members)
            await members.at_rest()
            await members.stop_all()
        # What was planted is nobody's to clear away.
        await sick.execute(
            "DELETE FROM tenuto.owners WHERE instance_id LIKE 'busy %';"
            "DELETE FROM tenuto.timers WHERE instance_id LIKE 'busy %'"
        )
    run = await judged(url, folder, book=book, faults=[pathology.__name__])
    statuses = Counter(str((instance.row or {})["status"]) for instance in run.instances)
    assert statuses == {"COMPLETED": 2 * WORKFLOWS}


async def _claim(url: str, connection: Connection) -> None:
    """Three processes claim at once: nobody more than was asked for, and nothing twice."""
    many = f"generate_series(1, {TO_CLAIM}) n"
    await connection.execute(
        "INSERT INTO tenuto.processes (id, started_at, beat_at, steady_since, stopped_at)"
        " VALUES ('gone', 0, 0, 0, 0);"
        "INSERT INTO tenuto.owners (instance_id, process_id, epoch)"
        f" SELECT 'left ' || n, 'gone', 1 FROM {many};"
        "INSERT INTO tenuto.timers (instance_id, kind, node, iteration, due)"
        f" SELECT 'due ' || n, 'delay', 'a', '', n FROM {many};"
        "INSERT INTO tenuto.mailbox (id, instance_id, input, created_at)"
        f" SELECT 'letter ' || n, 'nobody ' || n, '', 0 FROM {many}"
    )
    now = datetime.now(UTC)
    stores = [PostgresStore(url) for _ in range(3)]
    for number, store in enumerate(stores):
        await store.open(f"claimer {number}", now)
    timers = await asyncio.gather(*(store.timers.due(now, LIMIT) for store in stores))
    letters = await asyncio.gather(*(store.mailbox.claim(LIMIT) for store in stores))
    orphans = await asyncio.gather(*(store.members.claim_orphans(LIMIT) for store in stores))
    for claims in (
        [[row.instance_id for row in due] for due, _ in timers],
        [[letter.id for letter in page] for page in letters],
        [[orphan.instance_id for orphan in some] for some in orphans],
    ):
        assert all(len(each) <= LIMIT for each in claims), "more than was asked for"
        taken = [id for each in claims for id in each]
        assert len(taken) == len(set(taken)), "the same twice"
        assert len(taken) >= LIMIT, "nobody got anything"
    for store in stores:
        await store.close(now, clean=True)
    await connection.execute(
        "DELETE FROM tenuto.owners WHERE instance_id LIKE 'left %';"
        "DELETE FROM tenuto.timers WHERE instance_id LIKE 'due %';"
        "DELETE FROM tenuto.mailbox WHERE id LIKE 'letter %'"
    )


async def _work(members: Crew) -> list[Fields]:
    stories = await asyncio.gather(
        *(
            _story(members, workflow, k)
            for workflow in ("load", "waiting")
            for k in range(WORKFLOWS)
        )
    )
    return [line for story in stories for line in story]


async def _story(members: Crew, workflow: str, k: int) -> list[Fields]:
    given: Fields = {"k": k, "flag": True}
    key = f"{workflow} {k}"
    made = await members.insist("start", workflow=workflow, input=given, key=key)
    book: list[Fields] = [{"op": "start", "outcome": "ok", "key": key, "input": given, **made}]
    if workflow == "waiting":
        told: Fields = {"pattern": "word", "payload": {"k": k}, "event": f"event {k}"}
        await members.insist("publish", **told)
        book.append({"op": "publish", "outcome": "ok", **told})
    await members.insist("end", instance=made["instance"])
    return book
