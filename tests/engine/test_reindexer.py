"""What older programs wrote is found by its values once it was indexed again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest

from tenuto import Settings, Tenuto
from tenuto.engine.upkeep.reindexer import Reindexer
from tenuto.model.errors import NotFound, StoreUnavailable
from tenuto.model.json import JSON
from tenuto.store.memory import MemoryStore
from tenuto.store.parts.turns import InstanceWrite, Turn, TurnResult
from tenuto.testing.wrapped_store import Call
from tests.engine.situations import at_rest, until, until_waiting
from tests.engine.test_search_terms import FOUND, app_on
from tests.kit.postgres_database import connected, fresh_database
from tests.kit.scripted_store import ScriptedStore

GUEST = Settings(is_guest=True)
"""Of a process that takes no letters."""

pytestmark = pytest.mark.asyncio


def in_a_file(url: str) -> None:
    connection = apsw.Connection(url.removeprefix("sqlite:///"))
    connection.execute("DROP TRIGGER task_logs_go")
    connection.execute("DROP TABLE task_logs")
    connection.execute("DROP TABLE workers")
    connection.execute("DROP TRIGGER slots_go")
    connection.execute("DROP INDEX jobs_limited")
    connection.execute("DROP INDEX jobs_limited_held")
    connection.execute("ALTER TABLE jobs DROP COLUMN is_limited")
    for table in (
        *("calendars", "schedules", "schedule_ticks", "tenant_secrets", "data_sources"),
        *("data_queries", "encryption_marks", "slots", "slots_freed", "slot_counts", "concurrency"),
        *("task_rates", "paces", "queue_rules", "load_reports"),
    ):
        connection.execute(f"DROP TABLE {table}")
    connection.execute("ALTER TABLE processes DROP COLUMN limits_known")
    connection.execute("DROP TRIGGER audit_log_grew")
    connection.execute("DROP INDEX access_keys_by_maker")
    connection.execute("ALTER TABLE audit_log DROP COLUMN credential")
    connection.execute("DROP INDEX outbox_by_tenant")
    connection.execute("DROP INDEX workflow_instances_by_parent")
    connection.execute("DROP INDEX workflow_instances_by_change")
    connection.execute("DROP TRIGGER quarantine_ends")
    connection.execute("DROP TABLE quarantine")
    connection.execute("DROP TABLE workflow_searchable_values")
    connection.execute("DROP INDEX workflow_instances_open_by_origin")
    connection.execute("ALTER TABLE workflow_instances DROP COLUMN origin_id")
    connection.execute("ALTER TABLE events DROP COLUMN origin")
    connection.execute("ALTER TABLE events DROP COLUMN mark_space")
    connection.execute("UPDATE schema_info SET version = 17, oldest_program = 17")
    connection.close()


async def in_a_database(url: str) -> None:
    async with connected(url) as connection:
        await connection.execute("DROP FUNCTION tenuto.erase_task_logs CASCADE")
        await connection.execute("DROP TABLE tenuto.task_logs")
        await connection.execute("DROP TABLE tenuto.workers")
        for table in (
            *("tenant_secrets", "data_sources", "data_queries", "encryption_marks"),
            *("slots", "slots_freed", "slot_counts", "concurrency", "task_rates", "paces"),
            *("queue_rules", "load_reports"),
        ):
            await connection.execute(f"DROP TABLE tenuto.{table} CASCADE")
        await connection.execute("ALTER TABLE tenuto.jobs DROP COLUMN is_limited CASCADE")
        for column in ("program", "limits_known"):
            await connection.execute(f"ALTER TABLE tenuto.processes DROP COLUMN {column}")
        for function in ("free_slots", "free_replaced_slots", "erase_slots"):
            await connection.execute(f"DROP FUNCTION tenuto.{function} CASCADE")
        await connection.execute(
            "DROP TABLE tenuto.calendars, tenuto.schedules, tenuto.schedule_ticks"
        )
        await connection.execute("DROP FUNCTION tenuto.raise_wall, tenuto.reader_name")
        await connection.execute("DROP INDEX tenuto.outbox_by_tenant")
        await connection.execute("DROP INDEX tenuto.workflow_instances_by_parent")
        await connection.execute("DROP INDEX tenuto.workflow_instances_by_change")
        await connection.execute("DROP TABLE tenuto.quarantine")
        await connection.execute("DROP INDEX tenuto.access_keys_by_maker")
        await connection.execute("ALTER TABLE tenuto.audit_log DROP COLUMN credential")
        await connection.execute("DROP TABLE tenuto.workflow_searchable_values")
        await connection.execute("DROP FUNCTION tenuto.mark_removed CASCADE")
        await connection.execute("ALTER TABLE tenuto.workflow_instances DROP COLUMN origin_id")
        await connection.execute("ALTER TABLE tenuto.events DROP COLUMN origin")
        await connection.execute("ALTER TABLE tenuto.workflow_definitions DROP COLUMN is_removed")
        await connection.execute("UPDATE tenuto.schema_info SET version = 17, oldest_program = 16")


async def reindexed(app: Tenuto, workflow: str | None = None, *, page: int = 100) -> list[int]:
    """How many were told of, each time."""
    engine = app.engine
    reindexer = Reindexer(
        store=engine.store, plans=engine.plans, index_again=engine.index_again, page=page
    )
    return [each async for each in reindexer.run(workflow)]


async def letters(app: Tenuto) -> int:
    return (await app.engine.store.upkeep.depths(app.engine.clock.now())).mail


async def found(app: Tenuto, **wanted: JSON) -> list[str]:
    return [each.id for each in await app.instances(workflow="found", variables=wanted)]


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_what_was_there_before_it_was_indexed_is_found_when_it_is_written_or_indexed_again(
    store: str, tmp_path: Path
) -> None:
    """Also what has ended, to which nothing else will ever happen; no letters wait for anybody."""
    is_file = store == "sqlite"
    url = f"sqlite:///{tmp_path / 'store.db'}" if is_file else await fresh_database()
    async with app_on(url) as app:
        await app.deploy(FOUND)
        await app.deploy(FOUND | {"id": "not-found", "options": {}})
        for workflow in ("found", "not-found"):
            await (await app.start(workflow, {"seen": 1})).result(30)
            await app.start(workflow, {"seen": 1, "waits": True, "n": 1})
            await app.start(workflow, {"seen": 1, "waits": True, "n": 2})
        await until_waiting(app, 4, "pay")
        before = [each.id for each in await app.instances(workflow="found")]
    if is_file:
        in_a_file(url)
    else:
        await in_a_database(url)
    async with app_on(url) as app:
        assert await letters(app) == 0
        assert await found(app, seen=1) == []
        [second, _, _] = await app.instances(workflow="found")
        await (await app.instance(second.id)).pause()
        assert await found(app, seen=1) == [second.id]
        assert (await reindexed(app))[-1] == len(before)
        assert await found(app, seen=1) == before
        assert await letters(app) == 0


async def test_what_another_process_owns_is_indexed_by_that_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever else wrote would do so behind its back: it writes what it knows to have changed."""
    url = await fresh_database()
    begun, may_end = asyncio.Event(), asyncio.Event()
    serving = Tenuto(url, settings=Settings(mail_every=0.1, project_every=3600))

    @serving.task
    async def look(given: dict[str, Any]) -> object:
        begun.set()
        await may_end.wait()
        return given["seen"]

    async with serving, Tenuto(url, settings=GUEST) as guest:
        await serving.deploy(FOUND)
        reference = await serving.start("found", {"a": 1, "seen": 1})
        await begun.wait()
        assert await found(guest, **{"input.a": 1}) == []
        written: list[InstanceWrite] = []
        commit = guest.engine.store.turns.commit

        async def noted(turn: Turn, lane: int = 0) -> TurnResult:
            written.extend(turn.writes)
            return await commit(turn, lane)

        monkeypatch.setattr(guest.engine.store.turns, "commit", noted)
        assert await reindexed(guest) == [1]
        assert [each.searchable for each in written] == [None]
        assert [letter.for_owner for each in written for letter in each.mail_sent] == [True]

        async def is_found() -> bool:
            return await found(guest, **{"input.a": 1}) == [reference.id]

        await until(serving, is_found)
        may_end.set()
        await reference.result(30)
        assert await found(guest, seen=1) == [reference.id]
        assert await letters(guest) == 0


