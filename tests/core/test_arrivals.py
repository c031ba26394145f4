"""Loops over arrivals: each taken incoming edge is an item, which begins as it arrives."""

from __future__ import annotations

from itertools import permutations

import pytest

from tenuto.core import snapshot
from tenuto.core.explain import Facts, explain
from tenuto.core.snapshot import LARGE
from tenuto.model.entries import IterationStarted, NodeSkipped
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import (
    condition,
    delay,
    draw,
    end,
    every,
    loop,
    start,
    task,
    undoing,
    wait,
)
from tests.core.play import Run, decisions_of, play
from tests.core.test_rerun import rerun

BRANCHES = "s>a s>b s>c a>l b>l c>l l:loop>x l:done>d"


def arrivals(**config: JSON) -> Object:
    return loop("arrivals", **{"outputVariable": "all", "result": "{{item}}", **config})


def merging(edges: str = BRANCHES, **config: JSON) -> Run:
    return play(draw(edges, s=start(), l=arrivals(**config), d=end("{{ctx.all}}")))


def came(*names: str) -> list[Object]:
    """The items of branches that gave their own name."""
    return [{"from": name, "output": name} for name in names]


def begun_by(run: Run) -> list[str | None]:
    return [each.from_ for each in run.entries if isinstance(each, IterationStarted)]


@pytest.mark.parametrize("order", [*permutations("abc")])
def test_each_taken_edge_is_an_item_that_begins_as_it_arrives(order: tuple[str, ...]) -> None:
    """`source: "arrivals"`: each taken incoming edge is an item `{from, output}`, begun as it
    arrives; its ITERATION_STARTED names the step (`from`).
    """
    run = merging().start()
    for index, name in enumerate(order):
        run.succeed(name, name)
        assert f"x[{index}]" in run.running
    for index in (2, 0, 1):
        run.succeed(f"x[{index}]")
    assert (run.status, run.output) == (Status.COMPLETED, came(*order))
    assert begun_by(run) == [*order]


def test_between_arrivals_nothing_of_the_loop_may_be_under_way() -> None:
    """It begins with its first taken edge, at which `when` is read, and is over when every incoming
    edge is taken or dead and every iteration has ended; without a taken edge it is a dead path.
    """
    run = merging().start().succeed("a", "a").succeed("x[0]")
    assert (run.step("l"), run.running) == ("RUNNING", ["b", "c"])
    run.succeed("b", "b").succeed("x[1]").succeed("c", "c").succeed("x[2]")
    assert run.output == came("a", "b", "c")


@pytest.mark.parametrize("is_last", [True, False])
def test_a_dead_edge_is_waited_for_and_is_no_item(is_last: bool) -> None:
    waits = wait("go", conditions=[{"when": "false", "handle": "yes"}])
    edges = "s>a s>q q:yes>b a>l b>l l:loop>x l:done>d"
    document = draw(edges, s=start(), q=waits, l=arrivals(), d=end("{{ctx.all}}"))
    run = play(document).start()
    if not is_last:
        run.event("go")
    run.succeed("a", "a").succeed("x[0]")
    if is_last:
        assert run.step("l") == "RUNNING"
        run.event("go")
    assert (run.step("b"), run.output) == ("SKIPPED", came("a"))


def test_without_a_taken_edge_it_is_a_dead_path() -> None:
    document = draw(
        "q:yes>a q:yes>b a>l b>l l:loop>x l:done>y q:else>z",
        q=condition(yes="false"),
        l=arrivals(),
    )
    run = play(document).start().succeed("z")
    assert [run.step(name) for name in "aly"] == ["SKIPPED"] * 3
    assert run.status is Status.COMPLETED


def test_one_edge_is_one_item() -> None:
    run = play(draw("a>l l:loop>x", l=arrivals())).start().succeed("a", 7).succeed("x[0]")
    assert run.output == [{"from": "a", "output": 7}]


def test_each_edge_of_one_step_is_an_item() -> None:
    document = draw(
        "q:a>l q:b>l q:c>l l:loop>x", q=every(a="true", b="true", c="false"), l=arrivals()
    )
    run = play(document).start()
    assert run.running == ["x[0]", "x[1]"]
    assert begun_by(run) == ["q", "q"]


