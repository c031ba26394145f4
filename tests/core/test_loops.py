"""Loops: bodies for each item or while a condition holds, with scopes of their own."""

from __future__ import annotations

import pytest

from tenuto.model.errors import InvalidDefinition
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import RetryAsked
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import condition, delay, draw, loop, start, task, wait
from tests.core.play import play

ITEMS = "{{ctx.input.items}}"


def test_items_are_done_one_after_the_other_and_collected_in_order() -> None:
    """Outputs collected in item order into `outputVariable`."""
    document = draw(
        "l:loop>a l:done>z",
        l=loop(ITEMS, outputVariable="all"),
        a=task(input="{{ctx.item}}"),
        z=task(input="{{ctx.all}}"),
    )
    run = play(document).start({"items": ["x", "y"]})
    assert run.running == ["a[0]"]
    assert run.ledger.running[next(iter(run.ledger.running))].input == "x"
    run.succeed("a[0]", 1)
    assert run.news == [
        "NODE_COMPLETED a[0]#1",
        "ITERATION_ENDED l[0]#1 success",
        "ITERATION_STARTED l[1]#1",
        "NODE_DISPATCHED a[1]#1",
    ]
    run.succeed("a[1]", 2)
    assert run.ctx["all"] == [1, 2]
    assert run.succeed("z").status is Status.COMPLETED


def test_parallel_items_run_at_most_so_many_at_once_and_keep_the_order_of_items() -> None:
    document = draw("l:loop>a", l=loop(ITEMS, mode="parallel", concurrency=2), a=task())
    run = play(document).start({"items": [0, 1, 2]})
    assert run.running == ["a[0]", "a[1]"]
    run.succeed("a[1]", "b")
    assert run.running == ["a[0]", "a[2]"]
    run.succeed("a[2]", "c").succeed("a[0]", "a")
    assert run.output == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("source", "message"), [(7, "a number"), ({"a": 1}, "an object"), (None, "null")]
)
def test_a_source_that_is_no_array_fails_the_loop(source: JSON, message: str) -> None:
    """`source` is read once and must be an array (`LOOP_SOURCE`)."""
    run = play(draw("l:loop>a", l=loop(ITEMS))).start({"items": source})
    assert (run.status, run.code) == (Status.FAILED, "LOOP_SOURCE")
    assert run.state.last_error is not None
    assert message in run.state.last_error.message


def test_an_empty_source_goes_to_done_with_an_empty_array() -> None:
    """empty goes to `done` with `[]`."""
    run = play(draw("l:loop>a l:done>z", l=loop(ITEMS, outputVariable="all"))).start({"items": []})
    assert run.running == ["z"]
    assert run.ctx["all"] == []


def test_the_source_is_read_once() -> None:
    document = draw(
        "s>l s>w l:loop>a",
        s=start(),
        l=loop("{{ctx.list ?? [1, 2]}}"),
        w=task(outputVariable="list"),
    )
    run = play(document).start().succeed("w", [9, 9, 9, 9]).succeed("a[0]").succeed("a[1]")
    assert run.status is Status.COMPLETED


def test_sequential_scopes_start_from_the_iteration_before_parallel_ones_from_the_entry() -> None:
    """`parallel`: every scope starts from the context at loop entry; `sequential`: from before."""
    one_at_a_time: Object = {"mode": "parallel", "concurrency": 1}
    for mode, seen in (({"mode": "sequential"}, [0, "one"]), (one_at_a_time, [0, 0])):
        document = draw(
            "i>l l:loop>a a>b",
            i=task(outputVariable="v"),
            l=loop([1, 2], **mode),
            a=task(input="{{ctx.v}}"),
            b=task(outputVariable="v"),
        )
        run = play(document).start().succeed("i", 0)
        inputs = []
        for index, value in enumerate(["one", "two"]):
            [order] = run.ledger.running.values()
            inputs.append(order.input)
            run.succeed(f"a[{index}]").succeed(f"b[{index}]", value)
        assert inputs == seen
        assert run.ctx["v"] == 0, "afterwards only the loop's output variable is in ctx"


