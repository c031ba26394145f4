"""Tasks that ask for a delay, through an engine whose clock the test moves."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto import Result
from tenuto.testing import Engine
from tenuto.testing.engine import When
from tests.testing_kit.shop import ORDER, Json, a_task

SLOW: Json = {
    "id": "slow",
    "steps": [
        a_task("first", "shop.escalate", transitions={"default": "second"}),
        a_task("second", "shop.ship"),
    ],
}


@pytest.mark.parametrize("delay", ["PT1H", 3_600_000, timedelta(hours=1)])
def test_what_follows_is_dispatched_after_the_delay(
    engine: Engine, delay: timedelta | str | float
) -> None:
    """A task may answer with `delay` (ISO or ms; Python `Result(output, delay=…)`, seed 002's
    `queueDelay`): what follows is dispatched so much later, durably.
    """
    engine.stub("shop.escalate", Result({"n": 1}, delay=delay))
    run = engine.start(SLOW, ORDER)
    engine.skip("PT59M")
    assert (len(engine.calls("shop.escalate")), engine.calls("shop.ship")) == (1, [])
    engine.skip("PT1M")
    assert (run.status, len(engine.calls("shop.escalate"))) == ("COMPLETED", 1)


@pytest.mark.parametrize("when", ["before", "after", "unanswered"])
@pytest.mark.parametrize("write", [1, 2])
def test_a_delay_outlives_a_crash(engine: Engine, write: int, when: When) -> None:
    engine.stub("shop.escalate", Result({"n": 1}, delay="PT1H"))
    engine.crash_once(write, when)
    run = engine.start(SLOW, ORDER)
    engine.recover()
    engine.skip("PT59M")
    assert engine.calls("shop.ship") == []
    engine.skip("PT1H")
    assert run.status == "COMPLETED"


@pytest.mark.parametrize("delay", ["soon", "P1M", -1, float("nan")])
def test_a_delay_that_is_none_fails_the_step(engine: Engine, delay: str | float) -> None:
    engine.stub("shop.escalate", Result(1, delay=delay))
    run = engine.start(SLOW, ORDER)
    assert run.status == "FAILED"
    assert run.error is not None
    assert run.error["code"] == "INVALID_DELAY"