def test_what_went_wrong_or_was_passed_over_arrives_too() -> None:
    document = draw(
        "s>a s>b a:error>l b>l l:loop>x",
        s=start(),
        a=task(retry={"maxAttempts": 1}),
        b=task(when="false"),
        l=arrivals(),
    )
    run = play(document).start().fail("a", "BAD").succeed("x[0]").succeed("x[1]")
    [passed, failed] = run.output if isinstance(run.output, list) else []
    assert passed == {"from": "b", "output": None}
    assert isinstance(failed, dict)
    assert failed["from"] == "a"
    assert "error" in str(failed["output"])


def test_arrivals_beyond_its_concurrency_wait_in_order() -> None:
    """Such a loop is parallel: at most `concurrency` of them are under way, the others wait, and
    the results are in the order of arrival.
    """
    run = merging(concurrency=1).start()
    run.succeed("c", "c").succeed("a", "a").succeed("b", "b")
    assert run.running == ["x[0]"]
    run.succeed("x[0]").succeed("x[1]").succeed("x[2]")
    assert run.output == came("c", "a", "b")


def test_iterations_begin_with_the_context_of_the_loops_entry() -> None:
    document = draw(
        "s>a s>b a>l b>l l:loop>x",
        s=start(),
        a=task(outputVariable="v"),
        b=task(outputVariable="v"),
        l=arrivals(result="{{ctx.v}}"),
        x=task(input=["{{ctx.v}}", "{{item.output}}", "{{index}}", "{{steps.b.output}}"]),
    )
    run = play(document).start().succeed("a", 1).succeed("b", 2)
    [first, second] = [run.ledger.running[key].input for key in sorted(run.ledger.running)]
    assert (first, second) == ([1, 1, 0, None], [1, 2, 1, 2])


def test_when_is_read_with_the_first_arrival() -> None:
    run = merging(when="ctx.input").start(False).succeed("a")
    assert run.step("l") == "SKIPPED"
    run.succeed("b").succeed("c")
    assert (run.status, begun_by(run)) == (Status.COMPLETED, [])


@pytest.mark.parametrize("enough", [1, "ctx.results.length >= 1"])
def test_what_arrives_after_enough_changes_nothing(enough: JSON) -> None:
    """`enough` and `completes` end it early: what arrives later changes nothing; with `cancelRest`
    the branches that have not arrived are cancelled with the iterations under way.
    """
    run = merging(enough=enough, concurrency=1).start().succeed("a", "a").succeed("b", "b")
    run.succeed("x[0]")
    assert run.step("l") == "COMPLETED"
    skipped = [each for each in run.entries if isinstance(each, NodeSkipped)]
    assert [(each.iteration, each.reason) for each in skipped] == [("1", "enough")]
    assert run.running == ["c"]
    assert run.succeed("c").output == came("a")
    assert run.status is Status.COMPLETED


def test_the_rest_is_cancelled_with_the_branches_that_have_not_arrived() -> None:
    edges = "s>a s>b s>c s>w a>l b>l c>l w>e e>l l:loop>x l:done>d"
    document = draw(
        edges, s=start(), w=wait(), l=arrivals(enough=1, cancelRest=True), d=end("{{ctx.all}}")
    )
    run = play(document).start().succeed("a", "a").succeed("b", "b").succeed("x[1]")
    assert [run.step(name) for name in "wed"] == ["CANCELLED", "SKIPPED", "COMPLETED"]
    assert run.state.stopping == 2
    run.fail("c", "CANCELLED").fail("x[0]", "CANCELLED")
    assert (run.status, run.output) == (Status.COMPLETED, came("b"))


def test_a_step_that_completes_it_leaves_the_other_branches_alone() -> None:
    document = draw(
        "s>a s>b s>w a>l b>l l:loop>x l:done>d",
        s=start(),
        w=wait(completes=["l"]),
        l=arrivals(),
        d=end("{{ctx.all}}"),
    )
    run = play(document).start().succeed("a", "a").succeed("x[0]").event("paid")
    assert (run.step("l"), run.running) == ("COMPLETED", ["b"])
    assert run.succeed("b").output == came("a")


