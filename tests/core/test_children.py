"""Steps that are workflows of their own, seen from the parent and from the child."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any
from uuid import UUID

import pytest

from tenuto.core import outstanding
from tenuto.model.durations import epoch_ms
from tenuto.model.effects import ResolveChild, SendMail
from tenuto.model.failure import Failure
from tenuto.model.family import MOST_DEPTH, Parent, child_id
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import CancelAsked, ChildReported, TaskFailed, TaskSucceeded, TimerKind
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import child, delay, draw, end, loop, start, task, terminate, wait
from tests.core.play import BEGIN, ID, Run, play

PARENT = Parent(id=ID, node="c", root_id=ID, depth=1)
CHILD = "00000000-0000-7000-8000-000000000002"
THRICE: Object = {"maxAttempts": 3}


def only_letter(run: Run) -> SendMail:
    (letter,) = run.ledger.mail
    return letter


def as_child(document: JSON, **more: Any) -> Run:  # noqa: ANN401
    """An instance that somebody started from a step."""
    return Run(document, id=CHILD).start({"n": 1}, parent=PARENT, **more)


# -- the parent's side


def test_a_child_is_dispatched_then_started_then_ends() -> None:
    """`SUB_WORKFLOW` / `subWorkflow` starts another workflow and waits for its output."""
    document = draw("c>a", c=child("pay", input={"sum": "{{ctx.input.n}}"}, outputVariable="paid"))
    run = play(document).start({"n": 7})
    assert run.news == ["INPUT_SET", "STATUS_CHANGED RUNNING", "NODE_DISPATCHED c#1"]
    assert run.ledger.resolving[NodeKey("c")] == ResolveChild(
        node="c", iteration="", attempt=1, workflow_id="pay", version=None, input={"sum": 7}
    )
    assert run.resolve("c", version=3).news == ["CHILD_STARTED c#1 pay v3"]
    assert run.child_ends("c", {"receipt": 1}).news == [
        "CHILD_ENDED c#1 COMPLETED",
        "NODE_COMPLETED c#1",
        "NODE_DISPATCHED a#1",
    ]
    assert run.ctx["paid"] == {"receipt": 1}
    assert run.succeed("a").status is Status.COMPLETED


def test_a_child_gets_what_goes_down() -> None:
    """cancellation and deadline go down"""
    document = draw("c", c=child(version=4), options={"timeout": "PT1H"})
    run = play(document).start({"n": 7}, correlation_id="o-1", priority=3).resolve("c", version=4)
    letter = only_letter(run)
    (started,) = run.ledger.starts()
    assert letter.to == run.ledger.children[NodeKey("c")]
    assert started.input == {"n": 7}
    assert started.deadline == BEGIN + timedelta(hours=1)
    assert (started.correlation_id, started.priority) == ("o-1", 3)
    assert (started.definition_id, started.definition_version) == ("other", 4)
    assert started.parent == PARENT


def test_a_running_child_needs_no_owner_and_is_no_wait() -> None:
    """WAITING_FOR_EVENT: an open wait or approval and no task attempt, due retry, delay, child or
    queue for a mutex; otherwise RUNNING."""
    run = play(draw("s>c s>w", s=start(), c=child(), w=wait())).start()
    owned = run.state.needs_owner
    run.resolve("c")
    assert (run.status, run.step("c")) == (Status.RUNNING, "RUNNING")
    assert (owned, run.state.needs_owner) == (True, False)
    assert outstanding(run.plan, run.state, run.policies) == ()
    run.child_ends("c")
    assert run.view["currentSteps"] == ["w"]
    assert run.state.status is Status.WAITING_FOR_EVENT


def test_the_id_of_a_child_follows_from_what_dispatched_it() -> None:
    """`subWorkflow {workflowId, version?, input}`: without `version` the newest when first
    dispatched, recorded, kept for all attempts; a child's id is a UUID whose time prefix is the
    `at` of the entry that dispatched it and whose rest is a hash of (parent, node, iteration,
    attempt); a cancelled child fails the node (`CHILD_CANCELLED`, not retryable); depth ≤ 20.
    """
    run = play(draw("c", c=child(retry={"maxAttempts": 2}))).start()
    run.later(seconds=5).resolve("c")
    first = run.ledger.children[NodeKey("c")]
    assert UUID(first).version == 7
    assert UUID(first).int >> 80 == epoch_ms(BEGIN)
    assert first == child_id(BEGIN, ID, NodeKey("c"), 1)
    run.child_ends("c", code="OOPS").skip()
    second = run.ledger.children[NodeKey("c")]
    assert second == child_id(run.now, ID, NodeKey("c"), 2) != first
    assert UUID(second).int >> 80 == epoch_ms(run.now)


@pytest.mark.parametrize("options", [{}, {"retry": {"maxAttempts": 5}}])
def test_a_child_is_started_once_unless_its_own_step_says_more(options: Object) -> None:
    document = draw("c", c=child(), options=options)
    run = play(document).start().resolve("c").child_ends("c", code="OOPS")
    assert (run.status, run.code) == (Status.FAILED, "CHILD_FAILED")
    document = draw("c", c=child(retry={"maxAttempts": 2}), options=options)
    run = play(document).start().resolve("c").child_ends("c", code="OOPS").skip()
    run.child_ends("c", code="OOPS")
    assert (run.status, len(run.ledger.starts())) == (Status.FAILED, 2)


def test_no_two_children_share_an_id() -> None:
    places = list(product((ID, CHILD), ("a", "b", "a-1"), ("", "1", "1/2", "12"), (1, 2, 12)))
    ids = {child_id(BEGIN, who, NodeKey(node, path), nth) for who, node, path, nth in places}
    assert len(ids) == len(places)
    assert {UUID(id).variant for id in ids} == {"specified in RFC 4122"}


def test_the_version_is_kept_for_all_attempts() -> None:
    """`subWorkflow {workflowId, version?, input}`: without `version` the newest when first
    dispatched, recorded, kept for all attempts; a child's id is a UUID whose time prefix is the
    `at` of the entry that dispatched it and whose rest is a hash of (parent, node, iteration,
    attempt); a cancelled child fails the node (`CHILD_CANCELLED`, not retryable); depth ≤ 20.
    """
    run = play(draw("c", c=child(retry=THRICE))).start().resolve("c", version=2)
    run.child_ends("c", code="OOPS")
    assert run.news == [
        "CHILD_ENDED c#1 FAILED",
        "NODE_FAILED c#1 CHILD_FAILED retry",
        "RETRY_SCHEDULED c#2",
    ]
    assert run.skip().news == ["NODE_DISPATCHED c#2", "CHILD_STARTED c#2 other v2"]
    one, two = run.ledger.starts()
    assert (one.input, one.definition_version) == (two.input, two.definition_version)
    assert two.parent is not None
    assert two.parent.attempt == 2


def test_a_failed_child_fails_the_step_with_what_went_wrong() -> None:
    """failure comes up"""
    document = draw("c>a c:error>b", c=child("pay", retry={"maxAttempts": 1}))
    run = play(document).start().resolve("c")
    id = run.ledger.children[NodeKey("c")]
    assert run.child_ends("c", code="OUT_OF_MONEY").running == ["b"]
    error: Any = run.view["steps"]["c"]["output"]["error"]
    assert (error["code"], error["message"]) == ("CHILD_FAILED", "pay failed: OUT_OF_MONEY inside")
    assert error["details"]["childId"] == id
    assert error["details"]["error"]["code"] == "OUT_OF_MONEY"


def test_what_no_retry_mends_in_the_child_is_not_tried_again() -> None:
    run = play(draw("c", c=child())).start().resolve("c")
    run.child_ends("c", code="CHILD_DEPTH", retryable=False)
    assert (run.status, run.code) == (Status.FAILED, "CHILD_FAILED")
    assert not run.state.may_retry


def test_a_cancelled_child_fails_the_step() -> None:
    """`subWorkflow {workflowId, version?, input}`: without `version` the newest when first
    dispatched, recorded, kept for all attempts; a child's id is a UUID whose time prefix is the
    `at` of the entry that dispatched it and whose rest is a hash of (parent, node, iteration,
    attempt); a cancelled child fails the node (`CHILD_CANCELLED`, not retryable); depth ≤ 20.
    """
    run = play(draw("c", c=child("pay"))).start().resolve("c")
    run.child_ends("c", status=Status.CANCELLED, reason="not today")
    assert run.news == [
        "CHILD_ENDED c#1 CANCELLED",
        "NODE_FAILED c#1 CHILD_CANCELLED fail",
        "STATUS_CHANGED FAILED",
    ]
    assert run.state.last_error is not None
    assert run.state.last_error.message == "pay was cancelled: not today"


def test_a_workflow_that_is_not_there_fails_the_step() -> None:
    """A `subWorkflow` may name its own definition, or one that is not there yet (a warning at save;
    `UNKNOWN_WORKFLOW` when dispatched)."""
    run = play(draw("c>a c:error>b", c=child())).start().fail("c", "UNKNOWN_WORKFLOW")
    assert run.news[:2] == [
        "NODE_FAILED c#1 UNKNOWN_WORKFLOW route",
        "NODE_COMPLETED c#1 error -> error",
    ]
    assert run.ledger.mail == []


def test_reports_about_another_child_are_refused() -> None:
    run = play(draw("c>a", c=child())).start()
    with run.refusing("TEN-3003"):
        run.child_ends("c", child_id=CHILD)
    run.resolve("c")
    with run.refusing("TEN-3003"):
        run.resolve("c", version=9)
    with run.refusing("TEN-3003"):
        run.child_ends("c", child_id=CHILD)
    with run.refusing("TEN-3003"):
        run.tell(TaskSucceeded(node="c", attempt=1, output=None))
    with run.refusing("TEN-3003"):
        run.tell(TaskFailed(node="c", attempt=1, error=Failure(code="X", message="x")))
    id = run.ledger.children[NodeKey("c")]
    run.child_ends("c")
    with run.refusing("TEN-3003"):
        run.child_ends("c", child_id=id)
    with run.refusing("TEN-3003"):
        run.resolve("a")


def test_a_step_without_its_child_takes_no_result() -> None:
    run = play(draw("c>a", c=child())).start()
    with run.refusing("TEN-3003"):
        run.tell(TaskSucceeded(node="c", attempt=1, output=None))


def test_a_child_of_an_earlier_attempt_is_not_heard() -> None:
    run = play(draw("c", c=child(retry=THRICE))).start().resolve("c")
    first = run.ledger.children[NodeKey("c")]
    run.child_ends("c", code="OOPS")
    with run.refusing("TEN-3003"):
        run.child_ends("c", child_id=first)
    run.skip()
    with run.refusing("TEN-3003"):
        run.child_ends("c", child_id=first)
    assert run.child_ends("c", 5).output == 5


def test_an_output_beyond_the_limit_fails_the_step() -> None:
    """Too large fails the attempt, not retryable (`TOO_LARGE`)."""
    run = play(draw("c", c=child())).start().resolve("c").child_ends("c", "x" * 1_000_001)
    assert (run.status, run.code) == (Status.FAILED, "TOO_LARGE")


def test_an_input_that_cannot_be_worked_out_fails_the_step() -> None:
    run = play(draw("c", c=child(input="{{ctx.input.nope()}}"))).start({})
    assert (run.status, run.code) == (Status.FAILED, "EXPRESSION_ERROR")


# -- called off


def ended_by(run: Run) -> CancelAsked:
    """How the only child was told to end."""
    (asked,) = run.ledger.ends().values()
    return asked


def test_a_child_of_a_cancelled_parent_is_told_and_not_waited_for() -> None:
    """An unhandled failure: nothing new starts; waits, timers and children are withdrawn; running
    tasks are told and have `options.cancelGrace` (10 s); a result within it is recorded and will be
    compensated; then compensation, then FAILED. The same order for cancel and terminate.
    """
    run = play(draw("c", c=child())).start().resolve("c")
    id = run.ledger.children[NodeKey("c")]
    assert run.cancel("enough").news == [
        "CANCEL_REQUESTED API",
        "NODE_CANCELLED c#1",
        "STATUS_CHANGED CANCELLED",
    ]
    assert list(run.ledger.ends()) == [id]
    asked = ended_by(run)
    assert (asked.by, asked.source, asked.reason) == (ID, "PARENT", "enough")
    with run.refusing("TEN-3003"):
        run.child_ends("c", child_id=id, status=Status.CANCELLED)


def test_a_failing_parent_takes_its_children_with_it() -> None:
    run = play(draw("s>c s>a", s=start(), c=child())).start().resolve("c").fail("a")
    assert run.status is Status.FAILED
    assert ended_by(run).source == "PARENT"


def test_a_terminated_parent_takes_its_children_with_it() -> None:
    document = draw("s>c s>a a>t", s=start(), c=child(), t=terminate())
    run = play(document).start().resolve("c").succeed("a")
    assert run.status is Status.COMPLETED
    assert not ended_by(run).should_compensate, "COMPLETED does not compensate"


def test_a_child_on_a_branch_that_is_called_off_is_told() -> None:
    """`cancelRest` cancels the unfinished nodes from which an edge of this join that has not
    arrived can be reached"""
    document = draw(
        "s>c s>a c>j a>j", s=start(), c=child(), j=task(joinMode="any", cancelRest=True)
    )
    run = play(document).start().resolve("c").succeed("a")
    assert run.news == ["NODE_COMPLETED a#1", "NODE_CANCELLED c#1", "NODE_DISPATCHED j#1"]
    assert ended_by(run).reason == "its parent needs it no more"
    assert run.succeed("j").status is Status.COMPLETED


def test_what_was_not_started_yet_has_nobody_to_tell() -> None:
    run = play(draw("c", c=child())).start().cancel()
    assert (run.status, run.ledger.mail) == (Status.CANCELLED, [])
    with run.refusing("TEN-3003"):
        run.resolve("c")


def test_a_back_off_has_nobody_to_tell() -> None:
    run = play(draw("c", c=child(retry=THRICE))).start().resolve("c")
    run.child_ends("c", code="OOPS").cancel()
    assert (run.status, run.ledger.ends()) == (Status.CANCELLED, {})


def test_the_timeout_of_the_step_bounds_the_whole_child() -> None:
    """`timeout` is one attempt, from when it starts to run (start or claim), default 10 min,
    retryable; on waits, approvals, delays, loops and children it bounds the whole node.
    """
    document = draw("c:error>b", c=child(timeout="PT1H", retry={"maxAttempts": 9}))
    run = play(document).start().later(minutes=5).resolve("c")
    due = BEGIN + timedelta(hours=1, minutes=5)
    assert run.timer(TimerKind.NODE_TIMEOUT, "c") == due
    run.later(minutes=30).child_ends("c", code="OOPS").skip()
    assert run.timer(TimerKind.NODE_TIMEOUT, "c") == due
    assert run.at(due).fire().news == [
        "NODE_FAILED c#2 TIMEOUT route",
        "NODE_COMPLETED c#2 error -> error",
        "NODE_DISPATCHED b#1",
    ]
    assert len(run.ledger.ends()) == 1


def test_a_timeout_during_a_back_off_counts_as_the_attempt_that_would_have_been() -> None:
    document = draw("c", c=child(timeout="PT1S", retry=THRICE))
    run = play(document).start().resolve("c").later(seconds=0.9).child_ends("c", code="OOPS")
    run.later(seconds=0.1).fire(TimerKind.NODE_TIMEOUT)
    assert run.news[:1] == ["NODE_FAILED c#2 TIMEOUT fail"]
    assert run.ledger.ends() == {}


def test_a_paused_parent_hears_of_the_end_and_goes_on_when_resumed() -> None:
    """Pause acts at once: running tasks go on and are recorded, events and timers are recorded,
    nothing is dispatched, no end is declared until resume; timeouts, deadline and cancel still
    work.
    """
    run = play(draw("c>a", c=child())).start().pause().resolve("c").child_ends("c")
    assert (run.status, run.step("c"), run.running) == (Status.PAUSED, "COMPLETED", [])
    assert run.resume().running == ["a"]


def test_nothing_is_started_once_an_end_is_decided() -> None:
    """An unhandled failure: nothing new starts; waits, timers and children are withdrawn; running
    tasks are told and have `options.cancelGrace` (10 s); a result within it is recorded and will be
    compensated; then compensation, then FAILED.
    """
    run = play(draw("s>c s>a", s=start(), c=child())).start().pause().fail("a")
    with run.refusing("TEN-3003"):
        run.resolve("c")
    assert run.resume().status is Status.FAILED
    assert run.ledger.mail == []


# -- the child's side


def end_of(run: Run) -> ChildReported:
    letter = run.ledger.mail[-1]
    assert letter.to == PARENT.id
    assert letter.id == f"{CHILD}/ended"
    assert isinstance(letter.input, ChildReported)
    return letter.input


def test_a_child_tells_its_parent_what_it_gives_back() -> None:
    run = as_child(draw("a>e", e=end({"n": "{{ctx.input.n}}"}))).succeed("a")
    assert end_of(run) == ChildReported(
        node="c", attempt=1, child_id=CHILD, status=Status.COMPLETED, output={"n": 1}
    )


def test_a_child_tells_its_parent_why_it_failed() -> None:
    report = end_of(as_child(draw("a")).fail("a", "OUT", retryable=False))
    assert report.status is Status.FAILED
    assert report.error is not None
    assert (report.error.code, report.retryable) == ("OUT", False)
    document = draw("a", a=task(retry={"maxAttempts": 1}))
    assert end_of(as_child(document).fail("a", "BUSY", retryable=True)).retryable


def test_a_child_tells_its_parent_that_it_was_cancelled() -> None:
    run = as_child(draw("w", w=wait())).cancel("not today")
    report = end_of(run)
    assert (report.status, report.reason, report.error) == (Status.CANCELLED, "not today", None)


def test_a_terminated_child_ends_alone() -> None:
    """In a loop it ends the instance, in a child only the child."""
    run = as_child(draw("t", t=terminate("FAILED", reason="no")))
    assert (end_of(run).status, end_of(run).retryable) == (Status.FAILED, False)
    assert end_of(as_child(draw("t", t=terminate(output=5)))).output == 5


def test_whoever_has_no_parent_tells_nobody() -> None:
    assert play(draw("a")).start().succeed("a").ledger.mail == []


def test_a_child_whose_deadline_was_first_does_not_fail_its_parent() -> None:
    """One deadline for both: whichever letter or timer comes first, both are cancelled by it."""
    document = draw("c a", c=child(), options={"timeout": "PT1M"})
    run = play(document).start().resolve("c").later(seconds=60)
    with run.refusing("TEN-3003"):
        run.child_ends("c", status=Status.CANCELLED, reason="the deadline has passed")
    run.succeed("a", 1)
    assert run.news[0] == "CANCEL_REQUESTED TIMEOUT"
    assert "NODE_COMPLETED a#1" in run.news
    assert (run.status, run.code) == (Status.CANCELLED, None)
    with run.refusing("TEN-3003"):
        run.child_ends("c", status=Status.CANCELLED, child_id=CHILD)


def test_the_earlier_deadline_counts() -> None:
    """cancellation and deadline go down"""
    hour = BEGIN + timedelta(hours=1)
    run = as_child(draw("w", w=wait(), options={"timeout": "P1D"}), deadline=hour)
    assert run.timer(TimerKind.DEADLINE) == hour
    run = as_child(draw("w", w=wait(), options={"timeout": "PT1M"}), deadline=hour)
    assert run.timer(TimerKind.DEADLINE) == BEGIN + timedelta(minutes=1)
    assert end_of(run.skip()).status is Status.CANCELLED


@pytest.mark.parametrize("depth", [1, MOST_DEPTH - 1, MOST_DEPTH])
def test_children_lie_at_most_twenty_deep(depth: int) -> None:
    """`subWorkflow {workflowId, version?, input}`: without `version` the newest when first
    dispatched, recorded, kept for all attempts; a child's id is a UUID whose time prefix is the
    `at` of the entry that dispatched it and whose rest is a hash of (parent, node, iteration,
    attempt); a cancelled child fails the node (`CHILD_CANCELLED`, not retryable); depth ≤ 20.
    """
    parent = Parent(id=ID, node="c", root_id="root", depth=depth)
    run = Run(draw("c", c=child("w")), id=CHILD).start(parent=parent)
    if depth == MOST_DEPTH:
        assert (run.status, run.code) == (Status.FAILED, "CHILD_DEPTH")
        assert not end_of(run).retryable
    else:
        (started,) = run.resolve("c").ledger.starts()
        assert started.parent == Parent(id=CHILD, node="c", root_id="root", depth=depth + 1)


def test_steps_beside_a_child_go_on() -> None:
    document = draw("s>c s>d d>j c>j", s=start(), c=child(), d=delay("PT1S"))
    run = play(document).start().resolve("c").skip().child_ends("c", 1).succeed("j")
    assert run.status is Status.COMPLETED


def test_every_iteration_of_a_loop_has_a_child_of_its_own() -> None:
    document = draw("l:loop>c", l=loop([4, 5], mode="parallel"), c=child(input="{{ctx.item}}"))
    run = play(document).start().resolve("c[0]").resolve("c[1]")
    assert [started.input for started in run.ledger.starts()] == [4, 5]
    assert [s.parent.iteration for s in run.ledger.starts() if s.parent] == ["0", "1"]
    assert len(set(run.ledger.children.values())) == 2
    assert not run.state.needs_owner
    assert run.child_ends("c[1]", "b").child_ends("c[0]", "a").output == ["a", "b"]


def test_children_of_a_loop_that_fails_are_told() -> None:
    document = draw("l:loop>c", l=loop([4, 5], mode="parallel"), c=child(retry={"maxAttempts": 1}))
    run = play(document).start().resolve("c[0]").resolve("c[1]")
    late = run.ledger.children[NodeKey("c", "1")]
    run.child_ends("c[0]", code="OOPS")
    assert (run.status, list(run.ledger.ends())) == (Status.FAILED, [late])
    with run.refusing("TEN-3003"):
        run.tell(
            ChildReported(
                node="c", iteration="1", attempt=1, child_id=late, status=Status.CANCELLED
            )
        )
