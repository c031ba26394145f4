"""A turn takes a slot itself where there is room; else the instance asks, and waits for a pass."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest.mock import patch

import pytest

from tenuto import Tenuto
from tenuto.engine.limits import free_slots
from tenuto.engine.turns.slot_rows import Counted
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.store.parts.slot_rows import NO_LIMIT
from tenuto.workspace.protocol import Instance

STORES = ["memory://", "sqlite:///{}/slots.db"]


ONE: Object = {
    "id": "one",
    "steps": [{"stepId": "work", "type": "TASK", "taskId": "work"}],
    "options": {"concurrency": {"limit": 1}},
}


async def slots_of(instance: Instance) -> list[JSON]:
    """What its log says of its slot."""
    found: list[JSON] = []
    for entry in await instance.history():
        payload = entry["payload"]
        values = payload.get("values") if isinstance(payload, dict) else None
        if entry["eventType"] == "SYSTEM_SET" and isinstance(values, dict):
            slot = values["slot"]
            assert isinstance(slot, dict)
            found.append(slot.get("state", "asked"))
    return found


@pytest.mark.asyncio
@pytest.mark.parametrize("url", STORES)
async def test_the_service_is_full_while_its_limit_is_reached(url: str, tmp_path: Path) -> None:
    release = asyncio.Event()
    async with Tenuto(url.format(tmp_path)) as app:

        @app.task
        async def work() -> None:
            await release.wait()

        free = app.engine.turns.free
        await app.deploy({**ONE, "options": {}})
        found = []
        started = [await app.start("one", {"n": 0})]
        found.append(free.is_service_full)
        await app.limits.set({"globalMaxConcurrent": 2})
        for n in (1, 2, 3):
            started.append(await app.start("one", {"n": n}))
            found.append(free.is_service_full)
        release.set()
        for each in started:
            await each.result(60)
    assert found == [False, False, True, True], "the first one has begun before there was a limit"


@pytest.mark.asyncio
@pytest.mark.parametrize("url", STORES)
async def test_a_start_that_finds_room_runs_with_its_first_turn(url: str, tmp_path: Path) -> None:
    async with Tenuto(url.format(tmp_path)) as app:

        @app.task
        async def work() -> None:
            pass

        await app.deploy(ONE)
        await app.limits.set({"globalMaxConcurrent": 1, "userLimits": {"*": 1}})
        for n in range(5):
            instance = await app.start("one", {"n": n})
            await instance.result(60)
            assert await slots_of(instance) == ["held"], "what the one before gave back is free"
        assert app.engine.admissions.granted == 0


@pytest.mark.asyncio
@pytest.mark.parametrize("url", STORES)
async def test_a_start_that_finds_no_room_waits_for_a_pass(url: str, tmp_path: Path) -> None:
    is_over = asyncio.Event()
    async with Tenuto(url.format(tmp_path)) as app:

        @app.task
        async def work() -> None:
            await is_over.wait()

        await app.deploy(ONE)
        first, second = [await app.start("one", {"n": n}) for n in range(2)]
        assert await first.status() is Status.RUNNING
        assert await second.status() is Status.CREATED
        is_over.set()
        await asyncio.gather(first.result(60), second.result(60))
        assert (await slots_of(first), await slots_of(second)) == (["held"], ["asked", "held"])
        assert app.engine.admissions.granted == 1


@pytest.mark.asyncio
async def test_a_process_that_does_not_know_of_others_is_refused_and_asks(tmp_path: Path) -> None:
    is_over = asyncio.Event()
    async with Tenuto(f"sqlite:///{tmp_path}/slots.db") as app:

        @app.task
        async def work() -> None:
            await is_over.wait()

        await app.deploy(ONE)
        first = await app.start("one", {"n": 1})
        app.engine.turns.free.counted({"key:default/one/": 0})
        second = await app.start("one", {"n": 2})
        assert await second.status() is Status.CREATED
        is_over.set()
        await asyncio.gather(first.result(60), second.result(60))
        assert await slots_of(second) == ["asked", "held"]


@pytest.mark.asyncio
@pytest.mark.parametrize("url", STORES)
async def test_an_instance_that_only_waits_gives_back_what_its_start_took(
    url: str, tmp_path: Path
) -> None:
    document: Object = {
        "id": "one",
        "steps": [{"stepId": "go", "type": "EVENT_WAIT", "eventPattern": "go.on"}],
        "options": {"concurrency": {"limit": 1}},
    }
    async with Tenuto(url.format(tmp_path)) as app:
        await app.deploy(document)
        begun = [await app.start("one", {"n": n}) for n in range(3)]
        for each in begun:
            assert await each.status() is Status.WAITING_FOR_EVENT
            assert await slots_of(each) == ["held", "released"]
        await app.publish("go.on", {})
        await asyncio.gather(*(each.result(60) for each in begun))
        while not (await app.engine.store.slots.admit(app.engine.clock.now())).is_done:
            pass
        assert await app.engine.store.slots.counts(["global", "key:default/one/"]) == {}


@pytest.mark.asyncio
@pytest.mark.parametrize("url", STORES)
async def test_a_start_that_is_repeated_takes_no_slot(url: str, tmp_path: Path) -> None:
    is_over = asyncio.Event()
    async with Tenuto(url.format(tmp_path)) as app:

        @app.task
        async def work() -> None:
            await is_over.wait()

        await app.deploy({**ONE, "options": {"concurrency": {"limit": 2}}})
        again = [await app.start("one", {"n": 1}, key="k") for _ in range(3)]
        other = await app.start("one", {"n": 2})
        assert await slots_of(other) == ["held"]
        is_over.set()
        await asyncio.gather(again[0].result(60), other.result(60))


@pytest.mark.asyncio
async def test_what_is_known_of_limits_has_a_bound(tmp_path: Path) -> None:
    async with Tenuto(f"sqlite:///{tmp_path}/slots.db") as app:
        free = app.engine.turns.free
        slots = [Counted((f"key:default/one/{n}",)) for n in range(3)]
        free.counted({key: NO_LIMIT for slot in slots for key in slot.keys})
        assert not any(map(free.take, slots))
        with patch.object(free_slots, "MOST_KNOWN", 2):
            free.counted({})
        assert all(map(free.take, slots))
