"""The sections on limits and the queue, each sentence by instances that wait, run and end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from tenuto.model.json import Object
from tests.api.conftest import Caller, served
from tests.core.drawing import draw, task, wait
from tests.core.play import play

T = TypeVar("T")

ROOT = {"authorization": "Bearer " + "k" * 40}
HELD: Object = {
    "id": "held",
    "steps": [{"stepId": "go", "type": "EVENT_WAIT", "eventPattern": "go.on"}],
    "options": {"concurrency": {"limit": 100, "holdWhileWaiting": True}},
}
ABOVE: Object = {
    "id": "above",
    "nodes": [{"id": "below", "type": "subWorkflow", "config": {"workflowId": "held"}}],
    "edges": [],
}
CONFIG: Object = {
    "globalMaxConcurrent": 5,
    "workflowTypeLimits": {"*": 1, "other": 2},
    "tenantLimits": {"default": 4},
    "userLimits": {"*": 4},
    "queue": {"order": "priority", "bound": 10, "aging": "PT5M", "perTenantShare": {"acme": 2}},
}


def test_when_comes_before_the_mutex() -> None:
    """`when` is read after the join and before the mutex."""
    run = play(draw("a>b", a=task(mutex="m", when="ctx.input.go"))).start({"go": False})
    assert run.count("MUTEX_REQUESTED a#1") == 0
    assert (run.count("NODE_SKIPPED a#1"), run.ledger.slots) == (1, {})


def test_a_queue_for_a_mutex_is_work_and_no_wait() -> None:
    """WAITING_FOR_EVENT: an open wait or approval and no task attempt, due retry, delay, child or
    queue for a mutex; otherwise RUNNING."""
    run = play(draw("a w", a=task(mutex="m"), w=wait())).start({})
    assert run.state.status.value == "RUNNING"
    run.admit("a").succeed("a")
    assert run.state.status.value == "WAITING_FOR_EVENT"


async def begin(call: Caller, workflow: str, key: str = "k" * 40) -> str:
    """Start an instance, as the principal of a key; its id."""
    mine = {"authorization": f"Bearer {key}"}
    started = await call("POST", f"/workflows/{workflow}/start", {}, headers=mine)
    return str(started.json["instanceId"])


async def eventually(call: Caller, look: Callable[[], Awaitable[T | None]]) -> T:
    """What a look finds; it looks again after each durable change, and after a pass."""
    changed = asyncio.Event()
    stop = call.app.engine.listen(lambda _draft: changed.set())
    try:
        while True:
            changed.clear()
            await call.app.engine.admissions.run_once()
            if (found := await look()) is not None:
                return found
            await changed.wait()
    finally:
        stop()


async def until_waiting(call: Caller, workflow: str, count: int = 1) -> None:
    """So many instances of a workflow run, and wait for their event."""

    async def look() -> bool | None:
        query = f"/instances?status=WAITING_FOR_EVENT&workflowId={workflow}"
        found = (await call("GET", query, headers=ROOT)).json["items"]
        return True if len(found) == count else None

    await eventually(call, look)


async def limits_of(call: Caller, count: int) -> dict[str, list[str]]:
    """By instance the limits that it waits for, once so many wait for one that is full."""

    async def look() -> dict[str, list[str]] | None:
        items = (await call("GET", "/queue", headers=ROOT)).json["items"]
        full = {
            each["instanceId"]: [limited["limit"] for limited in each["waitingFor"]]
            for each in items
        }
        return full if len(full) == count and all(full.values()) else None

    return await eventually(call, look)


@pytest.mark.asyncio
async def test_children_begin_although_the_limits_of_their_root_are_full() -> None:
    """Children take only type and key slots."""
    async with served(admin_key="k" * 40) as call:
        await call("PUT", "/workflows/held", HELD, headers=ROOT)
        await call("PUT", "/workflows/above", ABOVE, headers=ROOT)
        limits: Object = {"globalMaxConcurrent": 1, "userLimits": {"*": 1}}
        await call("PUT", "/concurrency", limits, headers=ROOT)
        await begin(call, "above")
        await until_waiting(call, "held")
        await call("PUT", "/concurrency", {"workflowTypeLimits": {"held": 1}}, headers=ROOT)
        await begin(call, "above")
        [full] = (await limits_of(call, 1)).values()
        assert full == ["type:default/held"]


@pytest.mark.asyncio
async def test_a_user_is_the_principal_that_starts() -> None:
    """The user of an instance is the principal that started it."""
    async with served(admin_key="k" * 40) as call:
        await call("PUT", "/workflows/held", HELD, headers=ROOT)
        await call("PUT", "/concurrency", {"userLimits": {"*": 1}}, headers=ROOT)
        expected: dict[str, list[str]] = {}
        for name in ("ana", "ben"):
            wish = {"name": name, "role": "operator"}
            made = (await call("POST", "/keys", wish, headers=ROOT)).json
            await begin(call, "held", made["key"])
            second = await begin(call, "held", made["key"])
            expected[second] = [f"user:default/key:{made['id']}"]
        assert await limits_of(call, 2) == expected


@pytest.mark.asyncio
async def test_limits_are_read_and_replaced_and_a_star_is_the_default() -> None:
    """`GET/PUT /concurrency` is seed 000's `ConcurrencyConfig`, `"*"` in a map is the default."""
    async with served(admin_key="k" * 40) as call:
        assert (await call("PUT", "/concurrency", CONFIG, headers=ROOT)).status == 200
        read = await call("GET", "/concurrency", headers=ROOT)
        assert {name: read.json[name] for name in CONFIG} == CONFIG
        assert read.headers["etag"] == f'"{read.json["version"]}"'
        await call("PUT", "/workflows/held", HELD, headers=ROOT)
        await call("PUT", "/workflows/other", {**HELD, "id": "other"}, headers=ROOT)
        for workflow in ("held", "held", "other", "other"):
            await begin(call, workflow)
        await until_waiting(call, "other", 2)
        [full] = (await limits_of(call, 1)).values()
        assert full == ["type:default/held"]
