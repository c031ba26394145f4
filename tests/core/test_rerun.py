"""A rerun begins where an earlier instance was when it reached a step."""

from __future__ import annotations

import pytest

from tenuto.core import Plan, blank, decide
from tenuto.core.rerun import misfits, reusable
from tenuto.definition import compile_definition
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import Reused, Started
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import (
    child,
    condition,
    draw,
    end,
    loop,
    start,
    task,
    terminate,
    undoing,
    wait,
)
from tests.core.play import Run, play

EARLIER = "00000000-0000-7000-8000-00000000000e"


def reused(run: Run, from_step: str, document: JSON = None) -> tuple[Reused, ...]:
    plan = Plan(compile_definition(run.document if document is None else document))
    return tuple(reusable(plan, run.state, run.entries, from_step))


def rerun(run: Run, from_step: str, document: JSON = None, input: JSON = None) -> Run:
    again = Run(run.document if document is None else document)
    return again.start(
        run.state.input if input is None else input,
        rerun_of=EARLIER,
        reused=reused(run, from_step, document),
        from_step=from_step,
    )


def test_what_completed_before_is_copied_and_the_rest_runs() -> None:
    """`rerun {fromStep?, input?, version?}`: a new instance (`rerunOf`) in which completed steps
    that are neither `fromStep` nor after it are copied (`reusedFrom`) and the rest runs.
    """
    document = draw(
        "s>a a>b b>c", s=start(), a=task(outputVariable="a"), c=task(input={"a": "{{ctx.a}}"})
    )
    earlier = play(document).start({"n": 1}).succeed("a", 7).fail("b")
    again = rerun(earlier, "b")
    assert again.log == [
        "INPUT_SET",
        "STATUS_CHANGED RUNNING",
        "NODE_COMPLETED s#1 reused",
        "NODE_COMPLETED a#1 reused",
        "NODE_DISPATCHED b#1",
    ]
    assert again.state.rerun_of == EARLIER
    assert again.ctx == {"input": {"n": 1}, "a": 7}
    assert again.succeed("b").succeed("c", "end").output == "end"


def test_what_was_undone_runs_again_with_all_that_comes_after_it() -> None:
    """A step whose compensation ran is not reused."""
    document = undoing(draw("s>a s>b a>c b>d c>e d>e", s=start()), a={}, b={"condition": "false"})
    earlier = play(document).start().succeed("a", 1).succeed("b", 2).succeed("c").succeed("d")
    earlier.fail("e")
    assert [each.node for each in reused(earlier, "e")] == ["s", "b", "d"], "while it is undone"
    again = rerun(earlier.succeed("undo_a"), "e")
    assert again.running == ["a"]
    looped = undoing(draw("l:loop>a l:done>z", l=loop([1])), a={})
    ended = play(looped).start().succeed("a[0]").fail("z").succeed("undo_a[0]")
    assert reused(ended, "z") == (), "a loop is undone with what is in it"


@pytest.mark.parametrize("is_settled", [False, True])
def test_what_is_about_to_be_undone_runs_again_too(is_settled: bool) -> None:
    document = undoing(
        draw("s>a s>t a>b b>w", s=start(), w=wait()), a={}, b={"condition": "steps.a.output > 1"}
    )
    for output, expected in ((1, ["s", "b"]), (2, ["s"])):
        earlier = play(document).start().succeed("a", output).succeed("b").cancel()
        if is_settled:
            earlier.fail("t", "CANCELLED")
            assert earlier.running == ["undo_b" if output > 1 else "undo_a"]
        undone = {"a", "b"} if output > 1 else {"a"}
        taken_over = {each.node for each in reused(earlier, "w")}
        assert taken_over & undone == set()
        assert taken_over <= set(expected)


def test_what_is_taken_over_is_left_to_the_instance_that_ran_it() -> None:
    """However often an instance is rerun, nothing of it is undone more than once."""
    document = undoing(draw("a>b b>c"), a={}, b={})
    earlier = play(document).start().succeed("a", 7).succeed("b").succeed("c")
    for _ in range(2):
        again = rerun(earlier, "b").succeed("b").fail("c")
        assert again.undoing["plan"] == ["undo_b"], "it undoes what it ran itself"
        assert again.state.compensation is not None
        [skipped] = again.state.compensation.skipped
        assert (skipped.step_id, skipped.reason) == ("undo_a", "taken-over")
        assert again.succeed("undo_b").status is Status.FAILED
    nothing = rerun(earlier, "c").fail("c")
    assert (nothing.status, nothing.undoing) == (Status.FAILED, None)


def test_a_child_that_is_taken_over_is_left_to_the_instance_that_started_it() -> None:
    earlier = play(draw("c>b", c=child())).start().resolve("c")
    earlier.child_ends("c", 1, can_be_undone=True).succeed("b")
    again = rerun(earlier, "b").fail("b")
    assert (again.status, again.undoing, again.ledger.mail) == (Status.FAILED, None, [])
    undone = play(earlier.document).start().resolve("c").child_ends("c", 1, can_be_undone=True)
    assert reused(undone.fail("b"), "b") == (), "it is about to be undone"


