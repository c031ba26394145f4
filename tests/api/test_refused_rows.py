"""A row that the store refuses stops a loop where everybody sees it, until the store takes it."""

from __future__ import annotations

import asyncio

import pytest

from tenuto import Tenuto
from tenuto.engine.loops import Loops
from tenuto.engine.outage import Outage
from tenuto.engine.settings import Settings
from tenuto.model.json import Object
from tenuto.ports import SystemClock
from tenuto.store.errors import DataRefused
from tenuto.testing.wrapped_store import Call
from tests.api.conftest import DOUBLE, served, tasks
from tests.api.test_metrics import read, value
from tests.kit.scripted_store import ScriptedStore
from tests.kit.turns import turns

pytestmark = pytest.mark.asyncio


class NoGrants(ScriptedStore):
    """Takes everything but what a pass of admission writes."""

    async def on_slots_admit(self, call: Call) -> object:
        del call
        raise DataRefused("a grant is not taken")


async def test_admission_that_stands_still_is_said_by_readiness_and_by_a_metric() -> None:
    app = Tenuto(NoGrants(), tasks=tasks(), settings=Settings(unknown_tasks="wait"))
    async with served(app=app) as call:
        assert value((await read(call))["tenuto_loops_refused"]) == 0
        await app.deploy(DOUBLE)
        await app.limits.set({"globalMaxConcurrent": 0})
        await app.start(str(DOUBLE["id"]), {"number": 1})
        while not app.engine.shared.loops.refused:
            await turns()
        ready = await call.get("/health/ready")
        assert ready.status == 200, "what needs no slot goes on"
        found: Object = ready.json
        assert found["degraded"] == ["admission stands still: the store refuses what it writes"]
        assert value((await read(call))["tenuto_loops_refused"]) == 1


class Hasty(SystemClock):
    """Nobody waits for its time to pass."""

    async def sleep(self, seconds: float) -> None:
        del seconds
        await asyncio.sleep(0)


async def test_a_loop_that_stood_still_is_named_until_the_store_takes_what_it_writes() -> None:
    clock, is_done = Hasty(), asyncio.Event()
    loops = Loops(clock, Outage(clock), lambda _, error: pytest.fail(repr(error)))
    seen: list[set[str]] = []

    async def once() -> None:
        seen.append(set(loops.refused))
        if len(seen) < 3:
            raise DataRefused("not this")
        is_done.set()

    loops.run("admission", once, hint=asyncio.Event())
    await is_done.wait()
    await turns()
    assert seen == [set(), {"admission"}, {"admission"}]
    assert loops.refused == set()
    await loops.stop()
