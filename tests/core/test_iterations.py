"""Iterations whose loop ended with its instance: no entry says so, and yet they have an outcome."""

from __future__ import annotations

from tenuto.cli.views.progress import line_of
from tenuto.core.iterations import progress_of, unended
from tenuto.model.ids import NodeKey
from tenuto.model.status import NodeStatus, Status
from tests.core.drawing import draw, loop, task
from tests.core.play import Run, play

FOUR = loop("{{ctx.input.items}}", mode="parallel", concurrency=3)


def failing() -> Run:
    """0 completed, 1 and 3 run, 2 failed."""
    run = play(draw("kids:loop>a", kids=FOUR, a=task())).start({"items": [0, 1, 2, 3]})
    return run.succeed("a[0]").fail("a[2]", "BROKEN", retryable=False)


def statuses(run: Run, name: str, *paths: str) -> list[NodeStatus | None]:
    found = (unended(run.plan, run.state, NodeKey(name, path)) for path in paths)
    return [None if each is None else each.status for each in found]


def test_an_iteration_that_a_failure_left_open_has_its_own_outcome() -> None:
    run = failing()
    paths = ("0", "1", "2", "3")
    stopping, failed = NodeStatus.RUNNING, NodeStatus.FAILED
    assert statuses(run, "kids", *paths) == [None, stopping, failed, stopping]
    run.lose("a[1]").lose("a[3]")
    assert run.status is Status.FAILED
    cancelled = NodeStatus.CANCELLED
    assert statuses(run, "kids", *paths) == [None, cancelled, failed, cancelled]
    found = unended(run.plan, run.state, NodeKey("kids", "2"))
    assert found is not None
    assert found.error is not None
    assert found.error.code == "BROKEN"
    running = NodeStatus.RUNNING
    assert statuses(run.retry(), "kids", *paths) == [None, running, running, running]


def test_an_iteration_around_the_loop_in_which_a_step_failed_has_failed() -> None:
    outer, inner = loop([1, 2], mode="parallel"), loop([1, 2], mode="parallel")
    run = play(draw("o:loop>i i:loop>a", o=outer, i=inner, a=task())).start({})
    run.fail("a[1/0]", "BROKEN", retryable=False)
    for node in list(run.running):
        run.lose(node)
    assert run.status is Status.FAILED
    assert statuses(run, "o", "0", "1") == [NodeStatus.CANCELLED, NodeStatus.FAILED]
    assert statuses(run, "i", "1/0", "1/1") == [NodeStatus.FAILED, NodeStatus.CANCELLED]


def test_a_loop_that_was_cancelled_keeps_its_counts() -> None:
    run = failing().lose("a[1]").lose("a[3]")
    found = progress_of(run.plan, run.state, NodeKey("kids"))
    assert found is not None
    assert (found.started, found.done, found.failed, found.length) == (4, 2, 1, 4)
    line = line_of(run.plan, run.state, "kids", run.now)
    assert line.note == "cancelled  2 of 4 items, 1 failed"
