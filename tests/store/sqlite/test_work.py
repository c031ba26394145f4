"""What a turn costs, and how it is watched."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import apsw
import pytest

from tenuto.model.status import Status
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.waits import WaitTerm
from tenuto.store.sqlite import Inline, SqliteStore
from tenuto.store.sqlite.migrations import migrate
from tenuto.store.sqlite.session import Parameters, Session
from tests.store.situations import NOON, begin, entry, event, moment, step, turn, update, wait

pytestmark = pytest.mark.asyncio


async def opened(folder: Path) -> SqliteStore:
    store = SqliteStore(folder / "tenuto.db", threads=Inline)
    await store.open("p1", NOON)
    return store


async def test_a_turn_of_many_instances_is_few_statements(tmp_path: Path) -> None:
    """Each crossing into SQLite gives Python's lock away, and a busy thread keeps it for 5 ms."""
    store = await opened(tmp_path)
    ids = [f"i{number:03}" for number in range(500)]
    await store.turns.commit(turn("t1", *[begin(id) for id in ids]))
    before = store.statements
    await store.turns.commit(turn("t2", *[step(id, 1, entry(2), entry(3)) for id in ids]))
    assert store.statements - before <= 20
    before = store.statements
    await store.turns.load(ids)
    assert store.statements - before <= 7
    before = store.statements
    await store.turns.commit(turn("t3", step("i000", 3)))
    assert store.statements - before == 3
    await store.close(NOON, clean=True)


async def test_a_look_costs_a_few_statements_whatever_is_stored(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    costs = []
    for batch in range(2):
        writes = [begin(f"i{batch}{number:03}", current_steps=("w",)) for number in range(300)]
        await store.turns.commit(turn(f"n{batch}", *writes))
        waits = [
            step(each.instance_id, 1, waits_opened=(wait(each.instance_id),)) for each in writes
        ]
        await store.turns.commit(turn(f"w{batch}", *waits))
        before = store.statements
        await store.timers.due(NOON, 100)
        await store.mailbox.claim(100)
        await store.inbox.unmatched(100)
        await store.waits.terms("default", "order.paid")
        await store.waits.matching("default", [WaitTerm("order.paid", "")], limit=1000)
        await store.instances.page(InstanceQuery(statuses=(Status.RUNNING,)))
        costs.append(store.statements - before)
    assert costs[0] == costs[1] <= 25
    await store.close(NOON, clean=True)


async def test_events_that_come_together_ask_once_for_their_waits(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    terms = [WaitTerm("order.paid", '["payload.order"]', f'["{n}"]') for n in range(100)]
    before = store.statements
    await store.waits.matching("default", terms[:1], limit=1000)
    of_one = store.statements - before
    await store.waits.matching("default", terms, limit=1000)
    assert store.statements - before == 2 * of_one
    await store.close(NOON, clean=True)


async def test_what_was_recorded_can_be_replayed(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    recorded: list[tuple[str, Parameters]] = []
    store.recorder = lambda sql, parameters: recorded.append((sql, parameters))
    await store.turns.commit(
        turn("t1", *[begin(f"i{n:02}") for n in range(30)], events=(event("e1"),))
    )
    await store.turns.commit(turn("t2", *[step(f"i{n:02}", 1, update=update()) for n in range(30)]))
    store.recorder = None
    await store.turns.commit(turn("t3", begin("not recorded")))
    expected = await store.turns.load([f"i{n:02}" for n in range(30)])
    await store.close(NOON, clean=True)
    assert sum(sql == "COMMIT;" for sql, _ in recorded) == 2

    replay = Session(str(tmp_path / "replay.db"), "writer_settings", may_create=True)
    migrate(replay)
    for sql, parameters in recorded:
        replay.connection.execute(sql, parameters)
    replay.close()
    second = SqliteStore(tmp_path / "replay.db", threads=Inline)
    await second.open("p1", NOON)
    assert await second.turns.load([*expected, "not recorded"]) == expected
    await second.close(NOON, clean=True)


async def test_the_settings_are_the_safe_ones(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    settings = await store.settings()
    assert settings["journal_mode"] == "wal"
    assert settings["synchronous"] == "2"
    assert settings["sqlite_version"] == apsw.sqlite_lib_version()
    await store.close(NOON, clean=True)


async def test_the_log_of_changes_is_copied_back(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    for number in range(60):
        large = begin(f"i{number}", entry(1, payload=b"x" * 1_000_000))
        await store.turns.commit(turn(f"t{number}", large))
    assert (tmp_path / "tenuto.db-wal").stat().st_size < 45_000_000
    await store.close(NOON, clean=True)


async def test_reads_do_not_wait_for_a_commit(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "tenuto.db")
    await store.open("p1", NOON)
    await store.turns.commit(turn("t1", begin("i1")))
    is_inside, may_go = threading.Event(), threading.Event()

    def block(sql: str, _parameters: Parameters) -> None:
        if sql == "COMMIT;":
            is_inside.set()
            may_go.wait(timeout=30)

    store.recorder = block
    writing = asyncio.create_task(store.turns.commit(turn("t2", step("i1", 1))))
    await asyncio.get_running_loop().run_in_executor(None, is_inside.wait, 30)
    assert len(await store.instances.entries("i1")) == 1
    may_go.set()
    await writing
    assert len(await store.instances.entries("i1")) == 2
    await store.close(NOON, clean=True)


async def test_a_timer_poll_reads_no_more_than_it_was_asked_for(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    assert await store.timers.due(moment(0), 0) == ([], None)
    await store.close(NOON, clean=True)
