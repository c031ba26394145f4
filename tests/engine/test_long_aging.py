"""Limits that an older program has saved: however long their `aging`, the queue goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from tenuto import Tenuto
from tenuto.model.json import Object
from tenuto.store.parts.slot_rows import SERVICE, ConcurrencyRow
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio

WORK: Object = {"id": "work", "steps": [{"stepId": "a", "type": "TASK", "taskId": "nothing"}]}
MOST = (1 << 31) - 1


@pytest_asyncio.fixture(params=["sqlite", "postgres"])
async def app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tenuto]:
    is_file = request.param == "sqlite"
    url = f"sqlite:///{tmp_path / 'queue.db'}" if is_file else await fresh_database()
    made = Tenuto(url)
    made.task(name="nothing")(lambda: None)
    async with made:
        await made.deploy(WORK)
        yield made


def saving(app: Tenuto) -> Callable[[Object], Awaitable[None]]:
    """Saves documents as they are, as a program did that checked less."""
    version = 0

    async def save(document: Object) -> None:
        nonlocal version
        now = app.engine.clock.now()
        text = msgspec.json.encode(document)
        version += 1
        row = ConcurrencyRow(tenant=SERVICE, document=text, version=version, changed_at=now)
        assert await app.engine.store.slots.put_configs([row], {SERVICE: version - 1})
        await app.engine.limits.changed()

    return save


async def test_a_queue_is_put_into_an_order_whose_ranks_no_store_could_keep(app: Tenuto) -> None:
    save = saving(app)
    await save({"globalMaxConcurrent": 0, "queue": {"order": "fifo", "aging": "P60D"}})
    before = [await app.start("work", priority=priority) for priority in (0, MOST)]
    await save({"globalMaxConcurrent": 0, "queue": {"order": "priority", "aging": "P60D"}})
    while await app.engine.admissions.run_once() is not None:
        pass
    since = [await app.start("work", priority=priority) for priority in (-MOST, MOST)]
    waiting = [each.instance_id for each in (await app.limits.queue()).items]
    assert waiting == [each.id for each in (before[1], since[1], before[0], since[0])]
    await app.limits.set({})
    for each in (*before, *since):
        await each.result(timeout=60)
