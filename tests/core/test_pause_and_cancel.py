"""What people and the clock ask of a whole instance: pause, resume, cancel, deadline."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto.model.inputs import TimerKind
from tenuto.model.status import Status
from tests.core.drawing import approval, delay, draw, end, start, task, wait
from tests.core.play import BEGIN, Run, play


def test_pause_acts_at_once_and_records_what_comes() -> None:
    """Pause acts at once: running tasks go on and are recorded, events and timers are recorded,
    nothing is dispatched, no end is declared until resume; timeouts, deadline and cancel
    still work.
    """
    document = draw(
        "s>a s>w s>d a>x w>y d>z", s=start(), w=wait(outputVariable="v"), d=delay("PT5S")
    )
    run = play(document).start().pause(reason="a look around")
    assert run.news == ["PAUSE_REQUESTED", "STATUS_CHANGED PAUSED"]
    assert run.succeed("a").news == ["NODE_COMPLETED a#1"]
    assert run.event("paid").news == ["WAIT_RESOLVED w#1 event", "NODE_COMPLETED w#1"]
    assert run.skip().news == ["TIMER_FIRED d#1", "NODE_COMPLETED d#1"]
    assert (run.status, run.running) == (Status.PAUSED, [])
    assert run.resume().news == [
        "RESUME_REQUESTED",
        "NODE_DISPATCHED x#1",
        "NODE_DISPATCHED y#1",
        "NODE_DISPATCHED z#1",
        "STATUS_CHANGED RUNNING",
    ]


def test_no_end_is_declared_while_paused() -> None:
    run = play(draw("a")).start().pause().succeed("a", 1)
    assert run.status is Status.PAUSED
    assert run.resume().news == [
        "RESUME_REQUESTED",
        "STATUS_CHANGED RUNNING",
        "STATUS_CHANGED COMPLETED",
    ]
    failed = play(draw("a")).start().pause().fail("a")
    assert failed.status is Status.PAUSED
    assert failed.resume().news[-1] == "STATUS_CHANGED FAILED"


def test_a_paused_failure_withdraws_what_is_left_when_resumed() -> None:
    run = play(draw("s>a s>b s>w", s=start(), w=wait())).start().pause().fail("a")
    assert (run.status, run.running) == (Status.PAUSED, ["b"])
    assert run.resume().news == [
        "RESUME_REQUESTED",
        "NODE_CANCEL_REQUESTED b#1",
        "NODE_CANCELLED w#1",
        "STATUS_CHANGED RUNNING",
    ]
    assert run.skip().status is Status.FAILED


def test_a_retry_that_is_due_while_paused_waits_for_resume() -> None:
    run = play(draw("a")).start().fail("a", retryable=True).pause().later(seconds=9)
    assert run.fire().news == []
    assert run.timers == {}
    assert run.resume().news == [
        "RESUME_REQUESTED",
        "NODE_DISPATCHED a#2",
        "STATUS_CHANGED RUNNING",
    ]


def test_a_retry_that_is_not_due_yet_is_not_hurried_by_a_pause() -> None:
    run = play(draw("a")).start().fail("a", retryable=True).pause().resume()
    assert run.news == ["RESUME_REQUESTED", "STATUS_CHANGED RUNNING"]
    assert run.skip().news == ["NODE_DISPATCHED a#2"]


@pytest.mark.parametrize("clean", [False, True])
def test_an_attempt_that_is_lost_while_paused_starts_again_when_resumed(clean: bool) -> None:
    run = play(draw("a")).start().pause().lose("a", clean=clean)
    assert run.running == []
    assert run.fire().news == []
    assert run.resume().running == ["a"]
    assert run.succeed("a").status is Status.COMPLETED


def test_failures_while_paused_are_retried_afterwards() -> None:
    run = play(draw("a")).start().pause().fail("a", retryable=True)
    assert run.news == ["NODE_FAILED a#1 OOPS retry", "RETRY_SCHEDULED a#2"]
    assert run.later(seconds=2).resume().running == ["a"]


def test_timeouts_still_work_while_paused() -> None:
    document = draw(
        "s>w s>d w:timeout>x d:error>y",
        s=start(),
        w=wait(eventTimeout={"duration": "PT5S"}),
        d=delay("PT1H", timeout="PT6S"),
    )
    run = play(document).start().pause().later(seconds=6).fire()
    assert run.news == [
        "WAIT_RESOLVED w#1 timeout",
        "NODE_COMPLETED w#1 -> timeout",
        "NODE_FAILED d#1 TIMEOUT route",
        "NODE_COMPLETED d#1 error -> error",
    ]
    assert run.resume().running == ["x", "y"]


def test_deadline_and_cancel_still_work_while_paused() -> None:
    run = play(draw("a", options={"timeout": "PT1M"})).start().pause()
    assert run.skip().news == [
        "CANCEL_REQUESTED TIMEOUT",
        "NODE_CANCEL_REQUESTED a#1",
        "STATUS_CHANGED RUNNING",
    ]
    run = play(draw("w", w=wait())).start().pause().cancel()
    assert run.news == ["CANCEL_REQUESTED API", "NODE_CANCELLED w#1", "STATUS_CHANGED CANCELLED"]


def test_a_pause_ends_by_itself_at_its_moment() -> None:
    """`pause {reason?, until?}` resumes by itself at `until`."""
    run = play(draw("a>b")).start().pause(until=BEGIN + timedelta(hours=1)).succeed("a")
    assert run.timers == {"resume": timedelta(hours=1)}
    assert run.skip().news == [
        "RESUME_REQUESTED",
        "NODE_DISPATCHED b#1",
        "STATUS_CHANGED RUNNING",
    ]
    assert run.timers == {}
    by_hand = play(draw("a")).start().pause(until=BEGIN + timedelta(hours=1)).resume()
    assert by_hand.timers == {}
    cancelled = play(draw("a")).start().pause(until=BEGIN + timedelta(hours=1)).cancel()
    assert TimerKind.RESUME not in {key.kind for key in cancelled.ledger.timers}


def test_a_pause_keeps_why_and_until_when() -> None:
    until = BEGIN + timedelta(hours=1)
    pause = play(draw("a")).start().pause(until=until, reason="maintenance").state.pause
    assert pause is not None
    assert (pause.by, pause.reason, pause.until) == ("ada", "maintenance", until)


def test_a_waiting_instance_is_paused_and_waits_again() -> None:
    run = play(draw("w>a", w=wait())).start().pause()
    assert run.resume().news == ["RESUME_REQUESTED", "STATUS_CHANGED WAITING_FOR_EVENT"]
    run.pause().event("paid")
    assert run.resume().running == ["a"]


def test_pausing_again_and_again_loses_nothing() -> None:
    run = play(draw("a>b b>c")).start()
    for node in ("a", "b", "c"):
        run.pause().succeed(node).resume()
    assert run.status is Status.COMPLETED


def test_a_cancel_withdraws_everything_and_ends_cancelled() -> None:
    document = draw("s>a s>w s>d s>r w>x", s=start(), w=wait(), d=delay())
    run = play(document).start().fail("r", retryable=True).cancel("enough")
    assert run.news == [
        "CANCEL_REQUESTED API",
        "NODE_CANCEL_REQUESTED a#1",
        "NODE_CANCELLED w#1",
        "NODE_CANCELLED d#1",
        "NODE_CANCELLED r#1",
    ]
    assert run.succeed("a", 1).news == ["NODE_COMPLETED a#1", "STATUS_CHANGED CANCELLED"]
    assert run.step("x") == "PENDING"


def test_a_cancel_is_idempotent() -> None:
    """Cancel is idempotent: a second one, or one while compensation runs, answers 200 with the
    state as it is; pause and retry then get 409.
    """
    run = play(draw("a")).start().cancel("first")
    for _ in range(3):
        run.cancel("second")
        assert run.news == []
    with run.refusing("TEN-3002"):
        run.pause()
    with run.refusing("TEN-3002"):
        run.resume()
    run.skip()
    assert run.status is Status.CANCELLED
    assert run.cancel("third").news == []
    assert run.state.cancellation is not None
    assert run.state.cancellation.reason == "first"


def test_a_cancel_while_the_instance_is_failing_leaves_it_as_it_is() -> None:
    run = play(draw("s>a s>b", s=start())).start().fail("a").cancel()
    assert run.news == []
    with run.refusing("TEN-3002"):
        run.pause()
    assert run.skip().status is Status.FAILED
    assert run.state.cancellation is None


@pytest.mark.parametrize("end_it", ["fail", "succeed", "lose", "time"])
def test_the_grace_of_a_cancelled_instance_ends_in_every_way(end_it: str) -> None:
    run = play(draw("a>b")).start().cancel()
    match end_it:
        case "fail":
            run.fail("a", "CANCELLED")
        case "succeed":
            run.succeed("a")
        case "lose":
            run.lose("a")
        case _:
            run.skip()
    assert run.status is Status.CANCELLED
    assert run.count("NODE_DISPATCHED b#1") == 0


def status_of(run: Run) -> Status:
    return run.status


def test_commands_that_do_not_fit_the_status_are_refused() -> None:
    """Cancel of COMPLETED or FAILED, pause of PAUSED, resume of RUNNING: 409."""
    completed = play(draw("s>e", s=start(), e=end())).start()
    failed = play(draw("a")).start().fail("a")
    for run in (completed, failed):
        for ask in (run.cancel, run.pause, run.resume):
            with run.refusing("TEN-3002"):
                ask()
    paused = play(draw("a")).start().pause()
    with paused.refusing("TEN-3002"):
        paused.pause()
    running = play(draw("a")).start()
    with running.refusing("TEN-3002"):
        running.resume()
    waiting = play(draw("w", w=wait())).start()
    with waiting.refusing("TEN-3002"):
        waiting.resume()
    assert status_of(waiting) is Status.WAITING_FOR_EVENT
    with waiting.refusing("TEN-3002"):
        waiting.start()


def test_the_earlier_of_timeout_and_deadline_cancels() -> None:
    """`options.timeout` counts from `startedAt`, `deadline` is absolute; the earlier cancels
    (source TIMEOUT).
    """
    day = timedelta(days=1)
    for asked, timeout, absolute, expected in (
        (None, "P3D", None, 3 * day),
        (2 * day, "P3D", None, 2 * day),
        (5 * day, "P3D", None, 3 * day),
        (5 * day, None, "2026-01-02T00:00:00Z", 1 * day),
        (5 * day, "P3D", "{{ctx.input.by}}", 4 * day / 2),
    ):
        options = {"timeout": timeout, "deadline": absolute}
        run = play(draw("a", options={k: v for k, v in options.items() if v is not None}))
        deadline = None if asked is None else BEGIN + asked
        run.start({"by": "2026-01-03T00:00:00Z"}, deadline=deadline)
        assert run.timers["deadline"] == expected
        assert run.state.deadline == BEGIN + expected
        assert run.skip().log[-2:] == ["CANCEL_REQUESTED TIMEOUT", "NODE_CANCEL_REQUESTED a#1"]
        assert run.skip().status is Status.CANCELLED


def test_a_deadline_that_cannot_be_read_is_refused_at_start() -> None:
    run = play(draw("a", options={"deadline": "{{ctx.input.by}}"}))
    for by in (None, "tomorrow", 5, "2026-01-03T00:00:00"):
        with run.refusing("TEN-2101"):
            run.start({"by": by})


def test_a_deadline_during_the_grace_changes_nothing() -> None:
    document = draw("s>a s>b", options={"timeout": "PT5S"}, s=start())
    run = play(document).start().later(seconds=1).fail("a").later(seconds=5)
    assert run.fire(TimerKind.DEADLINE).news == []
    assert run.later(seconds=5).fire().status is Status.FAILED


def test_a_deadline_does_not_outlive_the_instance() -> None:
    run = play(draw("a", options={"timeout": "P1D"})).start().succeed("a")
    assert run.timers == {}


def test_a_task_sees_the_default_timeout_or_its_own() -> None:
    run = play(draw("a b", b=task(timeout="PT30S", heartbeatTimeout="PT5S"))).start()
    orders = {key.node: order for key, order in run.ledger.running.items()}
    assert orders["a"].timeout == timedelta(minutes=10)
    assert orders["a"].heartbeat_timeout is None
    assert orders["b"].timeout == timedelta(seconds=30)
    assert orders["b"].heartbeat_timeout == timedelta(seconds=5)


@pytest.mark.parametrize("kind", [TimerKind.DELAY, TimerKind.REMINDER, TimerKind.WAIT_TIMEOUT])
def test_a_timer_that_a_passed_deadline_takes_along_is_not_refused_for_ever(
    kind: TimerKind,
) -> None:
    """After an outage both are due; whichever is heard of first, the instance ends by its deadline
    and no timer is left that would come due again.
    """
    document = draw(
        "s>d s>p s>w",
        s=start(),
        d=delay("PT1M"),
        p=approval(reminders=["PT1M"]),
        w=wait(eventTimeout={"duration": "PT1M"}),
        options={"timeout": "PT1H"},
    )
    run = play(document).start().later(days=1).fire(kind)
    assert run.news[0] == "CANCEL_REQUESTED TIMEOUT"
    assert (run.status, run.ledger.timers) == (Status.CANCELLED, {})
