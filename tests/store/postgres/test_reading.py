"""Readers have few connections: who waits is told so, and nobody else suffers from it."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.store.parts.members import BEAT_EVERY
from tenuto.store.parts.turns import Ownership
from tenuto.store.postgres import PostgresStore
from tenuto.store.postgres.rhythm import DEAD_AFTER
from tests.kit.postgres_database import connected
from tests.store.postgres.conftest import Opener, waits_for_lock
from tests.store.situations import NOON, aside, begin, mail, moment, step, timer, turn

pytestmark = pytest.mark.asyncio


async def test_who_finds_no_connection_is_told_what_to_do(
    url: str, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    store = await opened(url, connections=1, patience=timedelta(milliseconds=50))
    caplog.set_level(logging.WARNING)
    async with connected(url) as other:
        await other.execute("BEGIN; LOCK TABLE tenuto.workflow_instances")
        slow = asyncio.create_task(store.turns.load(["i1"]))
        await waits_for_lock(url)
        with pytest.raises(StoreUnavailable) as refused:
            await store.mailbox.claim(10)
        # Saying that one lives does not wait for them.
        assert (await store.members.beat()).at is not None
        await other.execute("ROLLBACK")
    assert refused.value.code == "TEN-4012"
    assert "connections=" in refused.value.advice
    assert "are busy" in caplog.text
    assert await slow == {}
    assert await store.mailbox.claim(10) == []


async def test_readers_share_what_connections_there_are(url: str, opened: Opener) -> None:
    store = await opened(url, connections=2)
    await store.turns.commit(turn("t1", begin("i1"), process_id="p1"))
    loaded = await asyncio.gather(*[store.turns.load(["i1"]) for _ in range(50)])
    assert all(set(each) == {"i1"} for each in loaded)
    async with connected(url) as other:
        [(count,)] = await other.fetch(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE application_name = 'tenuto' AND datname = current_database()"
        )
    assert count <= 4  # two shared ones, one lane, one for the process itself


async def test_readers_that_are_called_off_give_their_connections_back(
    url: str, opened: Opener
) -> None:
    """C23: "Cancel 10,000 requests mid-transaction; pool full again"."""
    store = await opened(url, connections=1)
    async with connected(url) as other:
        await other.execute("BEGIN; LOCK TABLE tenuto.workflow_instances")
        tasks = [asyncio.create_task(store.turns.load(["i1"])) for _ in range(5)]
        await waits_for_lock(url)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert all(task.cancelled() for task in tasks)
        await other.execute("ROLLBACK")
    assert await store.turns.load(["i1"]) == {}


async def test_a_reader_looks_sends_and_claims_nothing(url: str, opened: Opener) -> None:
    engine = await opened(url, "p1")
    timers = tuple(timer(f"i{n}", n) for n in range(3))
    setting = [aside(each.instance_id, timers_set=(each,)) for each in timers]
    await engine.turns.commit(turn("t1", *setting, begin("j1"), process_id="p1"))
    reader = await opened(url, "reader", make=PostgresStore.reader)
    await reader.mailbox.send([mail("m1", "j1")])
    assert [each.id for each in await engine.mailbox.claim(10)] == ["m1"]
    assert await engine.timers.due(moment(1), 10) == (list(timers[:2]), moment(2))
    assert set(await reader.turns.load(["j1"])) == {"j1"}
    for refused in (
        reader.turns.commit(turn("t2", begin("i9"), process_id="reader")),
        reader.members.claim_orphans(1),
        reader.mailbox.claim(10),
        reader.timers.due(moment(1), 10),
        reader.members.beat(),
        reader.definitions.save("default", "d", b"", b"", NOON),
    ):
        with pytest.raises(StoreUnavailable) as refusal:
            await refused
        assert refusal.value.code == "TEN-4004"
    await reader.close(NOON, clean=True)
    async with connected(url) as other:
        rows = await other.fetch("SELECT id FROM tenuto.processes")
    assert [tuple(row) for row in rows] == [("p1",)]


async def test_a_step_costs_one_statement_and_so_does_looking(url: str, opened: Opener) -> None:
    store = await opened(url)
    await store.turns.commit(turn("t1", begin("i1"), process_id="p1"))
    everything = step(
        "i1",
        1,
        ownership=Ownership.TAKE,
        mail_sent=(mail("m1", "i2"),),
        timers_set=(timer("i1", 5),),
    )
    for work in (
        lambda: store.turns.commit(turn("t2", everything, process_id="p1")),
        lambda: store.turns.commit(turn("t3", aside("i1", version=2), process_id="p1")),
        lambda: store.turns.load(["i1"]),
        lambda: store.mailbox.claim(10),
        lambda: store.timers.due(moment(100), 10),
        store.members.beat,
        lambda: store.members.hint(["p1"]),
    ):
        before = store.statements
        await work()
        assert store.statements == before + 1


async def test_the_settings_are_told(url: str, opened: Opener) -> None:
    settings = await (await opened(url)).settings()
    assert settings["server_version"]
    assert settings["fsync"] in {"on", "off"}


async def test_nobody_stands_still_for_ever_in_the_middle_of_a_transaction(
    url: str, opened: Opener
) -> None:
    """B2: "SIGSTOP a worker": the server ends what a stopped process has begun."""
    store = await opened(url)
    connection = await store._database.heartbeat._connected()
    for name in ("idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"):
        [(value,)] = await connection.fetch("SELECT current_setting($1)", name)
        assert value not in {"0", ""}


async def test_who_vanishes_in_the_middle_of_a_turn_is_not_kept_from_being_taken_for_dead(
    url: str, opened: Opener
) -> None:
    """Its row is locked until the server ends its turn: that is before the silence is over."""
    query = (
        "SELECT setting::int FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'"
    )
    connection = await (await opened(url))._database.heartbeat._connected()
    [(allowed,)] = await connection.fetch(query)
    assert timedelta(milliseconds=allowed) <= DEAD_AFTER - BEAT_EVERY


async def test_a_store_is_opened_once(url: str, opened: Opener) -> None:
    store = await opened(url)
    with pytest.raises(StoreUnavailable, match="open already"):
        await store.open("p2", NOON)