def test_keys_are_new() -> None:
    earlier = play(draw("a>b")).start().succeed("a").fail("b")
    keys = {each.idempotency_key for each in rerun(earlier, "b").ledger.running.values()}
    assert keys == {f"{earlier.state.id}:b"}, "its own id, which is the same in these tests"


def test_all_that_comes_after_the_step_runs_again() -> None:
    document = draw("s>a s>x a>b b>j x>j j>k", s=start())
    earlier = play(document).start().succeed("a").succeed("x").succeed("b").succeed("j")
    earlier.succeed("k")
    assert [each.node for each in reused(earlier, "b")] == ["s", "a", "x"]
    again = rerun(earlier, "b")
    assert again.running == ["b"]
    assert again.succeed("b").running == ["j"]


def test_dead_paths_and_steps_that_were_passed_over_stay_so() -> None:
    document = draw(
        "s>c c:yes>a c:no>b a>w w>j b>j j>k",
        s=start(),
        c=condition(yes="ctx.input.n > 1", no="true"),
        w=task(when="ctx.a === 1"),
        a=task(outputVariable="a"),
    )
    earlier = play(document).start({"n": 2}).succeed("a", 2).succeed("j").fail("k")
    again = rerun(earlier, "k")
    assert "NODE_SKIPPED w#1 when" in again.log
    assert "NODE_SKIPPED b#1 dead-path" in again.log
    assert again.running == ["k"]
    assert again.succeed("k").status is Status.COMPLETED


def test_a_handled_failure_is_copied_with_its_way() -> None:
    earlier = play(draw("a>b a:error>c c>d")).start().fail("a").succeed("c").fail("d")
    again = rerun(earlier, "d")
    assert again.step("a") == "FAILED"
    assert again.step("b") == "SKIPPED"
    assert again.running == ["d"]


def test_a_step_that_failed_and_was_handled_cancels_nobody() -> None:
    document = draw("s>a s>b a:error>c", s=start(), a=task(cancels=["b"]))
    earlier = play(document).start().fail("a").fail("c").succeed("b")
    assert rerun(earlier, "c").running == ["c"]
    earlier = play(document).start().fail("a").fail("c").fail("b", "CANCELLED")
    assert rerun(earlier, "c").running == ["b", "c"]


def test_what_was_called_off_stays_called_off() -> None:
    document = draw("s>a s>b b>x a>j b>j j>k", s=start(), j=task(joinMode="any", cancelRest=True))
    earlier = play(document).start().succeed("a").succeed("b", 2).succeed("j").fail("k")
    again = rerun(earlier, "k")
    assert again.running == ["k"]
    assert again.step("b") == "COMPLETED", "its result came within the grace"
    assert again.step("x") == "SKIPPED"
    obeyed = play(document).start().succeed("a").fail("b", "CANCELLED").succeed("j").fail("k")
    again = rerun(obeyed, "k")
    assert again.running == ["k"]
    assert again.step("b") == "SKIPPED"


def test_whom_a_copied_step_cancels_is_not_started() -> None:
    document = draw("s>a s>b s>w a>k", s=start(), a=task(cancels=["w"]), w=wait())
    earlier = play(document).start().succeed("a").succeed("b").fail("k")
    again = rerun(earlier, "k")
    assert "NODE_SKIPPED w#1 cancelled" in again.log
    assert again.succeed("k").status is Status.COMPLETED


@pytest.mark.parametrize("how", ["fail", "cancel"])
def test_a_result_within_the_grace_of_the_end_is_gone_on_from(how: str) -> None:
    routes: list[JSON] = [{"when": "ctx.b > 3", "handle": "much"}]
    document = draw(
        "s>a s>b b:much>x b>y", s=start(), b=task(outputVariable="b", conditions=routes)
    )
    earlier = play(document).start()
    _ = earlier.fail("a") if how == "fail" else earlier.cancel()
    earlier.succeed("b", 5)
    assert rerun(earlier, "a").running == ["a", "x"]


def test_what_is_still_under_way_runs_beside_the_rerun() -> None:
    earlier = play(draw("s>a s>b a>c", s=start())).start().succeed("a")
    before = earlier.state
    assert rerun(earlier, "c").running == ["b", "c"]
    assert earlier.state is before


def test_outputs_that_were_collected_are_collected() -> None:
    document = draw("s>a s>b a>e b>f", s=start(), e=end({"a": "{{ctx.a}}"}), f=end({"b": 2}),
                    a=task(outputVariable="a"))  # fmt: skip
    earlier = play(document).start().succeed("a", 1).fail("b")
    assert rerun(earlier, "b").succeed("b").output == {"a": 1, "b": 2}


def test_a_terminate_step_ends_the_rerun_too() -> None:
    document = draw("s>t s>a", s=start(), t=terminate("FAILED", reason="no"))
    earlier = play(document).start()
    assert [each.node for each in reused(earlier, "a")] == ["s"]
    assert rerun(earlier, "a").code == "TERMINATED"


