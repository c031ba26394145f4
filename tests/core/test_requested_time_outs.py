"""A step is timed out on request: once, and with the consequence of its own time-out."""

from __future__ import annotations

import pytest

from tenuto.core.deciding import NOT_THIS_STATUS, STALE
from tenuto.core.time_out import NOT_OPEN
from tenuto.model.entries import NodeFailed, WaitResolved
from tenuto.model.inputs import TaskSucceeded, TimeOutAsked
from tenuto.model.json import Object
from tenuto.model.status import Status
from tests.core.drawing import approval, child, delay, draw, loop, start, task, undoing, wait
from tests.core.play import Run, play


def last_failure(run: Run) -> NodeFailed:
    return [each for each in run.entries if isinstance(each, NodeFailed)][-1]


@pytest.mark.parametrize("node", [wait(), approval()], ids=["wait", "approval"])
def test_an_open_wait_takes_the_handle_timeout(node: Object) -> None:
    """A time-out on request ends an open wait or a running attempt as its own time-out would, once;
    a step that is not open is refused (`TEN-3024`).
    """
    run = play(draw("w:timeout>late", w=node)).start().time_out("w")
    assert (run.running, run.ledger.waits, run.timers) == (["late"], {}, {})
    [resolved] = [each for each in run.entries if isinstance(each, WaitResolved)]
    assert (resolved.outcome, resolved.requested_by) == ("timeout", "ada")
    with run.refusing(NOT_OPEN):
        run.time_out("w")


def test_a_wait_that_nothing_handles_fails_as_by_its_own_time_out() -> None:
    run = play(draw("w", w=wait(eventTimeout={"duration": "P1D"}))).start()
    own = play(draw("w", w=wait(eventTimeout={"duration": "P1D"}))).start().later(days=1).fire()
    assert run.time_out("w").status is own.status is Status.FAILED
    assert last_failure(run).error == last_failure(own).error


def test_a_running_attempt_is_stopped_and_tried_again() -> None:
    run = play(draw("a", a=task(retry={"maxAttempts": 2}))).start().time_out("a")
    failed = last_failure(run)
    assert (failed.error.code, failed.then) == ("TIMEOUT", "retry")
    assert failed.error.details == {"requestedBy": "ada"}
    with run.refusing(STALE):
        run.tell(TaskSucceeded(node="a", attempt=1, output=1))
    with run.refusing(NOT_OPEN):
        run.time_out("a")
    assert run.skip().attempt("a") == 2
    with run.refusing(NOT_OPEN):
        run.time_out("a", attempt=1)
    assert run.time_out("a", attempt=2).status is Status.FAILED


def test_an_attempt_takes_the_error_handle() -> None:
    once: Object = {"maxAttempts": 1}
    run = play(draw("a:error>z", a=task(retry=once))).start().time_out("a")
    assert run.running == ["z"]


@pytest.mark.parametrize(
    "node",
    [delay("P9D"), child(), loop(source="{{[1]}}")],
    ids=["delay", "child", "loop"],
)
def test_whatever_takes_its_time_fails_as_by_its_own_time_out(node: Object) -> None:
    edges = "s>x x:loop>b x:error>z" if node["type"] == "loop" else "s>x x:error>z"
    run = play(draw(edges, s=start(), x=node)).start()
    if node["type"] == "subWorkflow":
        run.resolve("x")
    run.time_out("x")
    assert last_failure(run).error.code == "TIMEOUT"
    assert "z" in run.running


def test_a_step_of_an_iteration_is_named_with_it() -> None:
    document = draw("l:loop>w w:timeout>z", l=loop(source="{{[1, 2]}}", mode="parallel"), w=wait())
    run = play(document).start()
    with run.refusing(NOT_OPEN):
        run.time_out("w")
    assert run.time_out("w[1]").running == ["z[1]"]


def test_a_compensation_is_timed_out() -> None:
    document = undoing(draw("a>b"), a={"retry": {"maxAttempts": 2}})
    run = play(document).start().succeed("a").fail("b").time_out("undo_a")
    with run.refusing(NOT_OPEN):
        run.time_out("undo_a")
    run.skip().time_out("undo_a")
    assert run.state.compensation is not None
    assert run.state.compensation.status == "COMPLETED_WITH_ERRORS"


def test_a_step_that_is_not_open_is_refused_with_what_is_open() -> None:
    run = play(draw("a>b")).start()
    for name, why in (
        ("b", "b is not open: it has not begun; open: a"),
        ("nobody", "nobody is no step of the workflow; open: a"),
    ):
        with run.refusing(NOT_OPEN):
            run.tell(TimeOutAsked(node=name, by="ada"))
        assert run.rejection is not None
        assert run.rejection.message == why


def test_a_step_that_is_being_cancelled_is_not_timed_out() -> None:
    run = play(draw("a")).start().cancel()
    with run.refusing(NOT_OPEN):
        run.time_out("a")
    with run.later(minutes=1).fire().refusing(NOT_THIS_STATUS):
        run.time_out("a")


def test_a_result_that_is_held_back_is_not_timed_out() -> None:
    run = play(draw("a>b")).start().succeed("a", delay=60_000)
    with run.refusing(NOT_OPEN):
        run.time_out("a")


def test_a_paused_instance_times_out_and_waits() -> None:
    run = play(draw("w:timeout>z", w=wait())).start().pause().time_out("w")
    assert (run.status, run.running) == (Status.PAUSED, [])
    assert run.resume().running == ["z"]
