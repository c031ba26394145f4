"""Calling off a part of an instance: `cancelRest`, `cancels`, and the grace of what runs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from tenuto.model.inputs import TimerKind
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import condition, delay, draw, end, start, task, wait
from tests.core.play import Run, play

RACE = draw("s>a s>b s>c a>j b>j c>j j>z", s=start(), j=task(joinMode="any", cancelRest=True))


def test_cancel_rest_calls_off_whatever_could_still_have_arrived() -> None:
    """`cancelRest` cancels the unfinished nodes from which an edge of this join that has not
    arrived can be reached (a loop with its body); their other edges become dead.
    """
    document = draw(
        "s>a s>b b>c c>d d>j a>j j>z b>side c>other",
        s=start(),
        j=task(joinMode="any", cancelRest=True),
    )
    run = play(document).start().succeed("b").succeed("a")
    assert run.news == [
        "NODE_COMPLETED a#1",
        "NODE_CANCEL_REQUESTED c#1",
        "NODE_SKIPPED d#1 cancelled",
        "NODE_DISPATCHED j#1",
        "NODE_SKIPPED other#1 dead-path",
    ]
    assert run.running == ["c", "j", "side"], "side hangs on what was over already"


def test_cancels_calls_off_the_nodes_that_it_names() -> None:
    """`cancels` does the same to the nodes that it names."""
    document = draw(
        "s>a s>b s>w s>d b>x w>y d>z",
        s=start(),
        a=task(cancels=["b", "w", "d", "z"]),
        w=wait(),
        d=delay(),
    )
    run = play(document).start().succeed("a")
    assert run.news[:5] == [
        "NODE_COMPLETED a#1",
        "NODE_CANCEL_REQUESTED b#1",
        "NODE_CANCELLED w#1",
        "NODE_CANCELLED d#1",
        "NODE_SKIPPED z#1 cancelled",
    ]
    assert run.ledger.waits == {}
    assert set(run.timers) == {"b"}, "only the grace of b is left"
    assert run.fail("b", "CANCELLED").status is Status.COMPLETED


def test_the_join_goes_on_at_once_and_running_tasks_are_told() -> None:
    """Cancelling part of an instance: the join (or node) goes on at once; unclaimed tasks are
    withdrawn at once and never handed out; running ones are told and have the grace period.
    """
    run = play(RACE).start().succeed("b")
    assert run.news == [
        "NODE_COMPLETED b#1",
        "NODE_CANCEL_REQUESTED a#1",
        "NODE_CANCEL_REQUESTED c#1",
        "NODE_DISPATCHED j#1",
    ]
    assert {key.node for key in run.ledger.told_to_stop} == {"a", "c"}
    assert run.timers["a"].total_seconds() == 10


def test_a_retry_that_is_due_is_withdrawn_and_never_handed_out() -> None:
    run = play(RACE).start().fail("a", retryable=True).succeed("b")
    assert "NODE_CANCELLED a#1" in run.news
    assert TimerKind.RETRY not in {key.kind for key in run.ledger.timers}
    assert run.running == ["c", "j"]


def test_a_result_within_the_grace_is_recorded_and_starts_nothing() -> None:
    """A result within it is recorded (NODE_COMPLETED, compensated later if need be) but starts
    nothing; otherwise NODE_CANCELLED.
    """
    document = draw(
        "s>a s>b a>j b>j b>x",
        s=start(),
        b=task(outputVariable="late"),
        j=task(joinMode="any", cancelRest=True),
    )
    run = play(document).start().succeed("a").later(seconds=9).succeed("b", 5)
    assert run.news == ["NODE_COMPLETED b#1"]
    assert run.ctx["late"] == 5
    assert run.step("x") == "SKIPPED"
    run = play(document).start().succeed("a").skip()
    assert run.news == ["NODE_CANCELLED b#1"]
    with run.refusing("TEN-3005"):
        run.succeed("b", 5)
    assert [letter.kind for letter in run.ledger.dead_letters] == ["late-result"]
    assert run.succeed("j").status is Status.COMPLETED


def test_what_was_never_dispatched_is_skipped_as_cancelled() -> None:
    """What was never dispatched is NODE_SKIPPED (`reason: "cancelled"`)."""
    document = draw("s>a s>b b>c c>j a>j", s=start(), j=task(joinMode="any", cancelRest=True))
    run = play(document).start().succeed("a")
    assert "NODE_SKIPPED c#1 cancelled" in run.news
    assert run.step("c") == "SKIPPED"


def test_a_worker_obeys_by_reporting_cancelled() -> None:
    """A worker obeys by reporting a failure with code `CANCELLED`: that ends the grace and is
    never retried.
    """
    run = play(RACE).start().succeed("a").later(seconds=1).fail("b", "CANCELLED", retryable=True)
    assert run.news == ["NODE_CANCELLED b#1"]
    assert run.step("b") == "CANCELLED"
    assert "b" not in run.timers
    assert run.fail("c", "OOPS", retryable=True).news == [
        "NODE_FAILED c#1 OOPS cancel",
        "NODE_CANCELLED c#1",
    ]
    assert run.succeed("j").succeed("z").status is Status.COMPLETED


def test_after_the_grace_a_report_is_refused() -> None:
    """After the grace its heartbeat and report get 409."""
    run = play(RACE).start().succeed("a").skip()
    reports: list[Callable[[], Run]] = [
        lambda: run.succeed("b", 1),
        lambda: run.fail("b", "CANCELLED"),
        lambda: run.fail("c"),
    ]
    for report in reports:
        with run.refusing("TEN-3005"):
            report()


def test_a_called_off_attempt_that_is_lost_is_over() -> None:
    run = play(RACE).start().succeed("a").lose("b").lose("c", clean=True)
    assert run.log[-2:] == ["NODE_CANCELLED b#1", "NODE_CANCELLED c#1"]
    assert run.succeed("j").succeed("z").status is Status.COMPLETED


def test_a_called_off_branch_cannot_fail_the_workflow() -> None:
    routes: list[JSON] = [{"when": "ctx.input.nope()", "handle": "x"}]
    document = draw(
        "s>a s>b a>j b>j b:x>j s>k",
        s=start(),
        b=task(conditions=routes, cancels=["k"]),
        j=task(joinMode="any", cancelRest=True),
    )
    run = play(document).start({}).succeed("a").succeed("b", 1)
    assert run.news == ["NODE_COMPLETED b#1"]
    assert run.running == ["j", "k"], "and what it would have cancelled goes on"
    run = play(document).start({}).succeed("a").succeed("b", handle="unheard-of")
    assert run.news == ["NODE_FAILED b#1 UNKNOWN_HANDLE cancel", "NODE_CANCELLED b#1"]


def branches() -> dict[str, Object]:
    """One branch into the join, in every state in which it can be when the other arrives."""
    return {
        "running": task(),
        "retrying": task(),
        "waiting": wait(),
        "sleeping": delay(),
        "pending": task(),
        "passed-over": task(when="false"),
    }


@pytest.mark.parametrize("state", branches())
def test_cancel_rest_ends_a_branch_in_whatever_state_it_is(state: str) -> None:
    document = draw(
        "s>a s>p p>b b>c c>j a>j" if state == "pending" else "s>a s>b b>c c>j a>j",
        s=start(),
        b=branches()[state],
        c=task() if state != "pending" else wait(),
        j=task(joinMode={"atLeast": 1}, cancelRest=True),
    )
    run = play(document).start()
    if state == "retrying":
        run.fail("b", retryable=True)
    run.succeed("a")
    assert "NODE_DISPATCHED j#1" in run.news
    for node in run.running:
        if node != "j":
            run.fail(node, "CANCELLED")
    assert run.timers == {}
    assert run.ledger.waits == {}
    assert run.succeed("j").status is Status.COMPLETED


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
@pytest.mark.parametrize("needed", [1, 2, 3])
def test_cancel_rest_in_every_order_of_arrival(order: tuple[str, ...], needed: int) -> None:
    join = task(joinMode={"atLeast": needed}, cancelRest=True)
    run = play(draw("s>a s>b s>c a>j b>j c>j j>z", s=start(), j=join)).start()
    for node in order[:needed]:
        run.succeed(node)
    assert run.count("NODE_DISPATCHED j#1") == 1
    for node in order[needed:]:
        assert f"NODE_CANCEL_REQUESTED {node}#1" in run.log
        run.fail(node, "CANCELLED")
    assert run.succeed("j").succeed("z").status is Status.COMPLETED
    assert run.count("NODE_DISPATCHED j#1") == 1


def test_what_was_called_off_is_dead_for_its_other_targets() -> None:
    document = draw(
        "s>a s>b a>j b>j b>k s>c c>k k>z",
        s=start(),
        j=task(joinMode="any", cancelRest=True),
    )
    run = play(document).start().succeed("a").fail("b", "CANCELLED").succeed("c")
    assert "NODE_DISPATCHED k#1" in run.news, "an all-join goes on with the edges that are left"
    assert run.succeed("j").succeed("k").succeed("z").status is Status.COMPLETED


def test_two_nodes_may_cancel_each_other() -> None:
    document = draw("s>a s>b a>x b>y", s=start(), a=task(cancels=["b"]), b=task(cancels=["a"]))
    for winner, loser, after in (("a", "b", "x"), ("b", "a", "y")):
        run = play(document).start().succeed(winner).succeed(loser)
        assert run.running == [after]
        assert run.succeed(after).status is Status.COMPLETED


def test_a_node_that_is_not_reached_is_called_off_before_it_begins() -> None:
    document = draw("s>a s>b a>x b>y", s=start(), a=task(cancels=["y"]))
    run = play(document).start().succeed("a")
    assert "NODE_SKIPPED y#1 cancelled" in run.news
    assert run.succeed("b").succeed("x").status is Status.COMPLETED


def test_what_is_over_cannot_be_called_off() -> None:
    document = draw("s>a s>b b>y", s=start(), a=task(cancels=["b"]))
    run = play(document).start().succeed("b").succeed("a")
    assert run.news == ["NODE_COMPLETED a#1"]


def test_nested_races_call_off_only_their_own_region() -> None:
    document = draw(
        "s>a s>b a>i b>i i>o s>c c>d d>o o>z",
        s=start(),
        i=task(joinMode="any", cancelRest=True),
        o=task(joinMode="any", cancelRest=True),
    )
    run = play(document).start().succeed("a")
    assert run.news == [
        "NODE_COMPLETED a#1",
        "NODE_CANCEL_REQUESTED b#1",
        "NODE_DISPATCHED i#1",
    ]
    run.succeed("c").succeed("d")
    assert run.news == [
        "NODE_COMPLETED d#1",
        "NODE_CANCEL_REQUESTED i#1",
        "NODE_DISPATCHED o#1",
    ]
    run.fail("b", "CANCELLED").fail("i", "CANCELLED").succeed("o")
    assert run.succeed("z").status is Status.COMPLETED


def test_a_dead_branch_does_not_let_an_any_join_fire() -> None:
    document = draw(
        "s>c c:yes>a a>j s>b b>j",
        s=start(),
        c=condition(yes="false"),
        j=task(joinMode="any", cancelRest=True),
    )
    run = play(document).start()
    assert "NODE_DISPATCHED j#1" not in run.log
    assert "NODE_DISPATCHED j#1" in run.succeed("b").news


def ended(run: Run) -> bool:
    return run.status is Status.COMPLETED


def test_calling_off_a_part_does_not_keep_the_instance_from_its_end() -> None:
    run = play(draw("s>a s>b b>e", s=start(), a=task(cancels=["b"]), e=end({"x": 1}))).start()
    assert not ended(run.succeed("a"))
    assert ended(run.skip())
    assert run.output is None
