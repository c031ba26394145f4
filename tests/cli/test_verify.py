"""Whatever is changed behind the log's back is found, and nothing else is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from weakref import ref

import apsw
import pytest

from tenuto import Tenuto
from tenuto.cli import upkeep
from tenuto.cli.backends.reader import reading
from tenuto.engine.turns.draft import size_of_rows
from tenuto.engine.upkeep.differences import Verdict
from tenuto.engine.upkeep.verification import MOST_BYTES, MOST_INSTANCES, verify
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tenuto.store.parts.turns import StoredInstance
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.session import Session
from tenuto.store.protocol import Store
from tenuto.testing.wrapped_store import Call
from tests.cli.conftest import Terminal, one_of_each
from tests.cli.waiting import until
from tests.kit.postgres_database import empty_database
from tests.kit.scripted_store import ScriptedStore

WRONG_SNAPSHOT = (
    "UPDATE workflow_snapshots"
    " SET state = CAST(replace(CAST(state AS TEXT), 'WAITING', 'RUNNING') AS BLOB)"
)
STEPS: list[JSON] = [
    {"stepId": f"s{n}", "type": "DELAY", "duration": 0, "transitions": {"default": f"s{n + 1}"}}
    for n in range(120)
]
LONG: Object = {
    "id": "long",
    "steps": [*STEPS, {"stepId": "s120", "type": "DELAY", "duration": "P30D"}],
}


async def a_long_one(app: Tenuto) -> None:
    """So many entries that the store keeps a snapshot, and a timer a month away."""
    await one_of_each(app)
    await app.deploy(LONG)
    instance = await app.start("long", "x" * 20_000)
    await until(app, instance, lambda state: NodeKey("s120") in state.open_nodes())


def verdicts(store: str) -> list[Verdict]:
    async def main() -> list[Verdict]:
        async with reading(store) as reader:
            return [each async for each in verify(reader.store, reader.plans)]

    return asyncio.run(main())


def changed(folder: Path, statement: str) -> None:
    with apsw.Connection(str(folder / "store.db")) as connection:
        connection.execute(statement)
        assert connection.changes(), statement


def test_a_store_that_was_left_alone_has_no_differences(terminal: Terminal) -> None:
    terminal.past(a_long_one)
    found = verdicts(terminal.store)
    assert len(found) == 4
    assert found[0].entries > 300
    assert [each.differences for each in found] == [()] * 4


@pytest.mark.asyncio
async def test_a_store_in_memory_can_be_verified_too() -> None:
    async with Tenuto() as app:
        await app.deploy(LONG)
        await app.start("long")
        found = [each async for each in verify(app.engine.store, app.engine.plans)]
    assert [each.differences for each in found] == [()]


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE workflow_instances SET status = 'RUNNING' WHERE status = 'FAILED'", "status"),
        ("UPDATE workflow_instances SET output = '7' WHERE definition_id = 'double'", "output"),
        ("UPDATE workflow_instances SET last_error = NULL WHERE status = 'FAILED'", "lastError"),
        ("UPDATE workflow_instances SET current_steps = '[]'", "currentSteps"),
        ("DELETE FROM workflow_event_subscriptions", "waits"),
        ("DELETE FROM timers WHERE kind = 'wait-timeout'", "timer wait-timeout wait"),
        ("UPDATE timers SET due = due + 1 WHERE kind = 'delay'", "timer delay s120"),
        ("DELETE FROM workflow_execution_history WHERE seq = 2", "log"),
        ("UPDATE workflow_execution_history SET event_type = 'NEW' WHERE seq = 2", "log"),
        ("UPDATE workflow_definitions SET version = 9", "log"),
        (WRONG_SNAPSHOT, "snapshot.nodes"),
    ],
)
def test_whatever_does_not_follow_from_the_log_is_found(
    terminal: Terminal, statement: str, what: str
) -> None:
    terminal.past(a_long_one)
    changed(terminal.folder, statement.replace("'7'", "CAST('7' AS BLOB)"))
    found = {each.what for verdict in verdicts(terminal.store) for each in verdict.differences}
    assert what in found


def test_only_so_many_differences_are_told_and_all_are_counted(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.past(one_of_each)
    changed(terminal.folder, "UPDATE workflow_instances SET status = 'RUNNING'")
    monkeypatch.setattr(upkeep, "_MOST_KEPT", 2)
    monkeypatch.setattr(upkeep, "_MOST_SHOWN", 1)
    told = terminal.call("verify", "-o", "json")
    assert (told.code, told.json["differenceCount"], len(told.json["differences"])) == (1, 3, 2)
    shown = terminal.call("verify")
    assert "3 instances differ from the log" in shown.err
    assert "… and 2 more; -o json gives up to 2" in shown.err


class Portion(dict[str, StoredInstance]):
    """What a store gave at once; it is known how long somebody keeps it."""

    @property
    def bytes(self) -> int:
        return sum(size_of_rows(each.tail) + len(each.state or b"") for each in self.values())


class Counted(ScriptedStore):
    """A store of which it is known what of it is still in memory."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.most_instances = self.most_bytes = self.most_rows = 0
        self._given: list[ref[Portion]] = []

    async def on_turns_load(self, call: Call) -> object:
        given = Portion(await call())
        self._given.append(ref(given))
        kept = [each for given in self._given if (each := given()) is not None]
        self.most_instances = max(self.most_instances, sum(len(each) for each in kept))
        self.most_bytes = max(self.most_bytes, sum(each.bytes for each in kept))
        return given

    async def on_instances_entries(self, call: Call) -> object:
        rows = await call()
        self.most_rows = max(self.most_rows, size_of_rows(rows))
        return rows


