"""Loops that end early: by a step that completes them, by what changes elsewhere, item by item."""

from __future__ import annotations

import pytest

from tenuto.model.entries import NodeSkipped
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import computed, draw, end, loop, start, task, wait
from tests.core.play import Run, play


def parallel(source: JSON, **config: JSON) -> Object:
    return loop(source, mode="parallel", **config)


def never_begun(run: Run) -> list[str]:
    return [
        entry.iteration
        for entry in run.entries
        if isinstance(entry, NodeSkipped) and entry.reason == "enough"
    ]


@pytest.mark.parametrize("enough", [1, "ctx.results.length >= 1"])
def test_items_that_never_began_are_recorded_as_skipped(enough: JSON) -> None:
    """Items that never began are NODE_SKIPPED (`reason: "enough"`)."""
    each = parallel([1, 2, 3, 4], concurrency=2, enough=enough, cancelRest=True)
    run = play(draw("l:loop>a", l=each)).start().succeed("a[1]")
    assert never_begun(run) == ["2", "3"]
    assert run.step("l") == "COMPLETED"


def test_results_have_their_indexes_in_the_order_of_their_ends() -> None:
    """`ctx.results` is `[{index, result}]` in the order in which iterations ended, with null for
    one that failed.
    """
    shown = "ctx.results[0].index === 2 && ctx.results[1].result === null && ctx.results[2].result"
    each = parallel([1, 2, 3, 4], enough=shown, onItemError="continue", outputVariable="all")
    run = play(draw("l:loop>a l:done>d", l=each, d=end("{{ctx.all}}"))).start()
    run.succeed("a[2]", "c").fail("a[0]").succeed("a[1]", "b")
    assert run.step("l") == "COMPLETED"
    run.succeed("a[3]")
    assert run.output == [None, "b", "c"]


def test_a_step_ends_the_loop_around_it_with_what_it_has() -> None:
    """`completes` names loops that end when the step completes, as by `enough`, and what runs of
    them is cancelled.
    """
    each = parallel([1, 2, 3, 4], concurrency=3, outputVariable="all")
    document = draw("l:loop>a a>b l:done>d", l=each, b=task(completes=["l"]), d=end("{{ctx.all}}"))
    run = play(document).start().succeed("a[0]").succeed("a[1]").succeed("b[1]", "found")
    assert (run.step("l"), never_begun(run)) == ("COMPLETED", ["3"])
    run.later(seconds=10).fire()
    assert (run.status, run.output) == (Status.COMPLETED, ["found"])


def test_the_iteration_of_the_step_counts_only_if_nothing_of_it_is_left() -> None:
    document = draw("l:loop>a a>b", l=loop([1, 2]), a=task(completes=["l"])).copy()
    run = play(document).start().succeed("a[0]")
    assert (run.status, run.output) == (Status.COMPLETED, [])
    assert never_begun(run) == ["1"]


def test_a_step_elsewhere_ends_a_loop() -> None:
    document = draw(
        "s>l s>w l:loop>a l:done>d",
        s=start(),
        l=loop([1, 2, 3], outputVariable="all"),
        w=wait(completes=["l"]),
        d=end("{{ctx.all}}"),
    )
    run = play(document).start().succeed("a[0]", "x").event("paid").later(seconds=10).fire()
    assert (run.status, run.output) == (Status.COMPLETED, ["x"])
    assert never_begun(run) == ["2"]


def test_a_loop_that_is_not_under_way_is_left_alone() -> None:
    """A loop that is not under way then is left alone."""
    document = draw("s>w s>b b>l l:loop>a", s=start(), w=wait(completes=["l"]), l=loop([1]))
    run = play(document).start().event("paid").succeed("b").succeed("a[0]")
    assert (run.status, run.step("l")) == (Status.COMPLETED, "COMPLETED")


def test_a_while_loop_is_ended_too() -> None:
    each = loop(**{"while": "true"})
    document = draw("s>l s>w l:loop>a", s=start(), l=each, w=wait(completes=["l"]))
    run = play(document).start().succeed("a[0]").event("paid").later(seconds=10).fire()
    assert run.status is Status.COMPLETED


def test_a_step_that_fails_or_is_cancelled_ends_no_loop() -> None:
    document = draw("s>l s>b l:loop>a b:error>c", s=start(), l=loop([1]), b=task(completes=["l"]))
    run = play(document).start().fail("b")
    assert run.step("l") == "RUNNING"


def test_while_paused_no_loop_ends() -> None:
    document = draw("s>l s>b l:loop>a", s=start(), l=loop([1]), b=task(completes=["l"]))
    run = play(document).start().pause().succeed("b")
    assert run.step("l") == "RUNNING"
    assert run.resume().step("l") == "COMPLETED"


def test_enough_is_read_when_a_step_that_it_names_changes() -> None:
    """An `enough` expression is read whenever what it names changes."""
    each = loop([1, 2, 3], enough="steps.b.status === 'COMPLETED'", cancelRest=True)
    run = play(draw("s>l s>b l:loop>a", s=start(), l=each)).start()
    assert run.succeed("b").step("l") == "COMPLETED"
    assert never_begun(run) == ["1", "2"]


def test_enough_is_read_when_a_variable_that_it_names_changes() -> None:
    each = loop([1, 2, 3], enough="ctx.stop", cancelRest=True)
    document = draw("s>l s>w w>v l:loop>a", s=start(), l=each, w=wait(), v=computed(stop=True))
    assert play(document).start().event("paid").step("l") == "COMPLETED"


def test_enough_of_an_inner_loop_is_read_when_a_step_around_it_changes() -> None:
    inner = loop([1, 2], enough="steps.w.status === 'COMPLETED'", cancelRest=True)
    each = parallel([1, 2])
    document = draw("s>l s>w l:loop>i i:loop>a i:done>b", s=start(), l=each, i=inner, w=wait())
    run = play(document).start().event("paid")
    assert never_begun(run) == ["0/1", "1/1"]
    assert run.running == ["a[0/0]", "a[1/0]", "b[0]", "b[1]"]


def test_what_changed_while_paused_is_read_on_resume() -> None:
    each = loop([1, 2, 3], enough="steps.b.status === 'COMPLETED'", cancelRest=True)
    run = play(draw("s>l s>b l:loop>a", s=start(), l=each)).start().pause().succeed("b")
    assert run.step("l") == "RUNNING"
    assert run.resume().step("l") == "COMPLETED"


def test_an_enough_that_cannot_be_read_fails_the_loop() -> None:
    each = loop([1, 2], enough="steps.b.output.x.y()")
    run = play(draw("s>l s>b l:loop>a", s=start(), l=each)).start().succeed("b", {"x": 1})
    assert run.code == "EXPRESSION_ERROR"
