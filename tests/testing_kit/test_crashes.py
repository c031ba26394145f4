"""The process dies where the test says, and the next one takes over."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto import TenutoError
from tenuto.testing import Engine
from tenuto.testing.engine import When
from tests.testing_kit.shop import APPROVED, ORDER, a_delay, a_task, charge, in_a_row, ship

PATH = ["reserve", "charge", "approval", "ship"]


def through(engine: Engine) -> list[str]:
    """See the order through, over any crash."""
    run = engine.start(APPROVED, ORDER)
    if engine.crashed:
        engine.recover()
    run.until(waiting_for="approval.given")
    engine.publish("approval.given")
    if engine.crashed:
        engine.recover()
    return run.finished().path


def writes_of_a_calm_run() -> int:
    with Engine() as engine:
        assert through(engine) == PATH
        return engine.writes


WRITES = writes_of_a_calm_run()


@pytest.mark.parametrize("when", ["before", "after", "unanswered"])
@pytest.mark.parametrize("write", range(1, WRITES + 1))
def test_a_workflow_outlives_a_crash_at_every_durable_write(
    engine: Engine, write: int, when: When
) -> None:
    engine.crash_once(write, when)
    assert through(engine) == PATH
    assert engine.world.unrest.ahead == []
    assert engine.lives.begun == (1 if when == "unanswered" else 2)


def test_before_a_write_it_is_lost_and_after_it_is_there(engine: Engine) -> None:
    engine.crash_once(1, "before")
    run = engine.start(APPROVED, ORDER)
    assert (engine.crashed, run.exists) == ("crash before write", False)
    engine.recover()
    assert run.path == ["reserve", "charge"]
    other = engine.twin()
    other.crash_once(1, "after")
    run = other.start(APPROVED, ORDER)
    assert (other.crashed, run.exists) == ("crash after write", True)
    assert other.calls() == []


def test_a_crash_in_a_task_is_before_or_after_its_work(engine: Engine) -> None:
    done: list[str] = []
    engine.stub(charge, lambda order: done.append("charged"))
    engine.crash_once(charge, "before")
    engine.start(APPROVED, ORDER)
    assert (engine.crashed, done) == ("before task shop.charge ran", [])
    engine.crash_once(charge, "after")
    engine.recover()
    assert (engine.crashed, done) == ("after task shop.charge ran", ["charged"])
    engine.recover()
    assert done == ["charged", "charged"]
    assert [call.outcome for call in engine.calls(charge)] == ["lost", "lost", "done"]
    assert len({call.key for call in engine.calls(charge)}) == 1


def test_nothing_happens_until_it_is_recovered(engine: Engine) -> None:
    engine.crash_once(charge)
    run = engine.start(APPROVED, ORDER)
    for verb in (run.finished, lambda: engine.publish("x"), lambda: run.until(step="charge")):
        with pytest.raises(TenutoError, match=r"crashed: after task shop\.charge ran") as caught:
            verb()
        assert caught.value.code == "TEN-2202"
    assert run.path == ["reserve"]
    engine.recover()
    assert run.finished().status == "COMPLETED"


def test_what_was_asked_of_the_dead_is_asked_again_once(engine: Engine) -> None:
    run = engine.start(APPROVED, ORDER)
    engine.crash_once(1, "before")
    assert engine.publish("approval.given") is None
    engine.recover()
    assert run.finished().path == PATH


def test_recovering_a_living_engine_kills_it_first(engine: Engine) -> None:
    run = engine.start(APPROVED, ORDER).until(waiting_for="approval.given")
    engine.recover()
    engine.publish("approval.given")
    assert run.finished().path == PATH


def test_time_goes_on_while_the_engine_is_down(engine: Engine) -> None:
    engine.stub(ship, "there", takes="PT1M")
    run = engine.start(in_a_row(a_task("ship"), a_delay("nap", "PT1H")))
    before = engine.now
    engine.crash_once(ship)
    engine.skip(days=1)
    assert engine.crashed
    assert engine.now - before == timedelta(days=1)
    engine.recover()
    assert run.finished().path == ["ship", "nap"]


def test_a_crash_that_never_came_is_told() -> None:
    engine = Engine()
    engine.crash_once(1_000)
    engine.start(APPROVED, ORDER)
    with pytest.raises(TenutoError, match="at durable write 1000 never came") as caught:
        engine.recover()
    assert caught.value.code == "TEN-2204"
    with pytest.raises(TenutoError, match="never came"):
        engine.close()
    other = Engine()
    other.crash_once(ship)
    with pytest.raises(TenutoError, match=r"after shop\.ship never came"):
        other.close()


@pytest.mark.parametrize(
    ("at", "when"), [(0, "after"), (1, "during"), ("shop.charge", "unanswered")]
)
def test_crashes_that_mean_nothing_are_refused(engine: Engine, at: object, when: object) -> None:
    with pytest.raises(TenutoError) as caught:
        engine.crash_once(at, when)  # type: ignore[arg-type]
    assert caught.value.code == "TEN-2206"
