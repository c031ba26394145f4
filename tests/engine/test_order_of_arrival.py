"""Of instances that wait for a slot, the one that was requested first begins first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio

from tenuto import Tenuto
from tenuto.model.json import Object
from tenuto.ports import SystemClock
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio

WORK: Object = {"id": "work", "steps": [{"stepId": "a", "type": "TASK", "taskId": "nothing"}]}


@pytest_asyncio.fixture(params=["sqlite", "postgres"])
async def app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tenuto]:
    is_file = request.param == "sqlite"
    url = f"sqlite:///{tmp_path / 'queue.db'}" if is_file else await fresh_database()
    # No two moments are the same: each look at the clock takes a millisecond.
    looks, begun = count(), datetime.now(UTC)
    clock = SystemClock(wall=lambda: begun + timedelta(milliseconds=next(looks)))
    made = Tenuto(url, clock=clock)
    made.task(name="nothing")(lambda: None)
    async with made:
        await made.deploy(WORK)
        yield made


async def test_starts_at_once_wait_in_the_order_of_their_requests(app: Tenuto) -> None:
    """Whichever lane decides on them first: each has a moment of its own for its turn."""
    await app.limits.set({"globalMaxConcurrent": 0})
    started = await asyncio.gather(*(app.start("work", {"n": n}) for n in range(40)))
    waiting = [each.instance_id for each in (await app.limits.queue()).items]
    assert waiting == [each.id for each in started]
