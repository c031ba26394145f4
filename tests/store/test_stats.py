"""Numbers: counted by definition, status and minute, within a bound."""

from __future__ import annotations

import pytest

from tenuto.model.durations import epoch_ms
from tenuto.model.status import Status
from tenuto.store.parts.jobs import JobKey, JobRow
from tenuto.store.parts.stats import Completed, Tally, TaskJobs, WaitingJobs
from tenuto.store.protocol import Store
from tests.store.situations import NOON, begin, moment, step, turn, update

pytestmark = pytest.mark.asyncio

MINUTE = 60_000
NOON_MINUTE = int(NOON.timestamp()) // 60


async def test_instances_are_counted_by_definition_status_and_minute(store: Store) -> None:
    writes = [
        begin("i1", created_at=moment(0)),
        begin("i2", created_at=moment(1)),
        begin("i3", created_at=moment(2 * MINUTE)),
        begin("i4", created_at=moment(-MINUTE), definition_id="other"),
        begin("old", created_at=moment(-10 * MINUTE)),
        begin("theirs", created_at=moment(0), tenant="other"),
    ]
    await store.turns.commit(turn("t1", *writes))
    ended = update(status=Status.FAILED, completed_at=moment(MINUTE))
    await store.turns.commit(turn("t2", step("i2", 1, update=ended)))
    found = await store.stats.tallies("default", moment(-5 * MINUTE), NOON, 100)
    assert sorted(found) == [
        Tally("order", Status.FAILED, NOON_MINUTE, NOON_MINUTE + 1, 1),
        Tally("order", Status.RUNNING, NOON_MINUTE, 0, 1),
        Tally("order", Status.RUNNING, NOON_MINUTE + 2, 0, 1),
        Tally("other", Status.RUNNING, 0, 0, 1),
    ]
    newest = await store.stats.tallies("default", moment(-5 * MINUTE), NOON, 1)
    assert {each.started_minute for each in newest} == {NOON_MINUTE, NOON_MINUTE + 2}


async def test_completed_instances_say_how_long_they_took(store: Store) -> None:
    writes = [begin(f"i{number}", created_at=moment(number)) for number in range(3)]
    writes.append(begin("theirs", created_at=moment(0), tenant="other"))
    writes.append(begin("old", created_at=moment(-MINUTE)))
    writes.append(begin("tried", created_at=moment(0), definition_id="~test:tried"))
    await store.turns.commit(turn("t1", *writes))
    done = update(status=Status.COMPLETED, completed_at=moment(MINUTE))
    ended = [step(id, 1, update=done) for id in ("i0", "i2", "theirs", "old", "tried")]
    await store.turns.commit(turn("t2", *ended))
    found = await store.stats.durations("default", NOON, 10)
    at = epoch_ms(moment(MINUTE))
    assert found == [Completed(at, MINUTE - 2), Completed(at, MINUTE)]
    assert await store.stats.durations("default", NOON, 1) == found[:1]


async def test_jobs_that_nobody_claimed_are_counted(store: Store) -> None:
    assert await store.stats.waiting_jobs("default", 10) == WaitingJobs(0, None)
    jobs = tuple(
        JobRow(key=JobKey("i1", f"n{number}", "", 1), task_id="t", offered_at=moment(number))
        for number in range(3)
    )
    await store.turns.commit(turn("t1", begin("i1")))
    await store.turns.commit(turn("t2", step("i1", 1, jobs_offered=jobs)))
    assert await store.stats.waiting_jobs("default", 10) == WaitingJobs(3, moment(0))
    assert (await store.stats.waiting_jobs("default", 2)).jobs == 2
    assert (await store.stats.waiting_jobs("other", 10)).jobs == 0
    assert await store.stats.jobs_by_task("default", moment(9), 10) == [
        TaskJobs("t", 3, moment(0), 0)
    ]
    assert await store.stats.jobs_by_task("other", moment(9), 10) == []
