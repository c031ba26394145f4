"""However a process dies around a write, each tick is started once, and none is left out."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.testing.engine import When
from tests.engine.schedules.clockwork import Clockwork, at, minutes as each_minute
from tests.engine.schedules.test_calendars import office, save
from tests.kit.breadth import breadth

WRITES = range(1, breadth(gate=24, soak=60), breadth(gate=4, soak=1))


@pytest.mark.parametrize("when", ["before", "after", "unanswered"])
@pytest.mark.parametrize("overlap", ["allow", "queue", "cancel-running"])
def test_a_crash_at_any_write_starts_every_tick_once(when: When, overlap: str) -> None:
    """A pair of schedule and nominal time starts at most one instance, whatever crashes and
    however many processes there are.
    """
    for write in WRITES:
        with Clockwork(takes="PT2M") as world:
            world.save(overlap=overlap, cron="* * * * *", catchUp={"mode": "all"})
            world.engine.crash_once(write, when)
            for span in (4.1, 8, 12):
                world.skip(minutes=span)
                if world.engine.crashed is not None:
                    world.engine.recover()
            started = Counter(each.nominal for each in world.ticks("started"))
            assert set(started.values()) == {1}
            instances = [each.id for each in world.engine.instances]
            ticks = [each.instance_id for each in world.ticks("started")]
            assert sorted(instances) == sorted(str(each) for each in ticks), write
            minutes = world.started()
            assert not world.ticks("refused", "missed"), write
            if overlap == "cancel-running":
                # Of those that are late together the newest would cancel the others.
                minutes = sorted((*minutes, *each_minute(world.ticks("skipped"))))
            assert minutes == list(range(1, len(minutes) + 1)), write


@pytest.mark.parametrize("when", ["before", "after", "unanswered"])
def test_a_crash_while_a_calendar_is_saved_leaves_no_schedule_by_an_older_version(
    when: When,
) -> None:
    """No save comes after it that would move the schedules then."""
    bridge = {"date": "2026-01-02", "hours": [], "name": "bridge"}
    for write in (1, 2):
        with Clockwork() as world:
            save(world, office(dates=[bridge]))
            save(world, {"id": "branch", "extends": "office", "dates": []})
            for id, calendar in (("s", "office"), ("of-branch", "branch")):
                world.save(id, calendar=calendar, cron="0 10 * * *")
            world.skip(hours=12)
            assert world.row().next_tick == at("10:00", day=5)
            world.engine.crash_once(write, when)
            with suppress(StoreUnavailable):
                world.engine.lives.ask(
                    lambda app: app.engine.calendars.save("default", office(), by="ada"),
                    is_repeated=False,
                )
            if world.engine.crashed is not None:
                world.engine.recover()
            world.skip(seconds=1)
            stored = world.ask(lambda app: app.engine.calendars.get("default", "office"))
            assert (stored.version == 2) == (write > 1 or when != "before")
            day = 2 if stored.version == 2 else 5
            for id in ("s", "of-branch"):
                assert world.row(id).next_tick == at("10:00", day=day), (write, id)
            world.skip(days=5)
            for id in ("s", "of-branch"):
                started = {each.nominal for each in world.ticks("started", id=id)}
                assert (at("10:00", day=2) in started) == (day == 2), (write, id)
