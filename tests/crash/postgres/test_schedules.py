"""Two real processes fire the same schedules, and are killed in turn: every tick once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from tests.crash.postgres.crew import Crew, crew
from tests.crash.postgres.worker import Orders
from tests.kit import soak_figures
from tests.kit.patience import until
from tests.kit.postgres_database import connected, empty_database

A_SECOND = timedelta(seconds=1)


@pytest.mark.slow
@pytest.mark.asyncio
async def test_every_tick_is_started_once_however_processes_are_killed(tmp_path: Path) -> None:
    started = await _kill_in_turn(tmp_path, schedules=10, kills=2, chance=random.Random(3))
    assert started > 30, "vacuous: hardly anything was due"


@pytest.mark.soak
@pytest.mark.asyncio
async def test_every_tick_is_started_once_for_minutes(tmp_path: Path, seeds: Iterator[int]) -> None:
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        chance = random.Random(seed)
        started = await _kill_in_turn(folder, schedules=100, kills=20, chance=chance)
        soak_figures.add("PostgreSQL", kills=20, ticks=started)


async def _kill_in_turn(folder: Path, *, schedules: int, kills: int, chance: random.Random) -> int:
    """Returns how many ticks were started; each of every second, each once."""
    url = await empty_database("crash_schedules")
    orders = Orders(url=url, folder=str(folder), beat_every=0.3, dead_after=1.5, mail_every=0.3)
    async with crew(orders, 2, chance=chance) as members:
        for number in range(schedules):
            document = {
                "id": f"s{number}",
                "cron": "* * * * * *",
                "overlap": "allow",
                "catchUp": {"mode": "all"},
                "target": {"workflowId": "brief"},
            }
            await members.insist("schedule", document=document)
        for kill in range(1, kills + 1):
            await until(partial(_has_started, members, kill * schedules))
            await members.replace(members.members[0])
        await until(partial(_has_started, members, (kills + 2) * schedules))
        for number in range(schedules):
            await members.insist("pause-schedule", id=f"s{number}")
        await members.at_rest()
        await members.stop_all()
    return await _judged(url, schedules)


async def _has_started(members: Crew, count: int) -> bool:
    async with connected(members.orders.url) as connection:
        [[found]] = await connection.fetch(
            "SELECT count(*) FROM tenuto.schedule_ticks WHERE outcome = 'started'"
        )
    return bool(found >= count)


async def _judged(url: str, schedules: int) -> int:
    async with connected(url) as connection:
        ticks = await connection.fetch(
            "SELECT schedule_id, nominal, outcome, instance_id FROM tenuto.schedule_ticks"
        )
        instances = await connection.fetch("SELECT id, status FROM tenuto.workflow_instances")
        keys = await connection.fetch(
            "SELECT key, instance_id FROM tenuto.idempotency_keys WHERE key LIKE 'schedule:%'"
        )
    assert {outcome for _, _, outcome, _ in ticks} == {"started"}
    recorded = {_key(schedule, nominal): instance for schedule, nominal, _, instance in ticks}
    assert len(recorded) == len(ticks)
    assert recorded == {key: instance for key, instance in keys}  # noqa: C416 - rows, not tuples
    assert sorted(recorded.values()) == sorted(id for id, _ in instances), "one each"
    assert {status for _, status in instances} == {"COMPLETED"}
    for number in range(schedules):
        times = sorted(_moment(nominal) for id, nominal, _, _ in ticks if id == f"s{number}")
        gaps = {later - earlier for earlier, later in pairwise(times)}
        assert gaps == {A_SECOND}, f"s{number} left some out"
    return len(ticks)


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _key(schedule_id: str, nominal: int) -> str:
    moment = _moment(nominal).replace(tzinfo=None).isoformat(timespec="milliseconds")
    return f"schedule:{schedule_id}:{moment}Z"