def test_what_others_write_meanwhile_is_not_seen_inside() -> None:
    document = draw(
        "s>l s>w l:loop>a a>b",
        s=start(),
        l=loop([1]),
        w=task(outputVariable="v"),
        b=task(input="{{ctx.v ?? 'nothing'}}"),
    )
    run = play(document).start().succeed("w", "late").succeed("a[0]")
    [order] = run.ledger.running.values()
    assert order.input == "nothing"


def test_steps_mean_this_iteration_inside_and_do_not_exist_outside() -> None:
    """`steps.<bodyNode>` means this iteration inside and does not exist outside."""
    document = draw(
        "p>l l:loop>a a>b l:done>z",
        l=loop([1, 2], mode="parallel"),
        b=task(input="{{steps.a.output}} {{steps.p.output}}"),
        z=task(input="{{steps.a?.status ?? 'gone'}}"),
    )
    run = play(document).start().succeed("p", "p").succeed("a[1]", "one").succeed("a[0]", "zero")
    inputs = {key.iteration: order.input for key, order in run.ledger.running.items()}
    assert inputs == {"0": "zero p", "1": "one p"}
    run.succeed("b[0]").succeed("b[1]")
    [order] = run.ledger.running.values()
    assert order.input == "gone"


def test_a_body_may_have_joins_conditions_waits_and_another_loop() -> None:
    document = draw(
        "l:loop>c c:big>a c:big>w c:else>x a>j w>j j>m x>m m:loop>n",
        l=loop(ITEMS, mode="parallel", result="{{steps.m.output}}"),
        c=condition(big="ctx.item > 1"),
        w=wait("go", eventCondition="event.payload === ctx.item"),
        m=loop("{{[ctx.item, ctx.item * 2]}}"),
        n=task(input="{{ctx.item}}"),
    )
    run = play(document).start({"items": [1, 5]})
    assert run.running == ["a[1]", "x[0]"]
    run.succeed("x[0]").succeed("a[1]")
    assert run.running == ["n[0/0]"]
    run.event("go", 5).succeed("j[1]")
    assert run.running == ["n[0/0]", "n[1/0]"]
    for key in ("n[0/0]", "n[1/0]", "n[1/1]", "n[0/1]"):
        run.succeed(key, run.ledger.running[next(iter(run.ledger.running))].input and key)
    assert run.output == [["n[0/0]", "n[0/1]"], ["n[1/0]", "n[1/1]"]]
    assert (run.state.iterations, run.state.loops, run.state.quiet) == ({}, {}, {})
    assert [key for key in run.state.nodes if key.iteration] == []


def test_while_is_tested_before_each_iteration_with_index_and_last() -> None:
    """tested before each iteration, with `ctx.index` and `ctx.last` (null at first)."""
    document = draw("l:loop>a", l=loop(**{"while": "ctx.index < 5 && ctx.last !== 'stop'"}))
    run = play(document).start().succeed("a[0]", "on").succeed("a[1]", "stop")
    assert run.output == ["on", "stop"]
    never = play(draw("l:loop>a", l=loop(**{"while": "ctx.last !== null"}))).start()
    assert never.output == []


def test_while_sees_what_the_iteration_before_wrote() -> None:
    document = draw(
        "l:loop>a", l=loop(**{"while": "ctx.page?.more ?? true"}), a=task(outputVariable="page")
    )
    run = play(document).start().succeed("a[0]", {"more": True}).succeed("a[1]", {"more": False})
    assert run.status is Status.COMPLETED


def test_a_loop_that_never_ends_fails_at_its_limit() -> None:
    """at `maxIterations` (1,000) it fails `LOOP_LIMIT`."""
    document = draw("l:loop>a", l=loop(maxIterations=2, **{"while": "true"}))
    run = play(document).start().succeed("a[0]").succeed("a[1]")
    assert (run.status, run.code) == (Status.FAILED, "LOOP_LIMIT")


