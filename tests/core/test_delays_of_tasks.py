"""A task that asks for a delay: its result is durable at once, and what follows comes later."""

from __future__ import annotations

from datetime import timedelta

from tenuto.core import snapshot
from tenuto.model.entries import HeldResult, TimerSet
from tenuto.model.inputs import TimerKind
from tenuto.model.json import Object
from tenuto.model.log import from_row, to_row
from tenuto.model.status import Status
from tests.core.drawing import draw, task
from tests.core.play import BEGIN, play

MINUTE = 60_000


def test_what_follows_a_task_is_dispatched_after_the_delay_that_it_asked_for() -> None:
    """A task may answer with `delay` (ISO or ms; Python `Result(output, delay=…)`, seed 002's
    `queueDelay`): what follows is dispatched so much later, durably.
    """
    run = play(draw("a>b", a=task(outputVariable="v"))).start().succeed("a", 7, delay=MINUTE)
    assert run.running == []
    assert run.step("a") == "WAITING"
    assert run.timer(TimerKind.DELAY, "a") == BEGIN + timedelta(minutes=1)
    assert "v" not in run.ctx
    run.later(minutes=1).fire()
    assert run.running == ["b"]
    assert (run.step("a"), run.ctx["v"]) == ("COMPLETED", 7)
    assert run.succeed("b").status is Status.COMPLETED


def test_an_instance_does_not_end_before_the_delay_of_its_last_task() -> None:
    run = play(draw("a")).start().succeed("a", 7, delay=MINUTE)
    assert not run.status.is_final
    assert run.later(minutes=1).fire().status is Status.COMPLETED


def test_a_handle_and_a_delay_go_together() -> None:
    document = draw("a:late>b a>c", a=task(handles=["late"]))
    run = play(document).start().succeed("a", handle="late", delay=1).later(seconds=1).fire()
    assert run.running == ["b"]


def test_a_task_that_was_cancelled_in_its_delay_has_completed_and_is_undone() -> None:
    """Its node completes when the delay is over; one that is cancelled before that has completed,
    and is undone.
    """
    undo: Object = {"stepId": "u", "compensationFor": "a", "type": "TASK", "taskId": "undo"}
    document: Object = {**draw("a>b"), "compensationSteps": [undo]}
    run = play(document).start().succeed("a", 7, delay=MINUTE).cancel()
    assert run.step("a") == "COMPLETED"
    assert run.running == ["u"]


def test_a_retry_goes_on_behind_a_task_whose_delay_the_failure_cut_short() -> None:
    run = play(draw("a>b x")).start().succeed("a", 7, delay=MINUTE)
    run.fail("x", retryable=False).settle()
    assert (run.status, run.step("a")) == (Status.FAILED, "COMPLETED")
    run.retry()
    assert sorted(run.running) == ["b", "x"]


def test_the_first_report_counts_while_its_result_is_held() -> None:
    run = play(draw("a>b")).start().succeed("a", 7, delay=MINUTE)
    with run.refusing("TEN-3003"):
        run.succeed("a", 8, attempt=1)
    assert run.later(minutes=1).fire().view["steps"]["a"]["output"] == 7


def test_a_held_result_is_in_the_log_and_in_snapshots_that_older_programs_do_not_read() -> None:
    entry = TimerSet(at=BEGIN, node="a", due=BEGIN, held=HeldResult(output=7, handle="late"))
    row = to_row(1, entry)
    assert from_row(row) == entry
    assert b'"$shape":2' in (row.payload or b"")
    plain = to_row(1, TimerSet(at=BEGIN, node="a", due=BEGIN))
    assert b"$shape" not in (plain.payload or b"")
    run = play(draw("a>b")).start()
    assert b'"shape":4' in snapshot.encode(run.state)
    run.succeed("a", 7, delay=MINUTE)
    assert b'"shape":5' in snapshot.encode(run.state)


def test_equal_results_that_are_held_give_equal_snapshots() -> None:
    # As in a report from outside: equal, and not the same object.
    written = b"default".decode()
    runs = [
        play(draw("a>b")).start().succeed("a", 7, handle=handle, delay=MINUTE)
        for handle in ("default", written)
    ]
    assert snapshot.encode(runs[0].state) == snapshot.encode(runs[1].state)
