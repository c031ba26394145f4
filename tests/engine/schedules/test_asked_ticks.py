"""Ticks that a user asks for: now, or of nominal times that were missed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any

import pytest

from tenuto.engine.bounds import Bounds
from tenuto.engine.schedules.lookup import CountedTimes
from tenuto.engine.schedules.schedules import Schedules
from tenuto.engine.settings import Settings
from tenuto.model.errors import InvalidInput, NotFound
from tests.engine.schedules.clockwork import Clockwork, at, minutes

NOW = at("00:02") + timedelta(milliseconds=1)
"""No whole second: no expression names it."""


def test_a_trigger_starts_a_tick_of_its_own() -> None:
    with Clockwork() as world:
        world.save(input={"at": "{{schedule.nominal}}"})
        world.skip(minutes=2)
        tick = world.of(lambda schedules: schedules.trigger("default", "s", by="ada"))
        assert (tick.outcome, tick.mark, tick.nominal) == ("started", "manual", NOW)
        world.skip(minutes=4)
        assert len(world.engine.instances) == 2
        assert [each.mark for each in world.ticks("started")] == ["manual", ""]
        assert world.inputs[0] == {"at": "2026-01-01T00:02:00.001Z"}


def test_a_nominal_time_is_started_once_by_whomever() -> None:
    with Clockwork() as world:
        world.save(catchUp={"mode": "none"})
        world.down_for(minutes=22)
        assert world.started() == []
        asked = at("00:15")
        first = world.of(lambda schedules: schedules.backfill_tick("default", "s", asked))
        again = world.of(lambda schedules: schedules.backfill_tick("default", "s", asked))
        third = world.of(lambda schedules: schedules.trigger("default", "s", at=asked))
        assert first.instance_id == again.instance_id == third.instance_id
        world.skip(seconds=1)
        assert len(world.engine.instances) == 1
        assert sum(each.count for each in world.ticks("missed")) == 4, "they are still listed"


def test_a_tick_that_was_asked_for_early_is_not_started_again() -> None:
    with Clockwork() as world:
        world.save()
        tick = world.of(lambda schedules: schedules.trigger("default", "s", at=at("00:05")))
        world.skip(minutes=6)
        assert [each.id for each in world.engine.instances] == [tick.instance_id]
        assert world.started() == [5]


def test_nominal_times_of_a_range_are_listed_for_a_backfill() -> None:
    with Clockwork() as world:
        world.save()
        found = world.of(
            lambda schedules: schedules.nominal_times("default", "s", at("00:05"), at("00:20"), 9)
        )
        assert found == [at("00:05"), at("00:10"), at("00:15"), at("00:20")]


def test_a_count_lets_others_go_on_after_each_part_and_ends_at_its_bound() -> None:
    with Clockwork() as world:
        world.save(cron="* * * * *")
        rounds = 0

        async def counted(schedules: Schedules, years: int, most: int) -> CountedTimes:
            async def others() -> None:
                nonlocal rounds
                while True:
                    await asyncio.sleep(0)
                    rounds += 1

            beside = asyncio.ensure_future(others())
            end = at("00:00")
            start = end.replace(year=end.year - years)
            try:
                return await schedules.count_times("default", "s", start, end, most)
            finally:
                beside.cancel()

        every_hour = world.save(cron="0 * * * *")
        assert every_hour.revision == 2
        found = world.of(lambda schedules: counted(schedules, 20, 1_000_000))
        assert found == (7_305 * 24 + 1, True)
        assert rounds >= 19, "one for each year but the first"
        rounds = 0
        assert world.of(lambda schedules: counted(schedules, 20, 100)) == (100, True)
        assert rounds <= 1, "the first year has as many"


def test_a_backfill_knows_which_of_its_ticks_still_run() -> None:
    with Clockwork(takes="PT3M") as world:
        world.save(catchUp={"mode": "none"})
        world.down_for(minutes=21)
        times = [at("00:05"), at("00:10")]
        world.of(lambda schedules: schedules.backfill_tick("default", "s", times[0]))
        world.skip(minutes=2)
        world.of(lambda schedules: schedules.backfill_tick("default", "s", times[1]))

        def running() -> list[datetime]:
            return sorted(
                world.ask(lambda app: _known(app.engine.schedules.running("default", "s", times)))
            )

        assert running() == times
        world.skip(minutes=2)
        assert running() == times[1:]
        world.skip(minutes=2)
        assert running() == []


async def _known(found: Coroutine[Any, Any, set[datetime]]) -> list[datetime]:
    return sorted(await found)


def test_a_trigger_waits_or_is_skipped_while_something_runs() -> None:
    with Clockwork(takes="PT12M") as world:
        world.save(overlap="queue")
        world.skip(minutes=6)
        queued = world.of(lambda schedules: schedules.trigger("default", "s"))
        assert queued.outcome == "queued"
        world.save(overlap="skip")
        world.skip(seconds=1)
        skipped = world.of(lambda schedules: schedules.trigger("default", "s"))
        assert skipped.outcome == "skipped"
        world.skip(minutes=12)
        assert minutes(world.ticks("started")) == [5, 6]


def test_one_that_cannot_be_started_is_refused_at_once() -> None:
    with Clockwork() as world:
        world.save()
        world.ask(lambda app: app.engine.plans.hide("default", "report"))
        with pytest.raises(InvalidInput) as raised:
            world.of(lambda schedules: schedules.trigger("default", "s"))
        assert raised.value.problems[0].code == "TEN-2730"
        with pytest.raises(NotFound) as missing:
            world.of(lambda schedules: schedules.trigger("default", "t"))
        assert missing.value.code == "TEN-3080"


@pytest.mark.parametrize("overlap", ["skip", "queue", "cancel-running"])
def test_a_tick_that_was_asked_for_early_does_not_meet_itself(overlap: str) -> None:
    with Clockwork(takes="PT30M") as world:
        world.save(overlap=overlap)
        tick = world.of(lambda schedules: schedules.trigger("default", "s", at=at("00:05")))
        world.skip(minutes=6)
        [instance] = world.engine.instances
        assert (instance.id, instance.status.value) == (tick.instance_id, "RUNNING")
        [only] = world.ticks()
        assert (only.outcome, only.instance_id) == ("started", tick.instance_id)


def test_a_tick_that_was_asked_for_early_and_has_ended_cancels_nothing() -> None:
    with Clockwork(takes="PT2M") as world:
        world.save(overlap="cancel-running")
        world.of(lambda schedules: schedules.trigger("default", "s", at=at("00:05")))
        world.skip(minutes=4)
        world.of(lambda schedules: schedules.trigger("default", "s"))
        world.skip(minutes=4)
        assert [each.status.value for each in world.engine.instances] == ["COMPLETED"] * 2


def test_ticks_that_wait_are_started_after_the_end_of_a_schedule() -> None:
    with Clockwork(takes="PT1M") as world:
        world.save(overlap="queue", catchUp={"mode": "none"}, endDate="2026-01-01T01:00:00Z")
        world.down_for(hours=2)
        assert world.row().status == "completed"

        async def asked(schedules: Schedules) -> list[str]:
            return [
                (await schedules.backfill_tick("default", "s", at(each), overlap="queue")).outcome
                for each in ("00:05", "00:10", "00:15")
            ]

        assert world.of(asked) == ["started", "queued", "queued"]
        world.skip(minutes=10)
        assert world.started() == [5, 10, 15]
        assert not any(each.is_open for each in world.ticks())
        row = world.row()
        assert (row.status, row.next_at) == ("completed", None)


def test_old_ticks_of_a_schedule_that_is_over_are_forgotten() -> None:
    with Clockwork(settings=Settings(bounds=Bounds(schedule_ticks=5))) as world:
        world.save(overlap="allow", catchUp={"mode": "none"}, endDate="2026-01-01T02:00:00Z")
        world.down_for(hours=3)
        assert world.row().status == "completed"

        async def asked(schedules: Schedules) -> int:
            for number in range(1, 13):
                nominal = at("00:00") + timedelta(minutes=5 * number)
                await schedules.backfill_tick("default", "s", nominal)
            return 12

        assert world.of(asked) == 12
        world.skip(minutes=5)
        assert world.row().next_at is None
        assert len(world.engine.instances) == 12
        assert len(world.ticks()) == 5