def test_an_item_error_may_be_passed_over() -> None:
    """`onItemError: "continue"` puts null there and `{index, error}` into `steps.<loop>.errors`."""
    document = draw(
        "l:loop>a a>b l:done>z",
        l=loop([1, 2, 3], mode="parallel", onItemError="continue", outputVariable="all"),
        z=task(input="{{steps.l.errors[0].index}}"),
    )
    run = play(document).start().fail("a[1]", "BAD")
    assert run.news == ["NODE_FAILED a[1]#1 BAD iteration", "ITERATION_ENDED l[1]#1 error"]
    assert run.ledger.dead_letters == []
    for index in (0, 2):
        run.succeed(f"a[{index}]").succeed(f"b[{index}]", index)
    assert run.ctx["all"] == [0, None, 2]
    [order] = run.ledger.running.values()
    assert order.input == 1
    assert run.view["steps"]["l"]["errors"][0]["error"]["code"] == "BAD"


def test_an_item_error_takes_the_rest_of_its_iteration_along() -> None:
    document = draw(
        "l:loop>a l:loop>b l:loop>w", l=loop([1, 2], onItemError="continue"), w=wait("never")
    )
    run = play(document).start().fail("a[0]")
    assert "NODE_CANCELLED w[0]#1" in run.news
    assert "NODE_CANCEL_REQUESTED b[0]#1" in run.news
    assert run.count("ITERATION_ENDED") == 0
    run.fail("b[0]", "CANCELLED")
    assert run.news[-4:] == [
        "ITERATION_STARTED l[1]#1",
        "NODE_DISPATCHED a[1]#1",
        "NODE_DISPATCHED b[1]#1",
        "WAIT_OPENED w[1]#1",
    ]


def test_an_item_error_fails_the_workflow_when_nothing_handles_it() -> None:
    """`"fail"` cancels the others."""
    run = play(draw("l:loop>a", l=loop([1, 2], mode="parallel"))).start().fail("a[1]", "BAD")
    assert run.news[:3] == [
        "NODE_FAILED a[1]#1 BAD fail",
        "NODE_CANCELLED l#1",
        "NODE_CANCEL_REQUESTED a[0]#1",
    ]
    run.fail("a[0]", "CANCELLED")
    assert (run.status, run.code) == (Status.FAILED, "BAD")
    assert [letter.node for letter in run.ledger.dead_letters] == ["a"]


def test_a_loop_routes_the_failure_of_an_item_as_its_own() -> None:
    document = draw("l:loop>a l:error>e l:done>z", l=loop([1, 2], mode="parallel"))
    run = play(document).start().fail("a[0]", "BAD")
    assert run.running == ["a[1]", "e"]
    assert run.news[:4] == [
        "NODE_FAILED a[0]#1 BAD iteration",
        "NODE_CANCEL_REQUESTED a[1]#1",
        "NODE_FAILED l#1 BAD route",
        "NODE_COMPLETED l#1 error -> error",
    ]
    run.succeed("a[1]", "in time")
    assert run.news[0] == "NODE_COMPLETED a[1]#1"
    assert run.succeed("e").status is Status.COMPLETED


def test_an_inner_loop_may_fail_an_item_of_the_outer_one() -> None:
    document = draw("l:loop>m m:loop>a", l=loop([1, 2], onItemError="continue"), m=loop([1, 2]))
    run = play(document).start().fail("a[0/0]", "BAD")
    assert run.news[:5] == [
        "NODE_FAILED a[0/0]#1 BAD iteration",
        "NODE_FAILED m[0]#1 BAD iteration",
        "ITERATION_ENDED m[0/0]#1 error",
        "ITERATION_ENDED l[0]#1 error",
        "ITERATION_STARTED l[1]#1",
    ]
    run.succeed("a[1/0]", 1).succeed("a[1/1]", 2)
    assert run.output == [None, [1, 2]]


