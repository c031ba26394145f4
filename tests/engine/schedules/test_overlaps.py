"""A tick that comes while an earlier one still runs does what its schedule says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tenuto.app import Tenuto
from tests.engine.schedules.clockwork import Clockwork, at, minutes


def statuses(world: Clockwork) -> list[str]:
    return [each.status.value for each in world.engine.instances]


def test_skip_passes_over_ticks_while_one_runs() -> None:
    """While an earlier instance of its schedule runs, `allow` starts a tick beside it, `skip`
    passes it over, `queue` starts it when that has ended, and `cancel-running` cancels that one
    and starts it.
    """
    with Clockwork(takes="PT12M") as world:
        world.save(overlap="skip")
        world.skip(minutes=31)
        assert world.started() == [5, 20]
        skipped = world.ticks("skipped")
        assert minutes(skipped) == [10, 15, 25, 30]
        assert skipped[0].reason is not None
        assert "of an earlier tick is still running" in skipped[0].reason
        assert skipped[0].reason.startswith(str(world.ticks("started")[0].instance_id))


def test_allow_starts_every_tick() -> None:
    """While an earlier instance of its schedule runs, `allow` starts a tick beside it, `skip`
    passes it over, `queue` starts it when that has ended, and `cancel-running` cancels that one
    and starts it.
    """
    with Clockwork(takes="PT12M") as world:
        world.save(overlap="allow")
        world.skip(minutes=16)
        assert world.started() == [5, 10, 15]
        assert statuses(world) == ["RUNNING", "RUNNING", "RUNNING"]


def test_queue_starts_each_tick_at_once_when_the_one_before_has_ended() -> None:
    """While an earlier instance of its schedule runs, `allow` starts a tick beside it, `skip`
    passes it over, `queue` starts it when that has ended, and `cancel-running` cancels that one
    and starts it.
    """
    with Clockwork(takes="PT12M") as world:
        world.save(overlap="queue")
        world.skip(minutes=16)
        assert world.started() == [5]
        assert minutes(world.ticks("queued")) == [10, 15]
        world.skip(hours=1)
        started = world.ticks("started")
        assert minutes(started)[:4] == [5, 10, 15, 20]
        began = [each.recorded_at for each in started]
        assert began[1] - began[0] == timedelta(minutes=12), "at once"
        assert began[2] - began[1] == timedelta(minutes=12)
        running = [each for each in world.engine.instances if each.status.value == "RUNNING"]
        assert len(running) == 1


def test_an_instance_says_which_schedule_started_it_and_how_many_ticks_wait_for_it() -> None:
    """`explain` has the cause `schedule` for an instance that a tick started, with the schedule,
    the nominal time, and how many later ticks wait for its end.
    """
    with Clockwork(takes="PT12M") as world:
        world.save(overlap="queue")
        world.skip(minutes=16)
        [id] = [each.instance_id for each in world.ticks("started")]
        assert id is not None

        async def explained(app: Tenuto) -> Any:  # noqa: ANN401
            return await (await app.instance(id)).explain()

        cause = world.ask(explained)["causes"][-1]
        nominal = "2026-01-01T00:05:00.000Z"
        assert cause["kind"] == "schedule"
        assert cause["message"].endswith("; 2 later ticks wait for its end")
        assert cause["details"] == {"scheduleId": "s", "nominal": nominal, "queued": 2}


def test_a_queue_is_emptied_when_the_schedule_has_ended() -> None:
    with Clockwork(takes="PT12M") as world:
        world.save(overlap="queue", endDate="2026-01-01T00:15:00Z")
        world.skip(minutes=20)
        assert world.row().status == "active", "some of it waits"
        world.skip(hours=1)
        assert world.started() == [5, 10, 15]
        assert world.row().status == "completed"


def test_a_queue_survives_a_crash() -> None:
    with Clockwork(takes="PT12M") as world:
        world.save(overlap="queue", endDate="2026-01-01T00:15:00Z")
        world.skip(minutes=16)
        world.down_for(minutes=1)
        world.skip(hours=2)
        assert world.started() == [5, 10, 15]
        assert len(world.engine.instances) == 3


def test_cancel_running_cancels_and_starts_in_one_step() -> None:
    """While an earlier instance of its schedule runs, `allow` starts a tick beside it, `skip`
    passes it over, `queue` starts it when that has ended, and `cancel-running` cancels that one
    and starts it.
    """
    with Clockwork(takes="PT12M") as world:
        world.save(overlap="cancel-running")
        world.skip(minutes=11)
        assert world.started() == [5, 10]
        assert statuses(world) == ["CANCELLED", "RUNNING"]
        first = world.engine.instances[0]
        held = world.ask(lambda app: app.engine.state_of(first.id))
        assert held.state.cancellation is not None
        assert held.state.cancellation.requested_by == "schedule:s"
        world.skip(minutes=20)
        assert statuses(world)[-1] == "RUNNING"
        assert set(statuses(world)[:-1]) == {"CANCELLED"}


def test_what_ended_in_another_life_counts_as_ended() -> None:
    with Clockwork(takes="PT3M") as world:
        world.save(overlap="skip")
        world.skip(minutes=8)
        # The instance ends, and the process dies before its tick is closed.
        world.engine.lives.kill()
        world.engine.recover()
        world.skip(minutes=10)
        assert world.started() == [5, 10, 15]
        assert world.ticks("skipped") == []


def test_an_instance_that_was_erased_counts_as_ended() -> None:
    with Clockwork(takes="PT12M") as world:
        world.save(overlap="skip")
        world.skip(minutes=11)
        first = world.engine.instances[0]
        first.cancel()
        world.skip(seconds=1)
        erased = world.ask(lambda app: app.engine.store.instances.erase("default", [first.id]))
        assert erased == [first.id]
        world.skip(minutes=5)
        assert minutes(world.ticks("started")) == [5, 15]


def test_a_changed_policy_counts_for_ticks_that_wait() -> None:
    with Clockwork(takes="PT12M") as world:
        world.save(overlap="queue")
        world.skip(minutes=16)
        world.save(overlap="skip")
        world.skip(minutes=20)
        started = minutes(world.ticks("started"))
        assert started == [5, 10, 15]
        assert minutes(world.ticks("queued")) == []
        assert world.row().next_tick == at("00:40")