class Noting(ScriptedStore):
    """Notes how many instances each turn is about, and whether letters are left."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.letters = 0

    async def on_turns_commit(self, call: Call) -> object:
        turn = call.turn
        assert turn is not None
        self.sizes.append(len(turn.writes))
        self.letters += sum(len(write.mail_sent) for write in turn.writes)
        return await call()

    async def on_mailbox_send(self, call: Call) -> None:
        mail = call.args[0]
        self.letters += len(mail)
        await call()


async def several(app: Tenuto, store: MemoryStore | ScriptedStore, count: int) -> None:
    """Instances of two tenants and two workflows, of which nothing is indexed."""
    for tenant in ("default", "other"):
        space = app.workspace(tenant, "eve")
        for id in ("found", "found-too"):
            await space.deploy(FOUND | {"id": id})
            for number in range(count):
                await (await space.start(id, {"seen": number})).result(30)
    await at_rest(app)
    store.disk.searchable.clear()


async def test_only_so_many_are_under_way_and_no_letters_are_left_for_what_nobody_owns() -> None:
    """They would hold up who takes them, and stop programs that cannot read them."""
    store = Noting()
    async with app_on(store) as app:
        await several(app, store, 7)
    store.sizes.clear()
    async with Tenuto(store, settings=GUEST) as guest:
        assert await reindexed(guest, page=3) == [3, 6, 7, 10, 13, 14, 17, 20, 21, 24, 27, 28]
    assert len(store.disk.searchable) == sum(store.sizes) == 28
    assert max(store.sizes) <= 3
    assert store.letters == 0


async def test_of_one_workflow_only_its_instances_are_indexed_again() -> None:
    store = MemoryStore()
    async with app_on(store) as app:
        await several(app, store, 2)
        assert (await reindexed(app, "found-too"))[-1] == len(store.disk.searchable) == 4
        with pytest.raises(NotFound):
            await reindexed(app, "no-such")


async def test_where_the_store_goes_away_that_is_told_and_the_rest_is_indexed_another_time() -> (
    None
):
    store = MemoryStore()
    async with app_on(store) as app:
        await several(app, store, 2)
        engine, asked = app.engine, list[str]()

        async def index_again(id: str) -> None:
            asked.append(id)
            if len(asked) > 5:
                raise StoreUnavailable("gone")
            await engine.index_again(id)

        reindexer = Reindexer(store=store, plans=engine.plans, index_again=index_again, page=2)
        with pytest.raises(StoreUnavailable):
            [each async for each in reindexer.run()]
        assert len(store.disk.searchable) == 5
        await reindexed(app)
        assert len(store.disk.searchable) == 8
