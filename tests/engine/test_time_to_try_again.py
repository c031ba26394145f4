"""After how long a refused start is to be tried again: by how fast instances get their slots."""

from __future__ import annotations

import pytest

from tenuto import Overloaded
from tenuto.model.json import Object
from tenuto.testing import Engine

SLOW: Object = {
    "id": "slow",
    "steps": [{"stepId": "s", "type": "DELAY", "duration": "PT10S"}],
    "options": {"concurrency": {"limit": 1, "holdWhileWaiting": True}},
}
ALONE: Object = {
    **SLOW,
    "id": "alone",
    "options": {"concurrency": {"limit": 1, "holdWhileWaiting": True, "onFull": "reject"}},
}


def refused(engine: Engine, workflow: str) -> int:
    """After how many seconds a start that is refused is to be tried again."""
    with pytest.raises(Overloaded) as found:
        engine.start(workflow)
    seconds = found.value.retry_after
    assert seconds is not None
    assert f"Try again after {seconds} s, or " in str(found.value)
    return seconds


@pytest.mark.parametrize("idle_hours", [0, 5])
@pytest.mark.parametrize("rounds", [31, 37])
def test_a_full_queue_is_tried_again_once_a_tenth_of_it_has_begun(
    idle_hours: int, rounds: int
) -> None:
    with Engine() as engine:
        engine.lives.ask(lambda app: app.limits.set({"tenantLimits": {"*": 9}, "queue": BOUND}))
        engine.skip(hours=idle_hours)
        engine.deploy(SLOW)
        for _ in range(21):
            engine.start("slow")
        for _ in range(rounds):
            engine.skip(seconds=10)
            engine.start("slow")
        assert 15 <= refused(engine, "slow") <= 25, "one begins every ten seconds, and two are to"


BOUND: Object = {"bound": 20}


@pytest.mark.parametrize("idle_hours", [0, 5])
def test_a_start_that_its_limit_rejects_is_tried_again_once_one_more_has_begun(
    idle_hours: int,
) -> None:
    """Those before it have each taken the slot with their start: no pass has admitted any."""
    with Engine() as engine:
        engine.skip(hours=idle_hours)
        engine.deploy(ALONE)
        for _ in range(20):
            engine.start("alone")
            engine.skip(seconds=10)
        engine.start("alone")
        assert 8 <= refused(engine, "alone") <= 15
        engine.skip(hours=1)
        engine.start("alone")
        assert refused(engine, "alone") > 100, "none has begun for long"