async def counted(app: Tenuto) -> tuple[Counted, int]:
    store = Counted(app.engine.store)
    found = [each async for each in verify(store, app.engine.plans)]
    assert [each.differences for each in found] == [()] * len(found)
    return store, len(found)


@pytest.mark.asyncio
async def test_verifying_keeps_a_bounded_share_of_a_store_in_memory() -> None:
    one_step: Object = {"id": "one", "steps": [{"stepId": "a", "type": "DELAY", "duration": 0}]}
    async with Tenuto() as app:
        await app.deploy(one_step)
        for _ in range(20):
            await asyncio.gather(*(app.start("one") for _ in range(50)))
        store, instances = await counted(app)
        assert instances == 1_000
        assert store.most_instances <= MOST_INSTANCES
        loads, timers = store.made("turns.load"), store.made("timers.of")
        assert len(loads) == len(timers) < instances / MOST_INSTANCES + 10
        assert not store.made("instances.entries"), "what is short is read once"


@pytest.mark.asyncio
async def test_large_instances_are_verified_in_smaller_portions() -> None:
    large = "x" * 400_000
    async with Tenuto() as app:
        await app.deploy(LONG)
        for _ in range(40):
            await app.start("long", large)
        store, instances = await counted(app)
        assert instances == 40
        assert store.most_bytes <= 2 * MOST_BYTES
        assert store.most_rows <= 2 * MOST_BYTES


async def _verified_on_postgres(instances: int, monkeypatch: pytest.MonkeyPatch) -> None:
    most_rows = 0
    send = Session._send

    async def counting(session: Session, *sent: Any) -> list[Row]:  # noqa: ANN401
        nonlocal most_rows
        rows = await send(session, *sent)
        most_rows = max(most_rows, len(rows))
        return rows

    one_step: Object = {"id": "one", "steps": [{"stepId": "a", "type": "DELAY", "duration": 0}]}
    async with Tenuto(await empty_database("verified")) as app:
        await app.deploy(one_step)
        for _ in range(instances // 100):
            await asyncio.gather(*(app.start("one") for _ in range(100)))
        monkeypatch.setattr(Session, "_send", counting)
        store, found = await counted(app)
    monkeypatch.undo()
    assert found == instances
    assert store.most_instances <= MOST_INSTANCES
    assert most_rows <= MOST_INSTANCES + 1, "the server is asked for a portion at a time"


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_database_is_verified_a_portion_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    await _verified_on_postgres(200, monkeypatch)


@pytest.mark.soak
@pytest.mark.asyncio
async def test_a_large_database_is_verified_a_portion_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await _verified_on_postgres(10_000, monkeypatch)