@pytest.mark.parametrize("enough", [2, "ctx.results.length >= 2"])
def test_enough_ends_the_loop_and_lets_the_rest_go_on(enough: JSON) -> None:
    """the instance is done only when they have ended, and their failures change nothing."""
    document = draw("l:loop>a l:done>z", l=loop([1, 2, 3], mode="parallel", enough=enough))
    run = play(document).start().succeed("a[2]", "c").succeed("a[0]", "a")
    assert run.view["steps"]["l"]["output"] == ["a", "c"]
    assert run.running == ["a[1]", "z"]
    run.succeed("z")
    assert run.status is Status.RUNNING
    run.fail("a[1]", "LATE")
    assert run.news == [
        "NODE_FAILED a[1]#1 LATE iteration",
        "ITERATION_ENDED l[1]#1 error",
        "STATUS_CHANGED COMPLETED",
    ]


def test_enough_with_cancel_rest_cancels_the_others() -> None:
    """the rest are cancelled with `cancelRest`."""
    document = draw(
        "l:loop>a", l=loop([1, 2, 3], mode="parallel", concurrency=2, enough=1, cancelRest=True)
    )
    run = play(document).start().succeed("a[1]", "b")
    assert "NODE_CANCEL_REQUESTED a[0]#1" in run.news
    run.fail("a[0]", "CANCELLED")
    assert run.news[-2:] == ["ITERATION_ENDED l[0]#1 cancelled", "STATUS_CHANGED COMPLETED"]
    assert run.output == ["b"]
    assert run.count("ITERATION_STARTED l[2]#1") == 0


def test_a_join_fires_once_in_each_iteration() -> None:
    """A join fires exactly once per activation: per instance, and per iteration inside a loop."""
    document = draw(
        "l:loop>a l:loop>b a>j b>j", l=loop([1, 2], mode="parallel"), j=task(joinMode="any")
    )
    run = play(document).start()
    for node in ("a[0]", "b[1]", "a[1]", "b[0]"):
        run.succeed(node)
    assert run.count("NODE_DISPATCHED j[0]#1") == run.count("NODE_DISPATCHED j[1]#1") == 1


def test_cancel_rest_inside_a_body_stays_in_its_iteration() -> None:
    document = draw(
        "l:loop>a l:loop>b a>j b>j",
        l=loop([1, 2], mode="parallel"),
        j=task(joinMode="any", cancelRest=True),
    )
    run = play(document).start().succeed("a[0]")
    assert "NODE_CANCEL_REQUESTED b[0]#1" in run.news
    assert run.running == ["a[1]", "b[0]", "b[1]", "j[0]"]


def test_calling_off_a_loop_takes_its_body_along() -> None:
    """`cancelRest` cancels the unfinished nodes (a loop with its body)."""
    document = draw(
        "s>l s>q l:loop>m m:loop>a l:done>j q>j",
        s=start(),
        l=loop([1, 2], mode="parallel"),
        m=loop([1]),
        j=task(joinMode="any", cancelRest=True),
    )
    run = play(document).start().succeed("q")
    assert {"NODE_CANCELLED l#1", "NODE_CANCELLED m[0]#1", "NODE_CANCELLED m[1]#1"} <= {*run.news}
    assert run.running == ["a[0/0]", "a[1/0]", "j"]
    for node in ("a[0/0]", "a[1/0]"):
        run.fail(node, "CANCELLED")
    assert run.succeed("j").status is Status.COMPLETED
    assert run.count("ITERATION_ENDED") == 4


