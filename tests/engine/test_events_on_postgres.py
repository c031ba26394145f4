"""An event and the wait for it at the same moment, in two processes on one database."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from tenuto import Settings, Tenuto
from tenuto.model.json import JSON, Object
from tests.core.drawing import box, draw, wait
from tests.kit.postgres_database import connected, fresh_database

pytestmark = pytest.mark.asyncio

MINE = "event.payload.n === workflow.input.n"
ARMS: list[JSON] = [
    {"id": "paid", "eventPattern": "order.paid", "eventCondition": MINE},
    {"id": "any", "eventPattern": "order.*", "eventCondition": MINE},
]
PLAIN: Object = draw("w", w=wait("order.paid", eventCondition=MINE, lookback="PT1H"))
WITH_ARMS: Object = draw("w", w=box("eventWait", arms=ARMS, lookback="PT1H"))
AT_ONCE = 100
QUICK = Settings(mail_every=0.2, watch_every=0.05)


async def meet(count: int) -> None:
    """Start instances in one process while the other publishes what each of them waits for."""
    url = await fresh_database()
    async with Tenuto(url, settings=QUICK) as starting, Tenuto(url, settings=QUICK) as sending:
        await starting.deploy(PLAIN | {"id": "plain"})
        await starting.deploy(WITH_ARMS | {"id": "arms"})
        for first in range(0, count, AT_ONCE):
            numbers = range(first, min(first + AT_ONCE, count))
            started, _ = await asyncio.gather(
                asyncio.gather(
                    *(starting.start(("plain", "arms")[n % 2], {"n": n}) for n in numbers)
                ),
                asyncio.gather(
                    *(sending.publish("order.paid", {"n": n}, id=f"e{n}") for n in numbers)
                ),
            )
            outputs = await asyncio.gather(*(each.result(60) for each in started))
            taken = [output["eventId"] for output in outputs if isinstance(output, dict)]
            assert taken == [f"e{n}" for n in numbers], "none is lost, and each is where it belongs"
    async with connected(url) as connection:
        delivered = await connection.fetch("SELECT event_id, outcome FROM tenuto.event_deliveries")
        resumed = Counter(event for event, outcome in delivered if outcome == "resumed")
        assert resumed == Counter({f"e{n}": 1 for n in range(count)}), "none is used twice"
        for table in ("workflow_event_subscriptions", "mailbox", "timers", "owners"):
            [(left,)] = await connection.fetch(f"SELECT count(*) FROM tenuto.{table}")
            assert (table, left) == (table, 0)


@pytest.mark.slow
async def test_an_event_and_its_wait_meet_whichever_comes_first() -> None:
    await meet(300)


@pytest.mark.soak
async def test_an_event_and_its_wait_meet_ten_thousand_times(seeds: Iterator[int]) -> None:
    for _ in seeds:
        await meet(10_000)