def test_enough_is_read_while_nothing_of_it_is_under_way() -> None:
    enough = "steps.c.status === 'COMPLETED'"
    document = draw(
        "s>a s>b s>c a>l b>l l:loop>x",
        s=start(),
        l=arrivals(enough=enough),
    )
    run = play(document).start().succeed("a").succeed("x[0]")
    assert run.step("l") == "RUNNING"
    assert run.succeed("c").step("l") == "COMPLETED"


def test_an_item_that_fails_fails_the_loop_or_is_null() -> None:
    run = merging().start().succeed("a").fail("x[0]")
    assert run.later(seconds=10).fire().status is Status.FAILED
    run = merging(onItemError="continue").start().succeed("a", "a").fail("x[0]")
    run.succeed("b", "b").succeed("x[1]").succeed("c", "c").succeed("x[2]")
    assert run.output == [None, *came("b", "c")]


def test_a_loop_whose_failure_is_handled_takes_no_more() -> None:
    document = draw("s>a s>b a>l b>l l:loop>x l:error>y", s=start(), l=arrivals())
    run = play(document).start().succeed("a").fail("x[0]").succeed("b")
    assert run.running == ["y"]
    assert run.succeed("y").status is Status.COMPLETED


def test_its_timeout_bounds_the_wait_for_arrivals() -> None:
    run = merging(timeout="PT1M").start().succeed("a").succeed("x[0]").later(minutes=1).fire()
    assert run.code == "TIMEOUT"


def test_what_arrives_while_paused_begins_on_resume() -> None:
    run = merging().start().succeed("a", "a").succeed("x[0]").pause()
    run.succeed("b", "b")
    assert run.running == ["c"]
    assert run.resume().running == ["c", "x[1]"]
    run.pause().succeed("x[1]").succeed("c", "c").resume().succeed("x[2]")
    assert run.output == came("a", "b", "c")


def test_a_dead_edge_that_comes_last_while_paused_ends_it_on_resume() -> None:
    document = draw(
        "s>a s>w a>l w:timeout>l l:loop>x",
        s=start(),
        w=wait(eventTimeout={"duration": "PT1H"}),
        l=arrivals(),
    )
    run = play(document).start().succeed("a").succeed("x[0]").pause().event("paid")
    assert run.step("l") == "RUNNING"
    assert run.resume().status is Status.COMPLETED


def test_a_retry_by_hand_goes_on_with_every_arrival() -> None:
    """Those that came in the grace of the failure, too."""
    document = draw("s>a s>b s>c s>f a>l b>l c>l l:loop>x", s=start(), l=arrivals())
    run = play(document).start().succeed("a", "a").succeed("x[0]").succeed("b", "b")
    run.fail("f").succeed("c", "c").later(seconds=10).fire()
    assert run.retry().running == ["f", "x[1]", "x[2]"]
    run.succeed("f").succeed("x[1]").succeed("x[2]")
    assert run.view["steps"]["l"]["output"] == came("a", "b", "c")


def test_a_retry_of_a_loop_without_iterations_waits_for_the_next_arrival() -> None:
    document = draw("s>a s>b s>f a>l b>l l:loop>x", s=start(), l=arrivals())
    run = play(document).start().succeed("a", "a").succeed("x[0]").fail("f")
    run.later(seconds=10).fire().retry()
    assert run.running == ["b", "f"]
    run.succeed("f").succeed("b", "b").succeed("x[1]")
    assert run.status is Status.COMPLETED


def test_a_failed_enough_is_read_again_after_a_retry() -> None:
    document = draw("s>a s>b a>l b>l l:loop>x", s=start(), l=arrivals(enough="ctx.input.missing()"))
    run = play(document).start({}).succeed("a").succeed("x[0]").later(seconds=10).fire()
    assert run.code == "EXPRESSION_ERROR"
    assert run.retry().status is Status.FAILED


