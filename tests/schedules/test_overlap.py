"""What a tick does while instances of earlier ticks are still running."""

from __future__ import annotations

import pytest

from tenuto.schedules import CancelThenStart, Decision, Queue, Skip, Start, at_end, at_tick
from tenuto.schedules.schedule import Overlap

RUNNING = ("i-1", "i-2")


@pytest.mark.parametrize(
    ("overlap", "running", "queued", "decision"),
    [
        ("allow", RUNNING, 0, Start()),
        ("skip", (), 0, Start()),
        ("skip", ("i-1",), 0, Skip("i-1 of an earlier tick is still running")),
        ("skip", RUNNING, 0, Skip("i-1 and 1 more of an earlier tick is still running")),
        ("queue", (), 0, Start()),
        ("queue", ("i-1",), 0, Queue()),
        ("queue", (), 1, Queue()),
        ("queue", ("i-1",), 1_000, Skip("1,000 earlier ticks are waiting already")),
        ("cancel-running", (), 0, Start()),
        ("cancel-running", RUNNING, 0, CancelThenStart(RUNNING)),
    ],
)
def test_each_policy_decides(
    overlap: Overlap, running: tuple[str, ...], queued: int, decision: Decision
) -> None:
    assert at_tick(overlap, running, queued) == decision


def test_the_first_that_waits_is_started_when_none_runs() -> None:
    assert at_end((), 1)
    assert not at_end(("i-1",), 1)
    assert not at_end((), 0)