def test_a_result_that_comes_after_its_iteration_was_called_off_is_a_dead_letter() -> None:
    document = draw(
        "s>l s>q l:loop>a l:done>j q>j",
        s=start(),
        l=loop([1]),
        a=task(input={"id": "{{ctx.input.id}}"}),
        j=task(joinMode="any", cancelRest=True),
    )
    run = play(document).start({"id": 7}).succeed("q").later(seconds=10).fire()
    assert run.news[0] == "NODE_CANCELLED a[0]#1"
    with run.refusing("TEN-3005"):
        run.succeed("a[0]", attempt=1)
    [letter] = run.ledger.dead_letters
    assert (letter.kind, letter.input) == ("late-result", {"id": 7})


def test_a_loop_may_take_too_long() -> None:
    """on loops `timeout` bounds the whole node."""
    document = draw("l:loop>a l:error>e", l=loop([1, 2], timeout="PT1M"))
    run = play(document).start().later(minutes=1).fire()
    assert run.running == ["a[0]", "e"]
    assert "NODE_FAILED l#1 TIMEOUT route" in run.news


def test_only_waits_in_a_loop_are_waiting_for_an_event() -> None:
    """WAITING_FOR_EVENT: an open wait and no task attempt, due retry, delay, child."""
    document = draw("l:loop>w w>d", l=loop([1, 2], mode="parallel"), w=wait("go"), d=delay("PT1M"))
    run = play(document).start()
    assert run.status is Status.WAITING_FOR_EVENT
    assert run.event("go").status is Status.RUNNING
    assert run.skip().status is Status.COMPLETED


def test_a_paused_loop_begins_no_further_iteration() -> None:
    run = play(draw("l:loop>a", l=loop([1, 2]))).start().pause().succeed("a[0]")
    assert run.news == ["NODE_COMPLETED a[0]#1"]
    assert run.resume().running == ["a[1]"]


def test_a_cancelled_instance_ends_its_loops() -> None:
    document = draw("l:loop>w l:loop>d", l=loop([1, 2], mode="parallel"), w=wait(), d=delay())
    assert play(document).start().cancel().status is Status.CANCELLED


def test_terminate_in_a_loop_ends_the_instance() -> None:
    document = draw(
        "l:loop>a a>t",
        l=loop([1, 2]),
        t={"type": "terminate", "config": {"output": "{{ctx.item}}"}},
    )
    run = play(document).start().succeed("a[0]")
    assert run.output == 1


def test_a_result_template_may_fail_its_item() -> None:
    document = draw("l:loop>a", l=loop([1], result="{{'x'.repeat(1e12)}}", onItemError="continue"))
    run = play(document).start().succeed("a[0]")
    assert run.output == [None]
    assert run.view["steps"]["l"]["errors"][0]["error"]["code"] == "EXPRESSION_ERROR"


def test_too_many_items_are_refused() -> None:
    run = play(draw("l:loop>a", l=loop("{{ctx.input}}"))).start([None] * 100_001)
    assert (run.status, run.code) == (Status.FAILED, "TOO_LARGE")


def test_what_iterations_write_counts_until_they_have_ended() -> None:
    document = draw("l:loop>a a>b", l=loop([1, 2], mode="parallel"), a=task(outputVariable="v"))
    run = play(document).start().succeed("a[0]", "x" * 100)
    assert run.state.context_bytes == 102
    run.succeed("a[1]", "x" * 10).succeed("b[0]").succeed("b[1]")
    assert run.state.context_bytes == 0


def test_an_edge_back_to_the_loop_ends_an_iteration() -> None:
    """an edge back to its own loop node means: end of the iteration."""
    run = play(draw("l:loop>a a>l", l=loop([1, 2]))).start().succeed("a[0]", 1).succeed("a[1]", 2)
    assert run.output == [1, 2]