def test_a_loop_is_taken_over_whole_or_runs_whole() -> None:
    document = draw(
        "l:loop>a l:done>b", l=loop([1, 2], outputVariable="l"), a=task(input="{{item}}")
    )
    earlier = play(document).start().succeed("a[0]", 1).succeed("a[1]", 2).fail("b")
    again = rerun(earlier, "b")
    assert again.ctx["l"] == [1, 2]
    assert again.running == ["b"]
    assert rerun(earlier, "l").running == ["a[0]"]


def test_another_input_and_the_outputs_that_were() -> None:
    document = draw("a>b", a=task(outputVariable="a"), b=task(input="{{ctx.a + ctx.input.n}}"))
    earlier = play(document).start({"n": 1}).succeed("a", 10).fail("b")
    again = rerun(earlier, "b", input={"n": 5})
    assert next(iter(again.ledger.running.values())).input == 15


def test_another_version_takes_over_what_it_has() -> None:
    earlier = play(draw("a>gone gone>b b>c")).start().succeed("a", 1).succeed("gone").succeed("b")
    newer: Object = draw("a>new new>b b>c", a=task(outputVariable="named"))
    again = rerun(earlier, "c", newer)
    assert again.ctx["named"] == 1, "by the name that the new version gives it"
    assert again.running == ["c", "new"], "what is new runs, and what came after it stays"


def test_outcomes_that_mean_nothing_in_another_version_are_found() -> None:
    document = draw("c:yes>a c:no>b a>d", c=condition(yes="true", no="true"), d=task())
    earlier = play(document).start().succeed("a")
    kept = reused(earlier, "d")
    changed = draw("c:si>a c:no>b a>d", c=condition(si="true", no="true"))
    other = draw("c>a a>d")
    for newer, why in ((changed, "handle 'yes'"), (other, "Condition")):
        plan = Plan(compile_definition(newer))
        found = list(misfits(plan, earlier.plan, kept))
        assert [step for step, _ in found] == ["c"]
        assert why in found[0][1]
    assert list(misfits(earlier.plan, earlier.plan, kept)) == []


def test_an_outcome_of_no_step_is_refused() -> None:
    run = play(draw("l:loop>a", l=loop([1])))
    for name in ("nobody", "a"):
        with run.refusing("TEN-2011"):
            run.start(rerun_of=EARLIER, reused=(Reused(node=name),))


def test_what_went_wrong_in_a_copied_step_is_seen_as_it_was() -> None:
    document = draw(
        "a:error>b b>c l:loop>t l:done>c",
        l=loop([1, 2], onItemError="continue"),
        c=task(input={"why": "{{steps.a.error.code}}", "items": "{{steps.l.errors}}"}),
    )
    earlier = play(document).start().fail("a", "OUT", details={"n": 1}).succeed("b")
    earlier.fail("t[0]", "BAD").succeed("t[1]").fail("c")
    again = rerun(earlier, "c")
    given = again.ledger.running[NodeKey("c")].input
    assert isinstance(given, dict)
    assert given["why"] == "OUT"
    assert given["items"] == earlier.view["steps"]["l"]["errors"] != []
    error = again.view["steps"]["a"]["error"]
    assert (error["code"], error["details"]) == ("OUT", {"n": 1})


def test_a_step_that_a_copied_one_called_off_is_no_step_to_rerun_from() -> None:
    document = draw("fast slow>z", fast=task(cancels=["slow"]))
    earlier = play(document).start().succeed("fast").later(seconds=11).fire()
    again = Run(document)
    with again.refusing("TEN-2010"):
        again.start(rerun_of=EARLIER, reused=reused(earlier, "slow"), from_step="slow")


def test_a_step_that_is_never_reached_is_no_step_to_rerun_from() -> None:
    document = draw("c:yes>a c:else>b a>z b>z", c=condition(yes="ctx.input.k == 1"))
    earlier = play(document).start({"k": 1}).succeed("a").fail("z")
    again = Run(document)
    with again.refusing("TEN-2010"):
        again.start({"k": 1}, rerun_of=EARLIER, reused=reused(earlier, "b"), from_step="b")
    assert rerun(earlier, "c", input={"k": 2}).running == ["b"]


def test_a_rerun_that_is_refused_leaves_nothing_to_be_done() -> None:
    document = draw("fast slow>z", fast=task(cancels=["slow"])) | {"options": {"timeout": "PT1H"}}
    plan = Plan(compile_definition(document))
    earlier = play(document).start().succeed("fast").later(seconds=11).fire()
    asked = Started(
        definition_id="w",
        definition_version=1,
        input=None,
        rerun_of=EARLIER,
        reused=reused(earlier, "slow"),
        from_step="slow",
    )
    refused = decide(plan, blank(EARLIER), asked, earlier.now, earlier.policies)
    assert refused.rejection is not None
    assert refused.effects == ()
