"""Start in one process, watch in another: a database between them is enough."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from tenuto.live import LiveHub
from tests.kit.postgres_database import fresh_database
from tests.live.situations import FLOW, WAIT, all_told, app_on, some_told, whole

pytestmark = pytest.mark.asyncio


async def test_what_one_process_runs_another_tells() -> None:
    url = await fresh_database()
    async with AsyncExitStack() as stack:
        here, there = [await stack.enter_async_context(app_on(url)) for _ in range(2)]
        hubs = [LiveHub(here.engine), LiveHub(there.engine)]
        await here.deploy(FLOW)
        await here.deploy(WAIT)
        quick = [await here.start("flow", {"n": n}) for n in range(5)]
        slow = await here.start("waiting")
        async with hubs[1].follow("default", slow.id, until_end=True) as feed:
            first = await some_told(feed, 3)
            assert first[-1]["status"] == "WAITING_FOR_EVENT"
            await here.publish("go")
            rest = await asyncio.gather(*(whole(hubs[1], each.id) for each in quick))
            assert [told[-1]["status"] for told in rest] == ["COMPLETED"] * len(quick)
            assert rest == await asyncio.gather(*(whole(hubs[0], each.id) for each in quick))
            last = await all_told(feed)
        assert first + last == await whole(hubs[0], slow.id)
