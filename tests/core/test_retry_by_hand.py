"""A failed instance that is retried goes on where it failed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto.core import decide
from tenuto.model.edited import EditedInput
from tenuto.model.effects import StartAttempt
from tenuto.model.entries import RetryRequested
from tenuto.model.events import Event
from tenuto.model.family import Parent
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import EventMatched, RetryAsked, TimerKind
from tenuto.model.json import JSON, Object
from tenuto.model.log import SHAPE_KEY, from_row, to_row
from tenuto.model.status import Status
from tests.core.drawing import (
    child,
    condition,
    delay,
    draw,
    end,
    loop,
    start,
    task,
    terminate,
    wait,
)
from tests.core.holding import folded
from tests.core.play import BEGIN, Run, play
from tests.core.situations import SHELF

ONCE: Object = {"maxAttempts": 1}
REPEAT: Object = {"while": "true", "maxIterations": 2}


def set_aside(run: Run) -> Run:
    """It cannot be decided on, and nothing of it runs any more."""
    run.set_aside().ledger.running.clear()
    return run


def test_what_failed_runs_again_and_what_completed_stays() -> None:
    """`retry` of a FAILED instance re-opens every node that failed unhandled and every node that
    the failure withdrew, with fresh budget and timeouts; completed ones stay; triggers are
    subscribed again in the same transaction; 409 once a compensation was dispatched or after
    `terminate`.
    """
    run = play(draw("a>b b>c")).start().succeed("a", 1).fail("b", "DECLINED")
    assert (run.status, run.code) == (Status.FAILED, "DECLINED")
    assert run.retry().news == [
        "RETRY_REQUESTED",
        "STATUS_CHANGED RUNNING",
        "NODE_DISPATCHED b#2",
    ]
    assert run.code is None
    assert run.state.completed_at is None
    assert run.succeed("b", 2).succeed("c", 3).output == 3
    assert run.count("NODE_COMPLETED a#1") == 1


def test_what_is_tried_again_is_no_dead_letter_any_more() -> None:
    run = play(draw("a>b")).start().fail("a", "DECLINED")
    assert [each.node for each in run.ledger.dead_letters] == ["a"]
    assert run.retry().ledger.dead_letters == []
    run.fail("a", "DECLINED")
    assert [each.attempt for each in run.ledger.dead_letters] == [2]


def test_what_the_failure_withdrew_begins_again() -> None:
    run = SHELF["order_retried"]()
    assert run.status is Status.COMPLETED
    told = run.log[run.log.index("RETRY_REQUESTED") :]
    assert told[:6] == [
        "RETRY_REQUESTED",
        "STATUS_CHANGED RUNNING",
        "NODE_DISPATCHED pay#2",
        "NODE_DISPATCHED stamp#2",
        "WAIT_OPENED w#2",
        "TIMER_SET d#2",
    ]
    assert "NODE_COMPLETED pack#1" in run.log
    assert "NODE_COMPLETED w#2" in run.log
    assert "NODE_COMPLETED d#2" in run.log
    assert run.ctx["box"] == "large"


def test_timeouts_are_fresh() -> None:
    document = draw(
        "s>a s>w s>d", s=start(), w=wait(eventTimeout={"duration": "PT2H"}), d=delay("PT1H")
    )
    run = play(document).start().later(minutes=30).fail("a").later(minutes=30).retry()
    assert run.timers == {"w": timedelta(hours=2), "d": timedelta(hours=1)}


def test_the_budget_is_fresh_and_attempts_are_counted_on() -> None:
    """Attempt numbers never restart; a retry by hand raises them for every node it re-opens."""
    run = play(draw("a", a=task(retry={"maxAttempts": 2, "initialDelay": "PT1S"}))).start()
    run.fail("a", "BUSY", retryable=True).skip().fail("a", "BUSY", retryable=True)
    assert run.status is Status.FAILED
    run.retry()
    assert run.attempt("a") == 3
    assert run.fail("a", "BUSY", retryable=True).step("a") == "RETRYING"
    run.skip().fail("a", "BUSY", retryable=True)
    assert run.status is Status.FAILED
    assert run.retry().succeed("a", "at last").output == "at last"
    assert "NODE_COMPLETED a#5" in run.log


def started(run: Run, node: str) -> StartAttempt:
    return run.ledger.running[NodeKey(node)]


def test_the_key_and_the_input_are_those_of_the_first_attempt() -> None:
    """`idempotencyKey = <instanceId>:<nodeId>[:<iteration>]`: the same on retries by policy, after
    a loss and by hand; new in a rerun; compensation has its own.
    """
    document = draw(
        "s>a s>b", s=start(), a=task(input={"seen": "{{ctx.b ?? 'nothing'}}"}),
        b=task(outputVariable="b"),
    )  # fmt: skip
    run = play(document).start()
    first = started(run, "a")
    run.fail("a").succeed("b", "something")
    again = started(run.retry(), "a")
    assert run.ctx["b"] == "something"
    assert (again.idempotency_key, again.input) == (first.idempotency_key, first.input)
    assert again.attempt == 2


def test_a_node_that_was_withdrawn_keeps_its_input_too() -> None:
    document = draw("s>a s>b", s=start(), b=task(input={"n": "{{ctx.input.n + 1}}"}))
    run = play(document).start({"n": 1}).fail("a").fail("b", "CANCELLED").retry()
    assert started(run, "b").input == {"n": 2}


def test_a_task_is_given_what_somebody_edited_and_goes_on_with_it() -> None:
    document = draw("a>c", a=task(input={"n": "{{ctx.input.n}}"}, retry=ONCE))
    run = play(document).start({"n": 1}).fail("a")
    edited = EditedInput(step_id="a", input={"n": 2})
    run.tell(RetryAsked(by="ada", edited=edited))
    assert (started(run, "a").input, started(run, "a").attempt) == ({"n": 2}, 2)
    asked = next(each for each in run.entries if isinstance(each, RetryRequested))
    assert (asked.by, asked.edited) == ("ada", edited)
    assert from_row(to_row(3, asked)) == asked
    run.lose("a")
    assert started(run, "a").input == {"n": 2}, "what was lost is done again as it was"
    run.fail("a").retry()
    assert started(run, "a").input == {"n": 2}, "who says nothing changes nothing"
    assert folded(run.plan, run.state.id, run.entries) == run.state


def test_only_what_runs_again_can_be_given_something_else() -> None:
    run = play(draw("a>w w>b", w=wait())).start().succeed("a").event("paid").fail("b")
    for step in ("a", "w", "nobody"):
        asked = RetryAsked(by="ada", edited=EditedInput(step_id=step, input=1))
        rejection = decide(run.plan, run.state, asked, run.now, run.policies).rejection
        assert rejection is not None
        assert (rejection.code, step in rejection.message) == ("TEN-3009", True)


def test_a_program_that_knows_of_no_edits_reads_every_other_retry() -> None:
    plain = to_row(3, RetryRequested(at=BEGIN, by="ada"))
    edited = EditedInput(step_id="a", input=None)
    with_edit = to_row(3, RetryRequested(at=BEGIN, by="ada", edited=edited))
    assert plain.payload == b'{"by":"ada"}'
    assert with_edit.payload is not None
    assert SHAPE_KEY.encode() in with_edit.payload


def test_a_result_within_the_grace_is_gone_on_from() -> None:
    run = play(draw("s>a s>b b>c a>j c>j", s=start())).start().fail("a").succeed("b", 1)
    assert run.status is Status.FAILED
    assert run.step("c") == "PENDING"
    assert run.retry().running == ["a", "c"]
    assert run.succeed("c").succeed("a").running == ["j"]


def test_a_result_within_the_grace_takes_the_way_that_its_conditions_say() -> None:
    routes: list[JSON] = [{"when": "ctx.b > 3", "handle": "much"}]
    document = draw(
        "s>a s>b b:much>x b>y", s=start(), b=task(outputVariable="b", conditions=routes)
    )
    run = play(document).start().fail("a").succeed("b", 5)
    assert run.news[:1] == ["NODE_COMPLETED b#1 -> much"]
    assert run.retry().running == ["a", "x"]
    assert run.step("y") == "SKIPPED"


def test_a_result_within_the_grace_that_cannot_be_routed_runs_again() -> None:
    routes: list[JSON] = [{"when": "ctx.b.nothing()", "handle": "much"}]
    document = draw("s>a s>b b:much>x", s=start(), b=task(outputVariable="b", conditions=routes))
    run = play(document).start().fail("a").succeed("b", 5)
    assert run.news[:2] == ["NODE_FAILED b#1 EXPRESSION_ERROR cancel", "NODE_CANCELLED b#1"]
    assert run.code == "OOPS"
    assert run.retry().running == ["a", "b"]


def test_what_completed_in_its_grace_cancels_whom_it_names_once_it_is_gone_on_from() -> None:
    document = draw("s>a s>b s>w", s=start(), b=task(cancels=["w", "a"]), w=wait())
    run = play(document).start().fail("a").succeed("b")
    assert run.retry().news == [
        "RETRY_REQUESTED",
        "STATUS_CHANGED RUNNING",
        "NODE_SKIPPED a#2 cancelled",
        "NODE_SKIPPED w#2 cancelled",
        "STATUS_CHANGED COMPLETED",
    ]


def test_what_a_part_of_the_workflow_called_off_stays_called_off() -> None:
    document = draw("s>a s>b s>c a>j b>j", s=start(), j=task(joinMode="any", cancelRest=True))
    run = play(document).start().succeed("a").fail("c").succeed("b").fail("j", "CANCELLED")
    assert run.status is Status.FAILED
    assert run.retry().running == ["c", "j"]
    assert run.succeed("j").succeed("c").status is Status.COMPLETED
    assert run.count("NODE_DISPATCHED b#2") == 0


def test_what_a_step_called_off_while_the_instance_was_paused_stays_called_off() -> None:
    """It had failed already, and was not ending yet."""
    document = draw("s>a s>b s>w", s=start(), b=task(cancels=["w"]), w=wait())
    run = play(document).start().pause().fail("a").succeed("b").resume()
    assert run.status is Status.FAILED
    assert run.step("w") == "CANCELLED"
    assert run.retry().news[2:] == ["NODE_DISPATCHED a#2"]


def test_what_was_lost_while_a_paused_instance_had_failed_begins_again() -> None:
    run = play(draw("s>a s>b", s=start())).start().pause().fail("a").lose("b").resume()
    assert run.status is Status.FAILED
    assert run.retry().running == ["a", "b"]


def test_all_that_failed_while_paused_runs_again() -> None:
    run = play(draw("s>a s>b", s=start())).start().pause().fail("a", "ONE").fail("b", "TWO")
    assert (run.resume().status, run.code) == (Status.FAILED, "ONE")
    assert run.retry().running == ["a", "b"]


def test_a_handled_failure_stays_handled() -> None:
    run = play(draw("a:error>b b>c")).start().fail("a").fail("b")
    assert run.status is Status.FAILED
    assert run.retry().running == ["b"]
    assert run.step("a") == "FAILED"


def test_a_join_that_has_fired_does_not_fire_again() -> None:
    document = draw("s>a s>b a>j b>j j>k", s=start(), j=task(joinMode="any"))
    run = play(document).start().succeed("a").fail("j").succeed("b")
    run.retry().succeed("j").succeed("k", "end")
    assert run.status is Status.COMPLETED
    assert [run.count(f"NODE_DISPATCHED j#{number}") for number in (1, 2, 3)] == [1, 1, 0]


def test_an_expression_that_failed_is_worked_out_again() -> None:
    document = draw("s>c c>a s>b", s=start(), a=task(input={"x": "{{steps.b.output.go()}}"}))
    run = play(document).start().succeed("c")
    assert run.code == "EXPRESSION_ERROR"
    run.fail("b", "CANCELLED")
    assert run.retry().news == [
        "RETRY_REQUESTED",
        "STATUS_CHANGED RUNNING",
        "NODE_FAILED a#2 EXPRESSION_ERROR fail",
        "STATUS_CHANGED FAILED",
    ]
    assert run.step("b") == "PENDING"
    assert run.view["steps"]["b"]["attempts"] == 1
    assert "NODE_FAILED a#3 EXPRESSION_ERROR fail" in run.retry().news


@pytest.mark.parametrize("kind", ["when", "condition", "until", "correlationId", "end"])
def test_whatever_could_not_be_worked_out_begins_as_its_next_attempt(kind: str) -> None:
    bad = "ctx.input.nothing()"
    boxes: dict[str, Object] = {
        "when": task(when=bad),
        "condition": condition(yes=bad),
        "until": {"type": "delay", "config": {"until": "{{" + bad + "}}"}},
        "correlationId": wait(correlationId="{{" + bad + "}}"),
        "end": end({"x": "{{" + bad + "}}"}),
    }
    run = play(draw("n", n=boxes[kind])).start({})
    assert "NODE_FAILED n#1 EXPRESSION_ERROR fail" in run.news
    assert "NODE_FAILED n#2 EXPRESSION_ERROR fail" in run.retry().news


def test_a_wait_looks_back_again_and_takes_no_event_twice() -> None:
    document = draw("s>a s>w s>v", s=start(), w=wait("paid"), v=wait("paid", lookback="PT10M"))
    run = play(document).start().fail("a").later(hours=1).retry()
    waits = {key.node: wait for key, wait in run.ledger.waits.items()}
    assert waits["w"].since == BEGIN
    assert waits["v"].since == run.now - timedelta(minutes=10)
    assert {wait.attempt for wait in waits.values()} == {2}
    event = Event(id="e1", pattern="paid", payload=None, received_at=BEGIN)
    with run.refusing("TEN-3003"):
        run.tell(EventMatched(node="w", attempt=1, event=event))
    run.hand("w", event, by_lookback=True)
    with run.refusing("TEN-3007"):
        run.hand("v", event, by_lookback=True)


def test_the_deadline_is_set_again_and_once_it_has_passed_nothing_is_retried() -> None:
    document = draw("a", a=task(), options={"timeout": "PT1H"})
    run = play(document).start().later(minutes=10).fail("a").retry()
    assert run.timer(TimerKind.DEADLINE) == BEGIN + timedelta(hours=1)
    run.fail("a").later(hours=1)
    with run.refusing("TEN-3009"):
        run.retry()


def test_what_a_terminate_step_ended_is_not_retried() -> None:
    run = play(draw("t", t=terminate("FAILED", reason="no"))).start()
    assert run.status is Status.FAILED
    with run.refusing("TEN-3009"):
        run.retry()


@pytest.mark.parametrize("name", ["created", "running", "waiting", "paused", "completed"])
def test_only_a_failed_instance_is_retried(name: str) -> None:
    run = SHELF[name]()
    with run.refusing("TEN-3002"):
        run.retry()


def test_a_cancelled_instance_is_not_retried() -> None:
    """Cancel is idempotent: a second one, or one while compensation runs, answers 200 with the
    state as it is; pause and retry then get 409.
    """
    run = SHELF["cancelled"]()
    with run.refusing("TEN-3002"):
        run.retry()


def test_poison_may_be_tried_once_more() -> None:
    run = play(draw("a")).start()
    for _ in range(5):
        run.lose("a")
    assert (run.status, run.code) == (Status.FAILED, "POISON")
    run.retry()
    for _ in range(4):
        run.lose("a")
    assert run.status is Status.RUNNING
    assert run.succeed("a", 1).output == 1


def test_what_was_lost_on_purpose_only_once_may_be_tried_by_hand() -> None:
    run = play(draw("a", a=task(retry={"onLost": "fail"}))).start().lose("a")
    assert run.code == "LOST"
    assert run.retry().succeed("a").status is Status.COMPLETED


def test_an_instance_that_was_set_aside_goes_on() -> None:
    run = set_aside(SHELF["running"]().later(seconds=1))
    run.retry()
    assert run.running == ["a"]
    assert run.attempt("a") == 2
    run.succeed("a").event("paid").skip().succeed("x").succeed("y").succeed("z")
    assert run.status is Status.COMPLETED
    assert folded(run.plan, run.state.id, run.entries) == run.state


def test_an_instance_that_was_set_aside_while_paused_is_not_paused_any_more() -> None:
    run = set_aside(SHELF["paused"]())
    assert run.retry().status is Status.RUNNING
    assert run.state.pause is None


def test_what_was_being_called_off_when_it_was_set_aside_is_called_off() -> None:
    document = draw("s>a s>b a>j b>j", s=start(), j=task(joinMode="any", cancelRest=True))
    run = set_aside(play(document).start().succeed("a"))
    assert run.retry().news == [
        "RETRY_REQUESTED",
        "STATUS_CHANGED RUNNING",
        "NODE_CANCELLED b#1",
        "NODE_DISPATCHED j#2",
    ]
    assert run.succeed("j").status is Status.COMPLETED


def test_an_instance_that_was_being_cancelled_when_it_was_set_aside_stays_so() -> None:
    run = set_aside(SHELF["running"]().cancel())
    asked = RetryAsked(by="ada")
    rejection = decide(run.plan, run.state, asked, run.now, run.policies).rejection
    assert rejection is not None
    assert rejection.code == "TEN-3009"


def test_results_and_losses_of_attempts_before_the_retry_are_not_taken() -> None:
    run = play(draw("s>a s>b", s=start())).start().fail("a").skip()
    assert run.step("b") == "CANCELLED"
    run.retry()
    with run.refusing("TEN-3005"):
        run.succeed("b", "too late", attempt=1)
    with run.refusing("TEN-3005"):
        run.lose("b", attempt=1)
    assert run.running == ["a", "b"]


def test_a_child_is_started_anew_by_its_parent_and_never_retried_itself() -> None:
    """A failed child is retried through its parent."""
    document = draw("c", c=child("pay", input={"n": "{{ctx.input.n}}"}, retry=ONCE))
    run = play(document).start({"n": 1}).resolve("c", version=2)
    run.child_ends("c", code="BROKE")
    assert (run.status, run.code) == (Status.FAILED, "CHILD_FAILED")
    run.retry()
    assert run.news[2:] == ["NODE_DISPATCHED c#2", "CHILD_STARTED c#2 pay v2"]
    assert run.child_ends("c", {"paid": 1}).output == {"paid": 1}

    parent = Parent(id="p", node="c", iteration="", attempt=1, root_id="p", depth=1)
    own = play(draw("a")).start(parent=parent).fail("a")
    with own.refusing("TEN-3009"):
        own.retry()


def test_a_loop_goes_on_with_the_iterations_that_it_has() -> None:
    """Completed ones stay, what failed runs again, and what was to come comes."""
    document = draw("l:loop>a a>b l:done>z", l=loop([10, 20, 30], outputVariable="all"))
    run = play(document).start()
    run.succeed("a[0]").succeed("b[0]", "first").succeed("a[1]").fail("b[1]")
    assert (run.status, run.code) == (Status.FAILED, "OOPS")
    assert run.retry().news == [
        "RETRY_REQUESTED",
        "STATUS_CHANGED RUNNING",
        "NODE_DISPATCHED b[1]#2",
    ]
    run.succeed("b[1]", "second").succeed("a[2]").succeed("b[2]", "third")
    assert run.ctx["all"] == ["first", "second", "third"]
    assert run.succeed("z").status is Status.COMPLETED
    assert run.count("ITERATION_STARTED l[0]#1") == 1
    assert run.count("NODE_COMPLETED a[0]#1") == 1
    assert "NODE_COMPLETED l#2 -> done" in run.log
    assert [line for line in run.log if line.startswith("ITERATION_ENDED")] == [
        "ITERATION_ENDED l[0]#1 success",
        "ITERATION_ENDED l[1]#2 success",
        "ITERATION_ENDED l[2]#2 success",
    ]


def test_iterations_beside_the_one_that_failed_begin_again() -> None:
    document = draw("l:loop>a a>b", l=loop([1, 2, 3], mode="parallel", outputVariable="all"))
    run = play(document).start().fail("a[1]").succeed("a[0]", "in its grace")
    run.fail("a[2]", "CANCELLED")
    assert run.status is Status.FAILED
    assert run.retry().running == ["a[1]", "a[2]", "b[0]"]
    run.succeed("b[0]", 0).succeed("a[1]").succeed("a[2]").succeed("b[1]", 1).succeed("b[2]", 2)
    assert run.output == [0, 1, 2]


def test_a_loop_in_a_loop_goes_on() -> None:
    document = draw(
        "l:loop>m m:loop>a m:done>c",
        l=loop([1, 2], mode="parallel"),
        m=loop([1, 2]),
    )
    run = play(document).start().succeed("a[0/0]").succeed("a[1/0]").fail("a[0/1]")
    run.fail("a[1/1]", "CANCELLED").retry()
    assert run.running == ["a[0/1]", "a[1/1]"]
    run.succeed("a[0/1]").succeed("a[1/1]").succeed("c[0]").succeed("c[1]")
    assert run.status is Status.COMPLETED


def test_a_loop_that_another_failure_withdrew_goes_on() -> None:
    document = draw("s>x s>l l:loop>a l:done>z", s=start(), l=loop([1, 2], timeout="PT1H"))
    run = play(document).start().later(minutes=30).succeed("a[0]", 1).fail("x")
    run.succeed("a[1]", 2)
    assert run.status is Status.FAILED
    run.later(hours=2).retry()
    assert run.running == ["x", "z"], "the last iteration had ended well in its grace"
    assert run.state.nodes[NodeKey("l")].output == [1, 2]


def test_the_timeout_of_a_loop_is_fresh() -> None:
    document = draw("l:loop>a", l=loop([1, 2], timeout="PT1H"))
    run = play(document).start().succeed("a[0]").skip()
    assert run.code == "TIMEOUT"
    run.succeed("a[1]", "in its grace")
    assert run.retry().status is Status.COMPLETED
    run = play(document).start().succeed("a[0]").skip().fail("a[1]", "CANCELLED").later(hours=1)
    run.retry()
    assert run.running == ["a[1]"]
    assert run.timers["l"] == timedelta(hours=1)


def test_a_loop_over_nothing_to_go_over_is_entered_again() -> None:
    run = play(draw("l:loop>a", l=loop("{{ctx.input.none}}"))).start({})
    assert run.code == "LOOP_SOURCE"
    assert "NODE_FAILED l#2 LOOP_SOURCE fail" in run.retry().news


def test_a_while_loop_that_came_to_its_limit_has_a_fresh_one() -> None:
    document = draw("l:loop>a", l=loop(**REPEAT))
    run = play(document).start().succeed("a[0]").succeed("a[1]")
    assert run.code == "LOOP_LIMIT"
    assert run.retry().running == ["a[2]"]
    run.succeed("a[2]").succeed("a[3]")
    assert run.news[-2:] == ["NODE_FAILED l#2 LOOP_LIMIT fail", "STATUS_CHANGED FAILED"]


def test_a_result_that_could_not_be_worked_out_is_worked_out_again() -> None:
    document = draw("l:loop>a l:done>z", l=loop([1], result="{{ctx.one.go()}}"))
    run = play(document).start().succeed("a[0]")
    assert run.code == "EXPRESSION_ERROR"
    assert "NODE_FAILED l#2 EXPRESSION_ERROR fail" in run.retry().news


def test_an_item_that_failed_and_was_made_do_without_stays_so() -> None:
    document = draw(
        "s>x s>l l:loop>a a>b", s=start(), l=loop([1, 2], mode="parallel", onItemError="continue")
    )
    run = play(document).start().fail("a[0]").fail("x").fail("a[1]", "CANCELLED")
    assert run.status is Status.FAILED
    run.retry()
    assert run.running == ["a[1]", "x"]
    run.succeed("a[1]").succeed("b[1]", "two").succeed("x")
    assert run.state.nodes[NodeKey("l")].output == [None, "two"]


def test_what_a_failed_iteration_called_off_stays_called_off() -> None:
    document = draw("s>x s>l l:loop>a l:loop>b", s=start(), l=loop([1], onItemError="continue"))
    run = play(document).start().fail("a[0]").fail("x")
    assert run.status is Status.RUNNING, "b has its grace"
    run.fail("b[0]", "CANCELLED")
    assert run.retry().running == ["x"]
    assert run.succeed("x").status is Status.COMPLETED


def test_an_instance_with_a_loop_that_was_set_aside_goes_on() -> None:
    document = draw("l:loop>a l:done>z", l=loop([1, 2, 3], mode="parallel", concurrency=2))
    run = play(document).start().succeed("a[0]", 1)
    set_aside(run).retry()
    assert run.running == ["a[1]", "a[2]"]
    run.succeed("a[1]", 2).succeed("a[2]", 3).succeed("z")
    assert run.status is Status.COMPLETED


def test_a_result_that_comes_too_late_is_kept_also_after_a_retry() -> None:
    """Later results get 409 and become dead letters of kind `late-result`."""
    run = play(draw("a b")).start().fail("b").later(seconds=11).fire().retry()
    assert run.attempt("a") == 2
    for _ in range(2):
        with run.refusing("TEN-3005"):
            run.succeed("a", "charged", attempt=1)
    with run.refusing("TEN-3003"):
        run.succeed("a", "charged", attempt=3)
    kept = run.ledger.dead_letters[-1]
    assert (kept.kind, kept.attempt, kept.output) == ("late-result", 1, "charged")
    run.succeed("a").fail("b").retry()
    with run.refusing("TEN-3005"):
        run.succeed("a", "charged", attempt=1)
    assert run.succeed("b").status is Status.COMPLETED


def test_a_loop_that_was_over_before_the_end_stays_over() -> None:
    """Its failure was handled while the instance was paused on its way to the end."""
    document = draw(
        "b l:loop>t t>u l:error>h", l=loop("{{ctx.input}}", mode="parallel"), b=task(retry=ONCE)
    )
    run = play(document).start([0, 1]).pause().succeed("t[0]").fail("b").fail("t[1]").resume()
    assert run.status is Status.FAILED
    run.retry()
    assert run.running == ["b", "h"]
    assert "ITERATION_ENDED l[0]#1 cancelled" in run.news


def test_nothing_is_reopened_in_an_iteration_that_has_failed_since() -> None:
    document = draw(
        "b l:loop>t l:loop>u l:done>z",
        l=loop([0], onItemError="continue"),
        b=task(retry=ONCE),
        u=child(),
    )
    run = play(document).start().resolve("u[0]").pause().fail("b").fail("t[0]").resume()
    assert run.status is Status.FAILED
    run.retry()
    assert run.running == ["b", "z"]
    assert run.ledger.children == {}
