"""Workflows and stores in the situations that the engine must cope with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tenuto import Tenuto
from tenuto.engine.turns.sharing import Sharing
from tenuto.model.errors import StoreUnavailable
from tenuto.model.json import Object
from tenuto.store.errors import CommitUnknown, DataRefused
from tenuto.store.parts.turns import Turn
from tenuto.testing.wrapped_store import Call
from tests.kit.scripted_store import ScriptedStore
from tests.kit.waits import every_wait_has_looked_back


def steps(*names: str, task: str = "work", id: str = "flow") -> Object:
    """A line of task steps."""
    listed: list[Any] = [{"stepId": name, "type": "TASK", "taskId": task} for name in names]
    for step, following in zip(listed, names[1:], strict=False):
        step["transitions"] = {"default": following}
    return {"id": id, "steps": listed}


ONE_WAIT: Object = {
    "id": "waiting",
    "steps": [
        {
            "stepId": "wait",
            "type": "EVENT_WAIT",
            "eventPattern": "payment.received",
            "eventCondition": "event.payload.orderId === workflow.input.orderId",
        }
    ],
}


class Moody(ScriptedStore):
    """A store whose next commits go as scripted: "away", "unknown", "unknown-done", or well."""

    def __init__(self, moods: Sequence[str] = (), *, shared: bool = False) -> None:
        super().__init__(shared=shared)
        self.moods = list(moods)
        self.commits = 0
        self.tried = asyncio.Event()
        self.refused_text: str | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def on_turns_commit(self, call: Call) -> object:
        turn = call.turn
        assert turn is not None
        await self.gate.wait()
        self.commits += 1
        self.tried.set()
        mood = self.moods.pop(0) if self.moods else "well"
        if mood == "away":
            raise StoreUnavailable("the store is away")
        if mood == "unknown":
            raise CommitUnknown("the connection broke")
        if self.refused_text is not None and self.refused_text.encode() in _all_payloads(turn):
            raise DataRefused("no store takes this")
        result = await call()
        if mood == "unknown-done":
            raise CommitUnknown("the connection broke after the commit")
        return result


def _all_payloads(turn: Turn) -> bytes:
    return b"".join(row.payload or b"" for write in turn.writes for row in write.rows)


async def until(app: Tenuto, holds: Callable[[], Awaitable[bool]]) -> None:
    """Return once `holds`; looks again after every durable change, never by the clock."""
    changed = asyncio.Event()
    stop = app.engine.listen(lambda _: changed.set())
    try:
        while not await holds():
            await changed.wait()
            changed.clear()
    finally:
        stop()


async def at_rest(app: Tenuto) -> None:
    """Return once nothing waits to be written in any lane: the last may have work for the first."""
    intakes = app.engine.turns.intakes
    while not all(intake.is_idle.is_set() for intake in intakes):
        for intake in intakes:
            await intake.is_idle.wait()


async def until_waiting(app: Tenuto, count: int, step: str = "wait") -> None:
    """Return once so many instances wait at `step`."""

    async def holds() -> bool:
        return len(await app.instances(current_step=step, limit=100_000)) >= count

    await until(app, holds)
    await every_wait_has_looked_back(app)
    await at_rest(app)


def beside_another() -> Sharing:
    """As it is while a tenant with little to do is at work beside another."""
    sharing = Sharing()
    sharing.begin()
    sharing.weighed(["quiet"], ())
    return sharing
