"""Workers are recorded beside their claims and heartbeats, rarely, and bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from tenuto.executions.worker_recorder import MOST_TASKS_BYTES, WorkerRecorder
from tenuto.model.errors import StoreUnavailable
from tenuto.store.parts.jobs import WorkerClaim
from tenuto.store.parts.workers import Sighting, WorkerRow
from tests.executions.stage import Stage


class Kept:
    """The part of a store that keeps workers, as far as the recorder uses it."""

    def __init__(self) -> None:
        self.writes: list[list[Sighting]] = []
        self.is_away = False

    async def saw(self, sightings: Sequence[Sighting], now: datetime) -> None:
        self.writes.append(list(sightings))
        if self.is_away:
            raise StoreUnavailable("away")


def recorder_of(stage: Stage) -> tuple[WorkerRecorder, Kept]:
    kept = Kept()
    store: Any = SimpleNamespace(workers=kept)
    return WorkerRecorder(store, stage.clock, stage.loop.create_task), kept


def claim(worker_id: str, *task_ids: str) -> WorkerClaim:
    return WorkerClaim("default", worker_id, task_ids or None, 1, timedelta(seconds=30))


def test_a_busy_worker_is_written_once_in_ten_seconds() -> None:
    async def story(stage: Stage) -> None:
        recorder, kept = recorder_of(stage)
        for _ in range(250):
            recorder.claimed(claim("w", "pack"))
            recorder.beat("default", "w")
            await stage.clock.sleep(0.1)
        assert len(kept.writes) == 3
        await stage.clock.sleep(20)
        assert len(kept.writes) == 4
        # The last sighting is as old as it waited.
        assert 0 < kept.writes[-1][0].age <= 10_000
        assert kept.writes[-1][0].task_ids == ("pack",)

    Stage().play(story)


def test_workers_that_are_seen_together_are_one_write() -> None:
    async def story(stage: Stage) -> None:
        recorder, kept = recorder_of(stage)
        recorder.claimed(claim("w1", "ship", "pack"))
        recorder.claimed(claim("w2"))
        recorder.beat("other", "w1")
        await stage.clock.sleep(1)
        [write] = kept.writes
        assert [(each.tenant, each.worker_id, each.is_claim) for each in write] == [
            ("default", "w1", True),
            ("default", "w2", True),
            ("other", "w1", False),
        ]
        assert [each.task_ids for each in write] == [("pack", "ship"), None, None]

    Stage().play(story)


def test_of_many_long_task_ids_the_rest_is_counted() -> None:
    async def story(stage: Stage) -> None:
        recorder, kept = recorder_of(stage)
        recorder.claimed(claim("w", *(f"{number:03}" + "x" * 197 for number in range(100))))
        await stage.clock.sleep(1)
        [[seen]] = kept.writes
        assert seen.task_ids is not None
        assert (len(seen.task_ids), seen.left_out) == (40, 60)
        assert sum(map(len, seen.task_ids)) <= MOST_TASKS_BYTES

    Stage().play(story)


def test_a_store_that_is_away_costs_no_claim_and_is_tried_again() -> None:
    async def story(stage: Stage) -> None:
        recorder, kept = recorder_of(stage)
        kept.is_away = True
        recorder.claimed(claim("w"))
        await stage.clock.sleep(1)
        kept.is_away = False
        recorder.claimed(claim("w"))
        await stage.clock.sleep(20)
        assert len(kept.writes) == 2

    Stage().play(story)


def test_a_worker_that_waits_or_only_sends_heartbeats_stays_connected() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()

        async def workers() -> list[WorkerRow]:
            return await engine.store.workers.page("default", stage.clock.now())

        minute = timedelta(minutes=1)
        waiting = asyncio.create_task(broker.claim("default", "w1", ["ship"], wait=minute))
        await stage.clock.sleep(50)
        [found] = await workers()
        assert (found.worker_id, found.task_ids, found.is_connected) == ("w1", ("ship",), True)
        assert stage.clock.now() - found.last_seen < timedelta(seconds=30)
        await stage.started(engine)
        [task] = await waiting
        for _ in range(10):
            await stage.clock.sleep(20)
            await broker.heartbeat("default", task.execution_id, task.lease_token)
        await stage.clock.sleep(15)
        [busy] = await workers()
        assert (busy.is_connected, busy.first_seen) == (True, found.first_seen)
        await stage.clock.sleep(300)
        [gone] = await workers()
        assert not gone.is_connected
        await engine.close()

    Stage().play(story)
