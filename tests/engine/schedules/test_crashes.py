"""However a process dies around a write, each tick is started once, and none is left out."""

from __future__ import annotations

from collections import Counter

import pytest

from tenuto.testing.engine import When
from tests.engine.schedules.clockwork import Clockwork, minutes as each_minute
from tests.kit.breadth import breadth

WRITES = range(1, breadth(gate=24, soak=60), breadth(gate=4, soak=1))


@pytest.mark.parametrize("when", ["before", "after", "unanswered"])
@pytest.mark.parametrize("overlap", ["allow", "queue", "cancel-running"])
def test_a_crash_at_any_write_starts_every_tick_once(when: When, overlap: str) -> None:
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
