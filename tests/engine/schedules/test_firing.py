"""Each tick is started once, at its time; what was late follows the catch-up policy."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from tenuto.engine.bounds import Bounds
from tenuto.engine.schedules import firing
from tenuto.engine.schedules.firing import Firing, Undone
from tenuto.engine.settings import Settings
from tenuto.engine.turns.sharing import Sharing
from tenuto.model.json import Object
from tenuto.store.parts.schedules import Fire, ScheduleKey, ScheduleRow
from tests.engine.schedules.clockwork import FLOW, Clockwork, at, minutes


def test_ticks_are_started_at_their_times_with_their_keys_and_inputs() -> None:
    """The instance of a tick has the idempotency key `schedule:<id>:<nominal moment>`; its
    `ctx.input` is the input, with templates that see `schedule {id, nominal, previous, next}`.
    """
    with Clockwork() as world:
        asked = {"at": "{{schedule.nominal}}", "since": "{{schedule.previous}}"}
        world.save(input=asked)
        world.skip(minutes=16)
        assert world.started() == [5, 10, 15]
        assert world.inputs[1] == {
            "at": "2026-01-01T00:10:00.000Z",
            "since": "2026-01-01T00:05:00.000Z",
        }
        [first, *_] = world.ticks()
        used = world.ask(
            lambda app: app.engine.store.instances.used_key(
                "default", "schedule:s:2026-01-01T00:05:00.000Z"
            )
        )
        assert used is not None
        assert used.instance_id == first.instance_id
        held = world.ask(lambda app: app.engine.state_of(first.instance_id or ""))
        assert held.state.schedule is not None
        assert (held.state.schedule.id, held.state.schedule.nominal) == ("s", at("00:05"))
        row = world.row()
        assert (row.status, row.next_tick, row.last_nominal) == ("active", at("00:20"), at("00:15"))


def test_a_tick_with_jitter_is_late_by_the_same_for_ever() -> None:
    with Clockwork() as world:
        world.save(jitter="PT2M")
        due = world.row().next_at
        assert due is not None
        assert at("00:05") <= due < at("00:07")
        world.skip(minutes=8)
        [tick] = world.ticks()
        assert (tick.nominal, tick.at) == (at("00:05"), due)


CATCH_UPS: list[tuple[str, dict[str, Any], float, list[int], int]] = [
    ("none", {"mode": "none"}, 33, [], 6),
    ("one", {"mode": "one"}, 33, [35], 5),
    ("one, within its window", {"mode": "one", "window": "PT2M"}, 33, [], 6),
    ("all", {"mode": "all"}, 33, [10, 15, 20, 25, 30, 35], 0),
    ("all, within its window", {"mode": "all", "window": "PT12M"}, 33, [30, 35], 4),
    ("none, over half an interval", {"mode": "none"}, 2.5, [], 0),
    ("one, over one tick", {"mode": "one"}, 7, [10], 0),
    ("none, over one tick", {"mode": "none"}, 7, [], 1),
    ("all, over a day", {"mode": "all", "window": "PT10M"}, 1440, [1440, 1445], 286),
]


@pytest.mark.parametrize(
    ("catch_up", "down", "caught_up", "missed"),
    [each[1:] for each in CATCH_UPS],
    ids=[each[0] for each in CATCH_UPS],
)
def test_after_an_outage_the_catch_up_policy_decides(
    catch_up: dict[str, Any], down: float, caught_up: list[int], missed: int
) -> None:
    """A tick that is more than ten seconds late is started as `catchUp` says: `all` starts each
    within the window, `one` the newest of these, `none` none; the others are missed.
    """
    with Clockwork() as world:
        world.save(catchUp=catch_up, overlap="allow")
        world.skip(minutes=6)
        assert world.started() == [5]
        world.down_for(minutes=down)
        assert world.started() == [5, *caught_up]
        assert sum(each.count for each in world.ticks("missed")) == missed
        world.skip(minutes=5)
        on_time = [each for each in world.started() if each not in (5, *caught_up)]
        assert len(on_time) == 1, "it goes on as if nothing had happened"


def test_missed_ticks_are_one_row() -> None:
    with Clockwork() as world:
        world.save(catchUp={"mode": "none"})
        world.skip(minutes=6)
        world.down_for(days=2)
        [missed] = world.ticks("missed")
        assert (missed.count, missed.nominal) == (576, at("00:10"))
        assert missed.last == at("00:05", day=3)


def test_more_than_fit_at_once_are_started_one_after_the_other() -> None:
    with Clockwork() as world:
        world.save(cron="* * * * *", overlap="allow", catchUp={"mode": "all"})
        world.down_for(minutes=250)
        assert world.started() == list(range(1, 251))


def test_a_single_moment_is_started_once_and_the_schedule_is_over() -> None:
    with Clockwork() as world:
        world.save(executeAt="2026-01-01T00:07:00Z")
        world.skip(minutes=6)
        assert world.started() == []
        world.skip(minutes=60)
        assert world.started() == [7]
        row = world.row()
        assert (row.status, row.next_tick) == ("completed", None)
        assert row.next_at is None, "nothing is left to do for it"


def test_a_single_moment_that_has_passed_is_caught_up() -> None:
    with Clockwork() as world:
        world.skip(minutes=10)
        world.save(executeAt="2026-01-01T00:07:00Z")
        world.skip(seconds=1)
        assert world.started() == [7]


def test_a_schedule_with_an_end_is_over_after_its_last_tick() -> None:
    with Clockwork() as world:
        world.save(endDate="2026-01-01T00:12:00Z", startDate="2026-01-01T00:06:00Z")
        world.skip(hours=2)
        assert world.started() == [10]
        assert world.row().status == "completed"


def test_a_clock_that_is_set_back_starts_nothing_twice() -> None:
    """A clock that is set back starts nothing twice and nothing early; one that is set forward is
    an outage.
    """
    with Clockwork() as world:
        world.save(overlap="allow", catchUp={"mode": "all"})
        world.skip(minutes=21)
        world.engine.lives.kill()
        world.set_clock(minutes=-15)
        world.engine.recover()
        world.skip(minutes=30)
        assert world.started() == [5, 10, 15, 20, 25, 30, 35]
        assert len(world.engine.instances) == len(world.ticks("started"))


def test_a_clock_that_is_set_forward_starts_what_was_passed_over_as_after_an_outage() -> None:
    """A clock that is set back starts nothing twice and nothing early; one that is set forward is
    an outage.
    """
    with Clockwork() as world:
        world.save(overlap="allow", catchUp={"mode": "all"})
        world.skip(minutes=6)
        world.set_clock(minutes=30)
        world.skip(minutes=6)
        assert world.started() == [5, 10, 15, 20, 25, 30, 35, 40]


def test_nothing_is_early_when_the_clock_is_set_back() -> None:
    """A clock that is set back starts nothing twice and nothing early; one that is set forward is
    an outage.
    """
    with Clockwork() as world:
        world.save()
        world.set_clock(minutes=-3)
        world.skip(minutes=7)
        assert world.started() == []
        world.skip(minutes=2)
        assert world.started() == [5]


def test_ticks_outside_of_working_time_are_recorded_with_their_reasons() -> None:
    with Clockwork() as world:
        office: Object = {"id": "office", "timezone": "UTC", "week": week_of("09:00-17:00")}
        world.ask(lambda app: app.engine.calendars.save("default", office, by="ada"))
        # 2026-01-01 is a Thursday.
        world.save(cron="0 10 * * *", calendar="office")
        world.skip(days=5)
        skipped = world.ticks("skipped")
        assert minutes(world.ticks("started")) == [600, 600 + 1440, 600 + 4 * 1440]
        assert [each.reason for each in skipped] == [
            "Sat 3 Jan 2026 is not a working day",
            "Sun 4 Jan 2026 is not a working day",
        ]


def test_many_ticks_outside_of_working_time_are_one_row() -> None:
    with Clockwork() as world:
        office: Object = {"id": "office", "timezone": "UTC", "week": week_of("09:00-09:06")}
        world.ask(lambda app: app.engine.calendars.save("default", office, by="ada"))
        world.save(calendar="office")
        world.skip(hours=10)
        assert world.started() == [540, 545]
        [skipped] = world.ticks("skipped")
        assert (skipped.count, skipped.is_range) == (107, True)


def week_of(hours: str) -> Object:
    return {day: [hours] for day in ("mon", "tue", "wed", "thu", "fri")}


def test_ticks_that_nobody_needs_are_forgotten() -> None:
    with Clockwork(settings=Settings(bounds=Bounds(schedule_ticks=30))) as world:
        world.save(cron="* * * * *", overlap="allow")
        world.skip(hours=3)
        assert 30 <= len(world.ticks()) < 100
        assert world.row().last_nominal == at("03:00")


def test_removed_schedules_start_nothing_more() -> None:
    with Clockwork() as world:
        world.save()
        world.skip(minutes=6)
        world.of(lambda schedules: _true(schedules.remove("default", "s")))
        world.skip(hours=1)
        assert len(world.engine.instances) == 1


def test_a_pass_reads_schedules_by_bytes_and_the_others_follow_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passes: list[int] = []
    inner = Firing.advance

    async def noted(self: Firing, rows: Sequence[ScheduleRow], now: datetime) -> Undone:
        passes.append(len(rows))
        return await inner(self, rows, now)

    monkeypatch.setattr(Firing, "advance", noted)
    sizes = [10, 10, 4_000, 900, 10]
    with Clockwork(settings=Settings(bounds=Bounds(schedule_pass_bytes=1_500))) as world:
        for number, size in enumerate(sizes):
            world.save(id=f"s{number}", input={"text": "x" * size})
        world.skip(minutes=4)
        passes.clear()
        world.skip(minutes=2)
        assert max(passes) < len(sizes)
        assert [world.started(id=f"s{number}") for number in range(5)] == [[5]] * 5
        assert {each.recorded_at for n in range(5) for each in world.ticks(id=f"s{n}")} == {
            at("00:05")
        }


def test_schedules_of_a_workflow_that_comes_and_goes_are_read_by_bytes() -> None:
    with Clockwork(settings=Settings(bounds=Bounds(schedule_pass_bytes=1_500))) as world:
        for number in range(5):
            world.save(id=f"s{number}", input={"text": "x" * 1_000})
        stopped = world.of(lambda schedules: schedules.removed_workflow("default", "report"))
        assert stopped == 5
        assert {world.row(f"s{number}").status for number in range(5)} == {"error"}
        world.engine.deploy(FLOW | {"name": "again"})
        world.skip(minutes=6)
        assert [world.started(id=f"s{number}") for number in range(5)] == [[5]] * 5


async def _true(work: Any) -> bool:  # noqa: ANN401
    await work
    return True


def test_a_pass_over_many_schedules_lets_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may have a costly input: after each part of a pass there is a rest beside others."""
    rested: list[str | None] = []
    inner = Sharing.rest_after

    def noted(self: Sharing, seconds: float, tenant: str | None = None, *more: float) -> float:
        rested.append(tenant)
        return inner(self, seconds, tenant, *more, is_in_loop=True)

    monkeypatch.setattr(firing, "_PART_SECONDS", 0.0)
    with Clockwork() as world:
        for number in range(5):
            world.save(f"s{number}")
        monkeypatch.setattr(
            Sharing,
            "rest_after",
            lambda self, seconds, tenant=None, longest=0.1, *, is_in_loop=False: (
                noted(self, seconds, tenant, longest) if is_in_loop else 0.0
            ),
        )
        world.skip(minutes=6)
        assert rested.count("default") >= 5
        assert [world.started(f"s{number}") for number in range(5)] == [[5]] * 5


