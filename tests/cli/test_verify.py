"""Whatever is changed behind the log's back is found, and nothing else is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

from tenuto import Tenuto
from tenuto.cli.stores import reading
from tenuto.engine.verify import Verdict, verify
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tests.cli.conftest import Terminal, one_of_each
from tests.cli.waiting import until

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
    await until(app, instance, lambda state: NodeKey("s120") in state.open)


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
