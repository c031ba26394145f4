"""A simulated service whose store slows down with each instance that runs, in virtual time."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any, NamedTuple

from tenuto.app import Tenuto
from tenuto.engine.meters import Histogram
from tenuto.model.json import Object
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tenuto.testing.wrapped_store import Call, WrappedStore
from tenuto.workspace.limit_values import EffectiveLimit

INSTANCES = 200
STEPS = 3
TASK = 0.2
"""Seconds that a task takes."""
SLOWER = 0.002
"""Seconds by which each instance that runs lengthens a commit."""
WORK: Object = {
    "id": "work",
    "steps": [
        {
            "stepId": f"s{number}",
            "type": "TASK",
            "taskId": "wait",
            **({"transitions": {"default": f"s{number + 1}"}} if number + 1 < STEPS else {}),
        }
        for number in range(STEPS)
    ],
}


class Outcome(NamedTuple):
    """What was measured, in virtual seconds."""

    commit_p99: float
    run_p99: float
    """From the slot to the end of an instance."""
    ended: int
    seen: EffectiveLimit | None
    explained: str
    """What an instance that waits is said to wait for."""
    left: int
    """Reports of processes that are left once the limits are removed."""


class Saturated(WrappedStore):
    """A commit takes longer with each slot that is held."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__(MemoryStore(MemoryDisk()))
        self._loop = loop
        self.commits: list[float] = []

    async def called(self, call: Call) -> Any:  # noqa: ANN401 - whatever the verb returns
        if call.turn is not None:
            held = (await self.inner.slots.counts(["global"])).get("global", 0)
            took = 0.002 + SLOWER * held
            self.commits.append(took)
            await asyncio.sleep(took)
        return await call()


def run_saturated(limits: Object) -> Outcome:
    """Start all instances at once under these limits, and wait for their ends."""
    loop = VirtualLoop()
    store = Saturated(loop)
    app = Tenuto(
        store,
        clock=VirtualClock(loop, Wall()),
        ids=SeededIds(Random(7)),
    )
    app.engine.load.memory = lambda: 10.0

    @app.task
    async def wait() -> None:
        await asyncio.sleep(TASK)

    async def scenario() -> Outcome:
        await app.engine.open()
        await app.limits.set(limits)
        await app.deploy(WORK)
        begun = await asyncio.gather(*(app.start("work") for _ in range(INSTANCES)))
        ids = [each.id for each in begun]
        await asyncio.sleep(6)
        seen = (await app.limits.get()).effective
        explained = str(await (await app.instance(ids[-1])).explain())
        ended = [await (await app.instance(id)).result() for id in ids]
        runs = Histogram(tuple(0.1 * n for n in range(1, 600)))
        for id in ids:
            state = (await app.engine.state_of(id)).state
            assert state.started_at is not None
            assert state.completed_at is not None
            runs.add((state.completed_at - state.started_at).total_seconds())
        await app.limits.set({})
        await asyncio.sleep(3)
        left = len(await store.load_reports.living(app.engine.clock.now()))
        await app.engine.close()
        return Outcome(
            commit_p99=sorted(store.commits)[int(len(store.commits) * 0.99)],
            run_p99=runs.quantile(0.99),
            ended=len(ended),
            seen=seen,
            explained=explained,
            left=left,
        )

    return loop.run_until_complete(scenario())
