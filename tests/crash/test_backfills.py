"""A backfill goes on after its process was killed, and starts no tick twice."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tenuto import Client
from tenuto.model.json import Object
from tenuto.workspace.schedule_values import TickRecord
from tests.crash.services import FOREVER, services
from tests.kit.patience import patience

FIRST, LAST = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 10, 23, tzinfo=UTC)


async def ticks_of(client: Client, count: int) -> list[TickRecord]:
    """The ticks once there are so many, the oldest first."""
    async with patience(f"{count} ticks"):
        while len(found := await client.schedules.ticks("daily")) < count:
            pass
    return [*reversed(found)]


async def end_all(client: Client, ticks: list[TickRecord]) -> None:
    for each in ticks:
        assert each.instance_id is not None
        await client.at(each.instance_id).cancel()


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_backfill_interrupted_by_kill_9_goes_on(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    with services(store, tmp_path, count=1, is_loaded=True) as (one,):
        async with Client(one.url) as client:
            await client.deploy(FOREVER)
            daily: Object = {"id": "daily", "cron": "0 9 * * *", "input": {}}
            await client.schedules.save({**daily, "target": {"workflowId": "forever"}})
            begun = await client.schedules.backfill("daily", FIRST, LAST, concurrency=2)
            assert begun.id is not None
            before = await ticks_of(client, 2)
        one.kill()
        await asyncio.to_thread(one.begin)
        async with Client(one.url) as client:
            assert await ticks_of(client, 2) == before
            for count in (2, 4, 6):
                ticks = await ticks_of(client, count)
                assert len(ticks) == count
                await end_all(client, ticks[count - 2 :])
            async with patience("the end of the backfill"):
                while (found := await client.bulk.get(begun.id)).status == "running":
                    pass
            assert (found.status, found.done, found.failed) == ("done", 6, 0)
            after = await ticks_of(client, 6)
            assert after[:2] == before
            assert [each.nominal.day for each in after] == [5, 6, 7, 8, 9, 10]
            assert len(await client.instances(workflow="forever")) == 6
