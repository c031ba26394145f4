"""A paused schedule starts nothing; resumed, it goes on with the next tick."""

from __future__ import annotations

from tests.engine.schedules.clockwork import Clockwork, at, minutes


def pause(world: Clockwork, note: str | None = None) -> None:
    world.of(lambda schedules: schedules.pause("default", "s", by="ada", note=note))


def resume(world: Clockwork) -> None:
    world.of(lambda schedules: schedules.resume("default", "s", by="bob"))


def test_ticks_of_a_pause_are_skipped_whatever_the_catch_up_policy() -> None:
    """Ticks of a pause are skipped, whatever `catchUp` says."""
    with Clockwork() as world:
        world.save(overlap="allow", catchUp={"mode": "all"})
        world.skip(minutes=6)
        pause(world, "year end")
        row = world.row()
        assert (row.status, row.note, row.next_tick) == ("paused", "year end", None)
        assert row.changed_by == "ada"
        world.skip(minutes=25)
        assert world.started() == [5]
        resume(world)
        row = world.row()
        assert (row.status, row.note, row.next_tick) == ("active", None, at("00:35"))
        assert row.revision == 3
        [skipped] = world.ticks("skipped")
        assert (skipped.count, skipped.reason) == (5, "paused: year end")
        assert (skipped.nominal, skipped.last) == (at("00:10"), at("00:30"))
        world.skip(minutes=10)
        assert world.started() == [5, 35, 40]


def test_a_pause_within_one_interval_changes_nothing() -> None:
    with Clockwork() as world:
        world.save()
        world.skip(minutes=6)
        pause(world)
        world.skip(minutes=2)
        resume(world)
        world.skip(minutes=3)
        assert world.started() == [5, 10]
        assert world.ticks("skipped") == []


def test_a_pause_over_a_restart_stays_one() -> None:
    with Clockwork() as world:
        world.save(catchUp={"mode": "all"})
        pause(world)
        world.down_for(hours=1)
        assert world.started() == []
        assert world.row().status == "paused"
        resume(world)
        world.skip(minutes=6)
        assert world.started() == [65]


def test_both_may_be_asked_for_again() -> None:
    with Clockwork() as world:
        world.save()
        pause(world, "once")
        pause(world, "twice")
        assert (world.row().note, world.row().revision) == ("once", 2)
        resume(world)
        resume(world)
        assert world.row().revision == 3


def test_what_waits_in_a_queue_waits_until_it_is_resumed() -> None:
    with Clockwork(takes="PT12M") as world:
        world.save(overlap="queue")
        world.skip(minutes=11)
        pause(world)
        world.skip(hours=1)
        assert world.started() == [5]
        assert minutes(world.ticks("queued")) == [10]
        resume(world)
        world.skip(seconds=2)
        assert world.started() == [5, 10]


def test_a_tick_that_is_due_when_the_pause_is_asked_for_is_started() -> None:
    with Clockwork() as world:
        world.save()
        world.engine.lives.kill()
        world.engine.world.passed += 301
        world.engine.recover()
        pause(world)
        assert world.started() == [5]


def test_a_paused_schedule_can_be_triggered_and_saved() -> None:
    with Clockwork() as world:
        world.save()
        pause(world)
        tick = world.of(lambda schedules: schedules.trigger("default", "s"))
        assert (tick.outcome, tick.mark) == ("started", "manual")
        world.save(overlap="allow")
        assert world.row().status == "paused"
        world.skip(hours=1)
        assert len(world.engine.instances) == 1
        resume(world)
        world.skip(minutes=6)
        assert len(world.engine.instances) == 2


def test_a_tick_that_was_started_while_it_was_paused_is_still_known() -> None:
    with Clockwork(takes="PT30M") as world:
        world.save(overlap="skip")
        pause(world)
        world.skip(minutes=6)
        tick = world.of(lambda schedules: schedules.trigger("default", "s", at=at("00:05")))
        assert tick.outcome == "started"
        world.skip(minutes=1)
        resume(world)
        assert world.ticks("skipped") == []
        world.skip(minutes=4)
        assert world.started() == [5]
        assert minutes(world.ticks("skipped")) == [10], "the one of the pause still runs"


def test_those_that_were_not_started_while_it_was_paused_are_counted_alone() -> None:
    with Clockwork() as world:
        world.save()
        pause(world)
        world.skip(minutes=11)
        world.of(lambda schedules: schedules.trigger("default", "s", at=at("00:05")))
        resume(world)
        [skipped] = world.ticks("skipped")
        assert (skipped.nominal, skipped.count, skipped.is_range) == (at("00:10"), 1, False)
        assert world.started() == [5]


def test_ticks_of_a_pause_are_answered_when_the_times_change_meanwhile() -> None:
    with Clockwork() as world:
        world.save()
        pause(world, "year end")
        world.skip(minutes=21)
        world.save(cron="*/7 * * * *")
        [skipped] = world.ticks("skipped")
        assert (skipped.nominal, skipped.last, skipped.count) == (at("00:05"), at("00:20"), 4)
        assert skipped.reason == "paused: year end"
        assert world.row().status == "paused"
        resume(world)
        world.skip(minutes=8)
        assert world.started() == [28]
        assert sum(each.count for each in world.ticks("skipped")) == 4