def test_an_error_that_leads_back_to_the_loop_is_handled_and_ends_the_iteration() -> None:
    """an edge back to its own loop node means: end of the iteration."""
    document = draw("l:loop>a a>b a:error>l", l=loop([1, 2]))
    run = play(document).start().fail("a[0]", "BAD")
    assert run.news[:4] == [
        "NODE_FAILED a[0]#1 BAD route",
        "NODE_COMPLETED a[0]#1 error -> error",
        "NODE_SKIPPED b[0]#1 dead-path",
        "ITERATION_ENDED l[0]#1 success",
    ]
    assert run.succeed("a[1]").succeed("b[1]").status is Status.COMPLETED


def test_a_time_out_that_leads_back_to_the_loop_ends_the_iteration() -> None:
    late = wait("go", eventTimeout={"duration": "PT1M"})
    run = play(draw("l:loop>w w>b w:timeout>l", l=loop([1]), w=late)).start().skip()
    assert "NODE_COMPLETED w[0]#1 -> timeout" in run.news
    assert run.status is Status.COMPLETED


def test_nothing_begins_in_an_iteration_that_failed() -> None:
    """A join whose last edge dies with the iteration does not fire any more."""
    document = draw(
        "l:loop>a l:loop>w l:loop>x a>j w>j", l=loop([1, 2], onItemError="continue"), w=wait()
    )
    run = play(document).start().succeed("a[0]").fail("x[0]", "BAD")
    assert run.news[:3] == [
        "NODE_FAILED x[0]#1 BAD iteration",
        "NODE_CANCELLED w[0]#1",
        "ITERATION_ENDED l[0]#1 error",
    ]


def test_nothing_begins_in_an_iteration_that_was_called_off() -> None:
    """the rest are cancelled with `cancelRest`."""
    document = draw(
        "l:loop>a l:loop>b a>j b>j",
        l=loop([1, 2], mode="parallel", enough=1, cancelRest=True),
        j=task(),
    )
    run = play(document).start().succeed("a[1]").succeed("a[0]").succeed("b[0]").succeed("j[0]")
    assert run.news[-1] == "NODE_CANCEL_REQUESTED b[1]#1"
    assert run.running == ["b[1]"]
    assert run.succeed("b[1]").status is Status.COMPLETED
    assert run.count("NODE_DISPATCHED j[1]#1") == 0


def test_what_a_loop_left_behind_is_called_off_with_the_loop_around_it() -> None:
    """`cancelRest` cancels the unfinished nodes … (a loop with its body)."""
    document = draw(
        "s>l s>q l:loop>m m:loop>w m:done>b l:done>j q>j",
        s=start(),
        l=loop([1]),
        m=loop([1, 2], mode="parallel", enough=1),
        w=wait("go", eventCondition="event.payload === ctx.item"),
        j=task(joinMode="any", cancelRest=True),
    )
    run = play(document).start().event("go", 1)
    assert run.running == ["b[0]", "q"]
    run.succeed("q")
    assert "NODE_CANCELLED w[0/1]#1" in run.news
    assert run.news[-1] == "ITERATION_ENDED m[0/1]#1 cancelled"
    assert run.fail("b[0]", "CANCELLED").succeed("j").status is Status.COMPLETED


def test_an_iteration_may_cancel_what_is_outside_of_its_loop() -> None:
    """`cancels` does the same to the nodes that it names."""
    document = draw(
        "s>t s>l l:loop>m m:loop>a", s=start(), l=loop([1]), m=loop([1]), t=wait("never"),
        a=task(cancels=["t"]),
    )  # fmt: skip
    run = play(document).start().succeed("a[0/0]")
    assert run.news[:2] == ["NODE_COMPLETED a[0/0]#1", "NODE_CANCELLED t#1"]
    assert run.status is Status.COMPLETED


def test_an_iteration_may_break_off_its_own_loop() -> None:
    document = draw("l:loop>a a>b l:loop>c", l=loop([1, 2], mode="parallel"), a=task(cancels=["l"]))
    run = play(document).start().succeed("a[1]")
    assert run.news[:2] == ["NODE_COMPLETED a[1]#1", "NODE_CANCELLED l#1"]
    assert run.running == ["a[0]", "c[0]", "c[1]"]
    for node in run.running:
        run.fail(node, "CANCELLED")
    assert run.status is Status.COMPLETED
    assert run.count("NODE_DISPATCHED b[1]#1") == 0


