"""A decision that never ends, or kills its process, costs two processes at most, and then nothing.

"Whatever hangs or kills its process is found by itself."
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tenuto import Client, TenutoError
from tests.crash.services import STEPS, Service, services
from tests.kit.command_forks import run
from tests.kit.postgres_database import fresh_database

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

STOPPED, DEAF, ABORTING = ("python", "regex"), "deaf", "abort"
"""Kinds of poison: those that can be stopped, one that cannot, and one that ends its process."""


def make_sick(each: Service) -> None:
    each.program = "tests.crash.poisoned_service"
    each.settings = ["engine.decision_timeout=1"]


def doctor(store: str) -> str:
    """What `tenuto doctor` prints."""
    done = run("doctor", "--store", store, cwd=Path.cwd())
    assert done.returncode == 0, done.stderr
    return done.stdout


async def begin(service: Service, kind: str) -> str:
    """Start an instance that is poison; its id."""
    async with Client(service.url) as client:
        await client.deploy({**STEPS, "id": kind})
        return (await client.start(kind, {"number": 1})).id


async def until_quarantined(service: Service, ids: Sequence[str]) -> None:
    """Each is named as such, can be shown, and refuses what is asked of it."""
    async with asyncio.timeout(60), Client(service.url, patience=60) as client:
        for id in ids:
            while (cause := await _cause_of(client, id))["kind"] != "quarantined":  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # it is another process
            assert f"tenuto retry {id}" in cause["details"]["advice"]
            assert await client.at(id).status() == "RUNNING"
            with pytest.raises(TenutoError) as refused:
                await client.at(id).cancel()
            assert refused.value.code == "TEN-3013"


async def _cause_of(client: Client, id: str) -> dict[str, Any]:
    explained: Any = await client.at(id).explain()
    return dict(explained["causes"][0])


async def others_end(service: Service) -> None:
    async with Client(service.url, patience=60) as client:
        await client.deploy(STEPS)
        assert await (await client.start("twice", {"number": 4})).result(timeout=60) == 8


async def all_end_once_released(store: str, service: Service, ids: Sequence[str]) -> None:
    """It stops in good order; mended, it goes on without them until they are released."""
    assert await asyncio.to_thread(service.stop) == 0
    said = await asyncio.to_thread(doctor, store)
    assert all(f"{id} is quarantined: " in said for id in ids)
    service.program = "tenuto"
    await asyncio.to_thread(service.begin)
    await until_quarantined(service, ids)
    async with Client(service.url) as client:
        for id in ids:
            await client.at(id).retry()
            assert await client.at(id).result(timeout=60) == 2


async def test_poison_is_quarantined_after_two_processes_at_most(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    with services(store, tmp_path, count=1, is_begun=False, is_loaded=True) as (one,):
        make_sick(one)
        await asyncio.to_thread(one.begin)
        ids = [await begin(one, kind) for kind in STOPPED]
        await until_quarantined(one, ids)
        ids.append(await begin(one, DEAF))
        assert await asyncio.to_thread(one.ended) == -signal.SIGKILL
        await asyncio.to_thread(one.begin)
        await until_quarantined(one, ids)
        ids.append(await begin(one, ABORTING))
        assert await asyncio.to_thread(one.ended) == -signal.SIGABRT
        await asyncio.to_thread(one.begin_to_begin)
        assert await asyncio.to_thread(one.ended) == -signal.SIGABRT
        await asyncio.to_thread(one.begin)
        await until_quarantined(one, ids)
        await others_end(one)
        await all_end_once_released(store, one, ids)


# Two engines of one store, and what poison costs them: tests/simulation/test_poison.py.
@pytest.mark.soak
async def test_poison_costs_two_services_of_one_database_at_most(tmp_path: Path) -> None:
    store = await fresh_database("tenuto_poison")
    with services(store, tmp_path, is_begun=False, is_loaded=True) as both:
        for each in both:
            make_sick(each)
            await asyncio.to_thread(each.begin)
        ids = [await begin(both[0], kind) for kind in ("regex", "waits")]
        await until_quarantined(both[0], ids)
        ids.append(await begin(both[0], ABORTING))
        for each in both:
            # One dies of the instance, the other of taking it over.
            assert await asyncio.to_thread(each.ended) == -signal.SIGABRT
        for each in both:
            await asyncio.to_thread(each.begin)
        for each in both:
            await until_quarantined(each, ids)
            await others_end(each)
        assert await asyncio.to_thread(both[0].stop) == 0
        await all_end_once_released(store, both[1], ids)