def test_a_pass_over_several_tenants_does_not_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ticks of one tenant would wait for the rests of another."""
    rested: list[str | None] = []

    def noted(
        self: Sharing,
        seconds: float,
        tenant: str | None = None,
        longest: float = 0.1,
        *,
        is_in_loop: bool = False,
    ) -> float:
        rested.append(tenant)
        return 0.0

    monkeypatch.setattr(firing, "_PART_SECONDS", 0.0)
    with Clockwork() as world:
        rows = [world.save(f"s{number}") for number in range(4)]
        mixed = [replace(row, tenant="other") if row.id == "s3" else row for row in rows]
        monkeypatch.setattr(Sharing, "rest_after", noted)
        world.of(lambda schedules: schedules.firing.advance(mixed, at("00:01")))
        assert rested == []


def test_a_tick_that_is_decided_does_not_wait_for_the_end_of_its_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Decisions about costly schedules of others may follow in the same pass."""
    written: list[int] = []
    fire = Firing.fire

    async def noted(self: Firing, fires: Sequence[Fire]) -> set[ScheduleKey]:
        written.append(len(fires))
        return await fire(self, fires)

    monkeypatch.setattr(Firing, "fire", noted)
    with Clockwork() as world:
        rows = [world.save(f"s{number}") for number in range(4)]
        world.of(lambda schedules: schedules.firing.advance(rows, at("00:01")))
        assert written == [4]
        monkeypatch.setattr(firing, "_WRITTEN_AFTER", 0.0)
        rows = [world.row(f"s{number}") for number in range(4)]
        written.clear()
        world.of(lambda schedules: schedules.firing.advance(rows, at("00:01")))
        assert written == [1, 1, 1, 1, 0]