def test_a_body_cannot_be_cancelled_from_outside() -> None:
    """Which of its iterations would be meant?"""
    with pytest.raises(InvalidDefinition, match="TEN-1049"):
        play(draw("s>t s>l l:loop>a", s=start(), l=loop([1]), t=task(cancels=["a"])))


def test_what_an_iteration_cancels_outside_is_cancelled_once_it_is_retried() -> None:
    """A result within the grace starts nothing, until a retry; then it means the same node."""
    document = draw(
        "s>l s>t s>x l:loop>a", s=start(), l=loop([1]), t=wait("never"), a=task(cancels=["t"])
    )
    run = play(document).start().fail("x", "BAD").succeed("a[0]")
    assert run.status is Status.FAILED
    run.tell(RetryAsked(by="ada"))
    assert run.count("NODE_SKIPPED t[0]#1") == 0
    assert run.succeed("x").status is Status.COMPLETED


def test_a_long_dead_path_does_not_end_an_iteration_before_its_join() -> None:
    """A dead path is NODE_SKIPPED (`reason: "dead-path"`) with dead edges."""
    document = draw(
        "l:loop>c c:x>a a>b b>j c:else>j", l=loop([1]), c=condition(x="ctx.item > 5"), j=task()
    )
    run = play(document).start()
    assert run.news[-4:] == [
        "NODE_COMPLETED c[0]#1 -> else",
        "NODE_SKIPPED a[0]#1 dead-path",
        "NODE_SKIPPED b[0]#1 dead-path",
        "NODE_DISPATCHED j[0]#1",
    ]
    assert run.succeed("j[0]", "done").output == ["done"]


def test_a_body_sees_the_items_of_every_loop_around_it() -> None:
    seen: Object = {"item": "{{ctx.item}}", "index": "{{ctx.index}}", "last": "{{ctx.last}}"}
    document = draw(
        "each:loop>poll poll:loop>parts parts:loop>a",
        each=loop([{"id": 7}]),
        poll=loop(**{"while": "ctx.index < 2 && item.id == 7"}),
        parts=loop(["{{ctx.item.id}}"]),
        a=task(input=seen),
    )
    run = play(document).start()
    assert run.ledger.running[NodeKey("a", "0/0/0")].input == {"item": 7, "index": 0, "last": None}
    run.succeed("a[0/0/0]", "A")
    again = run.ledger.running[NodeKey("a", "0/1/0")].input
    assert again == {"item": 7, "index": 0, "last": ["A"]}
    document = draw(
        "each:loop>poll poll:loop>a",
        each=loop([{"id": 7}, {"id": 8}]),
        poll=loop(result="{{ctx.item.id}}", **{"while": "ctx.index < 1"}),
        a=task(input="{{item.id}}"),
    )
    run = play(document).start()
    assert run.ledger.running[NodeKey("a", "0/0")].input == 7
    assert run.succeed("a[0/0]").succeed("a[1/0]").output == [[7], [8]]


def test_a_loop_that_is_passed_over_goes_on_at_done() -> None:
    """`when` false passes the node over; where nothing hangs on `default`, a loop is over."""
    document = draw("a>l l:loop>t l:done>z", l=loop([1], when="false", outputVariable="all"))
    run = play(document).start().succeed("a")
    assert run.news[1:] == ["NODE_SKIPPED l#1 when", "NODE_DISPATCHED z#1"]
    assert run.succeed("z", 5).output == 5
    document = draw("a>l l:loop>t l:done>z l>y", l=loop([1], when="false"))
    run = play(document).start().succeed("a")
    assert run.running == ["y"]
    assert "NODE_SKIPPED z#1 dead-path" in run.news
