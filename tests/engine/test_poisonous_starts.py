"""Starts that hang or kill their process: they are refused, since there is no instance to release.

A parent, or the record of an event, has the reason; nothing waits for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tenuto import Tenuto, WorkflowFailed
from tenuto.core import Decision, InstanceState, Plan, decide
from tenuto.engine.turns.note import STARTING, DecisionStopped, Note, Noted
from tenuto.engine.turns.quarantine import Left
from tenuto.engine.turns.requests import Request
from tenuto.model.inputs import Input, Started
from tenuto.model.json import Object
from tenuto.model.policy import Policies
from tests.engine.situations import at_rest, until_waiting

pytestmark = pytest.mark.asyncio

INNER: Object = {
    "id": "inner",
    "triggers": [{"eventPattern": "go"}],
    "steps": [{"stepId": "wait", "type": "EVENT_WAIT", "eventPattern": "never"}],
}
OUTER: Object = {
    "id": "outer",
    "steps": [{"stepId": "call", "type": "SUB_WORKFLOW", "workflowId": "inner"}],
}


class DeadNotes:
    """The notes that dead processes left."""

    def __init__(self, *left: Left) -> None:
        self._left = {each.process_id: each for each in left}

    def open(self, process_id: str, note: Note) -> None: ...

    def left(self) -> Iterator[Left]:
        yield from list(self._left.values())

    def forget(self, process_id: str) -> None:
        del self._left[process_id]

    def close(self) -> None: ...


def dead(instance_id: str, *, processes: int, is_hung: bool = False) -> DeadNotes:
    """Processes that died of the start of an instance."""
    noted = Noted(instance_id, STARTING, is_hung)
    return DeadNotes(*(Left(f"p{number}", noted) for number in range(processes)))


def plant(app: Tenuto) -> None:
    """No decision on the start of `inner` ends."""

    def stopping(
        plan: Plan, state: InstanceState, input: Input, now: datetime, policies: Policies
    ) -> Decision:
        if isinstance(input, Started) and input.definition_id == "inner":
            raise DecisionStopped  # as the watchdog's signal does
        return decide(plan, state, input, now, policies)

    for lane in app.engine.turns.lanes:
        lane._drafter._core = lane._drafter._core._replace(decide=stopping)


async def assert_nothing_is_left(app: Tenuto) -> None:
    await at_rest(app)
    await app.engine.turns.settle()
    assert await app.engine.store.mailbox.claim(10) == []
    assert await app.engine.store.quarantine.suspects() == []
    assert not app.engine.quarantine.held


async def test_a_child_whose_start_does_not_end_fails_its_parent_and_is_not_quarantined() -> None:
    async with Tenuto() as app:
        plant(app)
        await app.deploy(INNER)
        await app.deploy(OUTER)
        with pytest.raises(WorkflowFailed, match="cannot be started: deciding on it did not end"):
            await (await app.start("outer")).result(timeout=30)
        await assert_nothing_is_left(app)


async def test_a_start_by_an_event_that_does_not_end_is_a_recorded_refusal() -> None:
    async with Tenuto() as app:
        plant(app)
        await app.deploy(INNER)
        await app.publish("go", {}, id="e")
        await at_rest(app)
        [delivery] = await app.engine.store.inbox.deliveries_of("default", "e")
        assert (delivery.outcome, await app.instances()) == ("refused", [])
        assert "cannot be started" in str(delivery.reason)
        await assert_nothing_is_left(app)


async def parent_of_unborn(url: str) -> tuple[str, str]:
    """A parent, and its child whose start is left in the mailbox, as by a process that died."""
    async with Tenuto(url) as app:
        await app.deploy(INNER)
        await app.deploy(OUTER)
        begun: asyncio.Queue[Request] = asyncio.Queue()
        app.engine.effects.mailbox.starts._report = begun.put_nowait
        parent = await app.start("outer")
        return parent.id, (await begun.get()).instance_id


@pytest.mark.parametrize(("processes", "is_hung"), [(2, False), (1, True)])
async def test_a_child_whose_start_killed_its_processes_fails_its_parent(
    tmp_path: Path, processes: int, is_hung: bool
) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    parent, child = await parent_of_unborn(url)
    app = Tenuto(url)
    app.engine.quarantine._notes = dead(child, processes=processes, is_hung=is_hung)
    async with app:
        with pytest.raises(WorkflowFailed, match=r"cannot be started: .* Started"):
            await app.at(parent).result(timeout=30)
        await assert_nothing_is_left(app)
        # Another child begins, since the cause is mended.
        await app.at(parent).retry()
        await until_waiting(app, 1)
        [begun] = await app.instances(status="WAITING_FOR_EVENT")
        assert begun.id != child


async def test_a_child_whose_start_one_process_died_of_begins_and_is_cleared(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    _, child = await parent_of_unborn(url)
    app = Tenuto(url)
    app.engine.quarantine._notes = dead(child, processes=1)
    async with app:
        await until_waiting(app, 1)
        assert [row.id for row in await app.instances(status="WAITING_FOR_EVENT")] == [child]
        await assert_nothing_is_left(app)


@pytest.mark.parametrize("is_hung", [False, True])
async def test_a_start_of_which_nothing_is_durable_leaves_no_suspect(
    tmp_path: Path, is_hung: bool
) -> None:
    """Its sender got no answer, and may try again under the same id."""
    url, id = f"sqlite:///{tmp_path / 'store.db'}", "00000000-0000-4000-8000-000000000001"
    app = Tenuto(url)
    app.engine.quarantine._notes = dead(id, processes=1, is_hung=is_hung)
    async with app:
        await assert_nothing_is_left(app)
        await app.deploy(INNER)
        await app.start("inner", {}, instance_id=id)
