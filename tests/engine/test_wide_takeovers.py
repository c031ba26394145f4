"""An instance with very many attempts: it is taken over in parts, and told of at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tenuto import Tenuto
from tenuto.engine.bounds import Bounds
from tenuto.engine.settings import Settings
from tenuto.engine.turns.draft import Draft
from tenuto.logs.instance_lines import log_instance
from tenuto.metrics.steps import StepCounts
from tenuto.model.errors import TaskError, TenutoError
from tenuto.model.json import Object
from tenuto.model.log import LogRow
from tenuto.model.policy import RetryPolicy
from tenuto.store.memory import MemoryDisk, MemoryStore

WIDTH = 300
AT_ONCE = 20
LOOP: Object = {
    "id": "wide",
    "steps": [
        {
            "stepId": "all",
            "type": "LOOP",
            "source": "{{ctx.input}}",
            "mode": "parallel",
            "concurrency": WIDTH,
            "transitions": {"loop": "one"},
        },
        {"stepId": "one", "type": "TASK", "taskId": "work", "input": {}},
    ],
}


@pytest.mark.asyncio
@pytest.mark.parametrize("is_clean", [True, False])
async def test_a_turn_takes_over_no_more_attempts_than_another_decides_on(
    *, is_clean: bool
) -> None:
    disk = MemoryDisk()
    settings = Settings(bounds=Bounds(decision_entries=AT_ONCE), stop_grace=0)
    gone = Tenuto(MemoryStore(disk), settings=settings)
    heir = Tenuto(MemoryStore(disk), settings=settings)
    begun: list[int] = []
    all_begun = asyncio.Event()
    drafts: list[Draft] = []

    @gone.task(name="work")
    async def stays() -> None:
        begun.append(1)
        if len(begun) == WIDTH:
            all_begun.set()
        await asyncio.Event().wait()

    @heir.task
    async def work() -> str:
        return "done"

    await gone.open()
    await gone.deploy(LOOP)
    instance = await gone.start("wide", list(range(WIDTH)))
    await asyncio.wait_for(all_begun.wait(), 30)
    await gone.engine._end(clean=is_clean)
    heir.engine.listen(drafts.append)
    async with heir:
        found = await heir.instance(instance.id)
        await found.result(timeout=30)
        history = await found.history()
    failed = [each for each in history if each["eventType"] == "NODE_FAILED"]
    assert len(failed) == WIDTH, "each was lost once, and is tried again"
    assert len(drafts[0].rows) <= AT_ONCE + 2


class Counted(list[LogRow]):
    """Rows, and how often somebody has gone through them."""

    times = 0

    def __iter__(self) -> Iterator[LogRow]:
        self.times += 1
        return super().__iter__()


@pytest.mark.asyncio
async def test_what_is_told_of_a_turn_takes_no_longer_for_each_of_its_many_rows() -> None:
    times: list[int] = []
    failing = Tenuto(settings=Settings(retry=RetryPolicy(max_attempts=1)))

    @failing.task
    async def work() -> None:
        raise TaskError("NOT_TODAY")

    def hear(draft: Draft) -> None:
        draft.rows = rows = Counted(draft.rows)
        StepCounts().heard(draft)
        log_instance(draft)
        times.append(rows.times)

    failing.engine.listen(hear)
    async with failing:
        await failing.deploy(LOOP)
        instance = await failing.start("wide", list(range(WIDTH)))
        with pytest.raises(TenutoError, match="NOT_TODAY"):
            await instance.result(timeout=30)
    assert max(times) <= 3
