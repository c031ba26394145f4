"""What `explain` says of the past: times of earlier attempts, waits, queues and children."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenuto import Tenuto
from tenuto.metrics.metrics import Metrics
from tenuto.metrics.past import ENOUGH
from tenuto.model.json import Object
from tests.engine.situations import ONE_WAIT, until_waiting

pytestmark = pytest.mark.asyncio

STEP: Object = {"stepId": "print", "type": "TASK", "taskId": "printed"}
GUARDED: Object = {"id": "guarded", "steps": [{**STEP, "mutex": "printer"}]}
LIMITED: Object = {"id": "limited", "steps": [STEP], "options": {"concurrency": {"limit": 1}}}
ABOVE: Object = {
    "id": "above",
    "nodes": [{"id": "below", "type": "subWorkflow", "config": {"workflowId": "limited"}}],
    "edges": [],
}
MUTEX, LIMIT = "mutex:default/printer", "key:default/limited/"


async def causes_of(app: Tenuto, id: str) -> dict[str, Any]:
    """The causes of an instance, and those of its children, by kind."""
    explained: Any = await (await app.instance(id)).explain()
    found: dict[str, Any] = {}
    rest = [*explained["causes"]]
    while rest:
        cause = rest.pop(0)
        found.setdefault(cause["kind"], cause)
        rest += cause["causes"]
    return found


async def test_waits_are_estimated_from_twenty_earlier_ones() -> None:
    async with Tenuto() as app:
        Metrics(app.engine)
        await app.deploy(ONE_WAIT)
        begun = [await app.start("waiting", {"orderId": 7}) for _ in range(ENOUGH)]
        await until_waiting(app, ENOUGH)
        assert "estimate" not in (await causes_of(app, begun[0].id))["event"]
        await app.publish("payment.received", {"orderId": 7})
        for each in begun:
            await each.result(timeout=60)
        late = await app.start("waiting", {"orderId": 8})
        await until_waiting(app, 1)
        cause = (await causes_of(app, late.id))["event"]
        assert cause["estimate"]["from"] == ENOUGH
        assert "; usually " in cause["message"]


async def test_slots_mutexes_and_children_are_estimated_and_name_their_holders() -> None:
    """`explain` has the causes slot, mutex, event, approval, worker, breaker, rate limit, retry,
    timer, working time, schedule, child, pause, each with since when, until when where known, who
    holds it, and an estimate `{p50, p90, from}` where 20 or more earlier ones give one."""
    may_end = asyncio.Event()
    async with Tenuto() as app:
        Metrics(app.engine)

        @app.task
        async def printed() -> None:
            await may_end.wait()

        for document in (GUARDED, LIMITED, ABOVE):
            await app.deploy(document)
        # The first one of each begins at once; the others wait for it.
        for workflow, key in (("guarded", MUTEX), ("above", LIMIT)):
            may_end.clear()
            begun = [await app.start(workflow, {}) for _ in range(ENOUGH + 1)]
            await until_parked(app, key, ENOUGH)
            may_end.set()
            for each in begun:
                await each.result(timeout=60)
        may_end.clear()
        holder, late = [await app.start("guarded", {}) for _ in range(2)]
        await until_parked(app, MUTEX, 1)
        mutex = (await causes_of(app, late.id))["mutex"]
        assert mutex["estimate"]["from"] == ENOUGH
        said = f"position 1 of 1; mutex 'printer', held by print of {holder.id}; usually "
        assert mutex["message"].startswith(said)
        [held] = mutex["details"]["holders"]
        assert (held["instanceId"], held["stepId"]) == (holder.id, "print")
        assert held["since"] <= mutex["since"]
        first, last = [await app.start("above", {}) for _ in range(2)]
        await until_parked(app, LIMIT, 1)
        child = (await causes_of(app, first.id))["child"]
        assert child["estimate"]["from"] == ENOUGH + 1
        slot = (await causes_of(app, last.id))["slot"]
        assert slot["estimate"]["from"] == ENOUGH
        full = f"limit {LIMIT} 1 of 1, held by {child['details']['childId']}; usually "
        assert slot["message"].startswith(f"position 1 of 1; {full}")
        may_end.set()
        for each in (holder, late, first, last):
            await each.result(timeout=60)


async def until_parked(app: Tenuto, key: str, count: int) -> None:
    """So many wait for a limit that a pass has found full."""
    changed = asyncio.Event()
    stop = app.engine.listen(lambda _draft: changed.set())
    try:
        while True:
            changed.clear()
            await app.engine.admissions.run_once()
            if await app.engine.store.slots.lines("default", [key], 100) == {key: count}:
                return
            await changed.wait()
    finally:
        stop()
