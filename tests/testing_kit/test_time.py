"""Time passes when the test says so, and everything that is due happens in order."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto.model.durations import iso
from tenuto.testing import Engine
from tests.testing_kit.shop import APPROVED, ORDER, Json, a_delay, a_task, charge, in_a_row


def test_no_time_passes_by_itself(engine: Engine) -> None:
    before = engine.now
    run = engine.start(APPROVED, ORDER)
    assert (run.path, run.waiting_for) == (["reserve", "charge"], ["approval.given"])
    assert engine.now == before


def test_three_days_pass_at_once(engine: Engine) -> None:
    run = engine.start(APPROVED, ORDER).until(waiting_for="approval.given")
    before = engine.now
    engine.skip(days=2, hours=23)
    assert run.status == "WAITING_FOR_EVENT"
    engine.skip("PT1H")
    assert engine.now - before == timedelta(days=3)
    assert run.path == ["reserve", "charge", "approval", "escalate"]
    assert run.status == "COMPLETED"


def test_timers_fire_in_order_and_on_time(engine: Engine) -> None:
    naps = [("late", "PT90M"), ("early", "PT10S"), ("middle", "PT5M"), ("never", "P2D")]
    definition: Json = {
        "id": "naps",
        "steps": [
            a_task("first", transitions={"default": [name for name, _ in naps]}),
            *(a_delay(name, nap) for name, nap in naps),
        ],
    }
    run = engine.start(definition)
    start = engine.now
    engine.skip(hours=2)
    assert run.path == ["first", "early", "middle", "late"]
    fired = [row["at"] for row in run.history if row["eventType"] == "TIMER_FIRED"]
    spans = (timedelta(seconds=10), timedelta(minutes=5), timedelta(minutes=90))
    assert fired == [iso(start + span) for span in spans]


def test_retries_wait_as_their_policy_says(engine: Engine) -> None:
    engine.stub(charge, ConnectionError("down"), ConnectionError("down"), {"paymentId": "p"})
    run = engine.start(in_a_row(a_task("charge", "shop.charge")), ORDER)
    assert len(run.calls(charge)) == 1
    run.finished()
    first, second, third = [call.at for call in run.calls(charge)]
    assert timedelta(seconds=1) <= second - first <= timedelta(seconds=1.25)
    assert timedelta(seconds=1) <= third - second <= timedelta(seconds=1.25)


def test_a_stub_takes_its_time(engine: Engine) -> None:
    engine.stub("shop.ship", "there", takes="PT5M")
    run = engine.start(in_a_row(a_task("ship")))
    assert run.state["currentSteps"] == ["ship"]
    engine.skip(minutes=4, seconds=59)
    assert run.status == "RUNNING"
    engine.skip(seconds=1)
    assert (run.status, run.output) == ("COMPLETED", "there")


def test_a_year_passes_without_a_look_every_second(engine: Engine) -> None:
    engine.start(in_a_row(a_delay("nap", "P366D")))
    before = engine.lives.process.loop.steps
    engine.skip(days=365)
    steps = engine.lives.process.loop.steps - before
    assert steps < 365 * 24 * 10


def test_time_does_not_run_backwards(engine: Engine) -> None:
    with pytest.raises(Exception, match="too short"):
        engine.skip(seconds=-1)