def test_a_rerun_takes_the_arrivals_over_in_their_order() -> None:
    earlier = merging().start().succeed("b", "b").succeed("a", "a").succeed("c", "c")
    earlier.succeed("x[0]").fail("x[1]").later(seconds=10).fire()
    again = rerun(earlier, "l")
    assert again.running == ["x[0]", "x[1]", "x[2]"]
    assert begun_by(again) == ["b", "a", "c"]
    from_branch = rerun(earlier, "a")
    assert from_branch.running == ["a", "x[0]", "x[1]"]
    assert begun_by(from_branch) == ["b", "c"]


def test_a_rerun_behind_it_takes_it_over_whole() -> None:
    edges = "s>a s>b a>l b>l l:loop>x l:done>y"
    document = draw(edges, s=start(), l=arrivals(enough=1, cancelRest=True))
    earlier = play(document).start().succeed("a", "a").succeed("x[0]").fail("b", "CANCELLED")
    again = rerun(earlier.fail("y"), "y")
    assert (again.step("l"), again.step("b"), again.running) == ("COMPLETED", "SKIPPED", ["y"])


def test_in_a_loop_each_iteration_has_arrivals_of_its_own() -> None:
    document = draw(
        "o:loop>l o:loop>a a>l l:loop>x",
        o=loop([1, 2], mode="parallel"),
        l=arrivals(),
    )
    run = play(document).start().succeed("a[1]", "of 1")
    assert run.running == ["a[0]", "x[0/0]", "x[1/0]", "x[1/1]"]
    run.succeed("x[0/0]").succeed("x[1/0]").succeed("x[1/1]").succeed("a[0]", "of 0")
    around: Object = {"from": "o", "output": None}
    assert run.succeed("x[0/1]").output == [
        [around, {"from": "a", "output": "of 0"}],
        [around, {"from": "a", "output": "of 1"}],
    ]
    assert run.state.arrivals == {}


def test_a_loop_that_was_cancelled_takes_nothing() -> None:
    document = draw("s>a s>b s>w a>l b>l l:loop>x", s=start(), w=wait(cancels=["l"]), l=arrivals())
    run = play(document).start().succeed("a").event("paid").succeed("b")
    assert run.fail("x[0]", "CANCELLED").status is Status.COMPLETED
    assert (run.step("l"), begun_by(run)) == ("CANCELLED", ["a"])


@pytest.mark.parametrize("size", [1, LARGE + 1])
def test_iterations_are_undone_with_the_item_that_they_had(size: int) -> None:
    """Also items of which the outputs are too large for a snapshot, which keeps none twice."""
    document = undoing(
        draw("s>a s>b a>l b>l l:loop>x l:done>w", s=start(), l=arrivals(), w=wait()),
        x={"input": {"of": "{{ctx.item.from}}", "n": "{{ctx.item.output.length}}"}},
    )
    run = play(document).start().succeed("b", "b" * size).succeed("a", "a" * (size + 1))
    run.succeed("x[0]").succeed("x[1]")
    assert len(snapshot.encode(run.state)) < 3 * LARGE
    run.cancel()
    seen = []
    while run.running:
        [name] = run.running
        [effect] = run.ledger.running.values()
        seen.append(effect.input)
        run.succeed(name)
    assert seen == [{"of": "a", "n": size + 1}, {"of": "b", "n": size}]


def test_arrivals_survive_decisions_that_are_cut_short() -> None:
    with decisions_of(3):
        run = merging().start().settle()
        run.succeed("a", "a").settle().succeed("b", "b").settle().succeed("c", "c").settle()
        for index in range(3):
            run.succeed(f"x[{index}]").settle()
    assert run.output == came("a", "b", "c")


def test_what_it_waits_for_is_explained() -> None:
    run = merging().start().succeed("a").succeed("x[0]")
    shown = explain(run.plan, run.state, Facts(now=run.now))
    [cause] = [each for each in shown.causes if each.step_id == "l"]
    assert cause.message == "1 of 1 items are done, further edges may arrive"


def test_a_delay_is_a_branch_like_any_other() -> None:
    document = draw("s>n s>a n>l a>l l:loop>x", s=start(), n=delay("PT1M"), l=arrivals())
    run = play(document).start().succeed("a", "a").succeed("x[0]").later(minutes=1).fire()
    assert (run.running, begun_by(run)) == (["x[1]"], ["a", "n"])
