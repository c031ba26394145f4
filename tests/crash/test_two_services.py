"""Two `tenuto serve` on one database: each sees what the other does, and outlives it."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tenuto import Client
from tests.crash.services import FOREVER, STEPS, Load, services
from tests.kit.postgres_database import fresh_database

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]


async def test_nothing_is_lost_and_no_request_fails_when_services_come_and_go(
    tmp_path: Path,
) -> None:
    store = await fresh_database("tenuto_services")
    with services(store, tmp_path, is_loaded=True) as (one, other):
        async with Client(one.url) as here, Client(other.url) as there:
            await here.deploy(STEPS)
            begun = await here.start("twice", {"number": 4})
            assert (await there.instance(begun.id)).id == begun.id
        load = Load([one.url, other.url])
        running = [asyncio.ensure_future(load.run(name)) for name in ("a", "b", "c")]
        await load.passes(20)
        # A rolling restart: one after the other, with somebody there all the time.
        for each in (one, other):
            assert await asyncio.to_thread(each.stop) == 0
            await load.passes(10)
            await asyncio.to_thread(each.begin)
            await load.passes(10)
        await asyncio.to_thread(one.kill)
        await load.passes(20)
        load.enough()
        await asyncio.gather(*running)
        await load.all_ended()


async def test_a_second_signal_ends_a_service_that_waits_for_its_tasks(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    with services(store, tmp_path, count=1, is_loaded=True) as (one,):
        async with Client(one.url) as client:
            await client.deploy(FOREVER)
            await client.start("forever", {})
        one.tell(signal.SIGTERM)
        await asyncio.to_thread(one.heard, "stopping")
        one.tell(signal.SIGTERM)
        assert await asyncio.to_thread(one.ended) == -signal.SIGTERM
