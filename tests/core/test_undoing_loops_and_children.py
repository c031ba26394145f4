"""Compensation reaches down: into iterations of loops, and into workflows that steps started."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tenuto.core import Plan, decide, snapshot
from tenuto.core.foreseen_undo import undo_plan
from tenuto.core.snapshot import LARGE
from tenuto.core.state import NodeState
from tenuto.core.view import state_of
from tenuto.definition import compile_definition
from tenuto.model.entries import Entry
from tenuto.model.family import Parent
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import CancelAsked, ChildUndone, CompensationRetryAsked, UndoAsked
from tenuto.model.json import JSON, Object
from tenuto.model.policy import Limits
from tenuto.model.status import Status
from tests.core.drawing import child, draw, loop, start, task, undoing, wait
from tests.core.play import ID, Run, play
from tests.core.test_long_decisions import limited

PARENT = Parent(id="p", node="c", attempt=1, root_id="p", depth=1)


def given(run: Run, step: str) -> Any:  # noqa: ANN401
    [effect] = [each for each in run.ledger.running.values() if each.node == step]
    return effect.input


def undo_all(run: Run) -> list[str]:
    """Let everything that is to be undone succeed; says what was, in this order."""
    done: list[str] = []
    while run.running:
        [name] = run.running
        done.append(name)
        run.succeed(name)
    return done


LOOP = undoing(
    draw(
        "l:loop>a a>b l:done>w",
        l=loop("{{ctx.input}}", mode="parallel", outputVariable="all"),
        a=task(outputVariable="v"),
        w=wait(),
    ),
    a={"input": {"v": "ctx.v", "item": "ctx.item", "at": "{{ctx.index}}", "b": "steps.b.output"}},
)


def test_each_completed_iteration_is_undone_in_its_own_scope() -> None:
    """In a loop: once per completed iteration, in reverse order of completion over the whole
    instance, written `stepId[iteration]`, key `<instance>:<compensationStep>:<iteration>`.

    An iteration's undo input is resolved in that iteration's scope.
    """
    run = play(LOOP).start(["x", "y", "z"])
    for iteration in (2, 0, 1):
        run.succeed(f"a[{iteration}]", {"n": iteration})
    for iteration in (1, 2, 0):
        run.succeed(f"b[{iteration}]", f"b{iteration}")
    run.cancel()
    assert run.undoing["plan"] == ["undo_a[1]", "undo_a[0]", "undo_a[2]"]
    assert given(run, "undo_a") == {"v": {"n": 1}, "item": "y", "at": 1, "b": "b1"}
    [effect] = run.ledger.running.values()
    assert effect.idempotency_key == f"{ID}:undo_a:1"
    assert undo_all(run) == ["undo_a[1]", "undo_a[0]", "undo_a[2]"]
    assert run.undoing["completed"] == ["undo_a[1]", "undo_a[0]", "undo_a[2]"]


def test_what_an_undo_is_given_is_found_without_looking_through_all_iterations() -> None:
    class Unseen(dict[NodeKey, NodeState]):
        """Can be asked for a node, and not be looked through."""

        def __iter__(self) -> Iterator[NodeKey]:
            raise AssertionError("every iteration was looked at for the undo of one")

    by_default = undoing(draw("l:loop>a l:done>w", l=loop("{{ctx.input}}"), w=wait()), a={})
    run = play(by_default).start(["x"]).succeed("a[0]", 0).cancel()
    whole = given(run, "undo_a")["workflowState"]
    assert list(whole["steps"]) == ["l", "w"]
    run.state.nodes = Unseen(dict(run.state.nodes.items()))
    assert state_of(run.plan, run.state) == whole


def test_what_completed_in_an_iteration_that_did_not_is_undone_too() -> None:
    run = play(LOOP).start(["x", "y"]).succeed("a[0]", 0).succeed("b[0]").succeed("a[1]", 1)
    run.fail("b[1]")
    assert undo_all(run) == ["undo_a[1]", "undo_a[0]"]
    assert run.status is Status.FAILED
    failing = draw(
        "l:loop>a a>b l:done>w",
        l=loop("{{ctx.input}}", onItemError="continue"),
        b=task(retry={"maxAttempts": 1}),
        w=wait(),
    )
    run = play(undoing(failing, a={"input": "ctx.item"})).start(["x"])
    run.succeed("a[0]").fail("b[0]").cancel()
    assert given(run, "undo_a") == "x"


def test_sequential_and_while_loops_keep_what_each_iteration_saw() -> None:
    document = undoing(
        draw(
            "l:loop>a l:done>w",
            l=loop(**{"while": "ctx.index < 3"}),
            a=task(outputVariable="v"),
            w=wait(),
        ),
        a={"input": {"v": "ctx.v", "index": "ctx.index", "last": "ctx.last"}},
    )
    run = play(document).start()
    for iteration in range(3):
        run.succeed(f"a[{iteration}]", iteration * 10)
    run.cancel()
    seen = []
    for name in ("undo_a[2]", "undo_a[1]", "undo_a[0]"):
        seen.append(given(run, "undo_a"))
        run.succeed(name)
    assert seen == [
        {"v": 20, "index": 2, "last": 10},
        {"v": 10, "index": 1, "last": 0},
        {"v": 0, "index": 0, "last": None},
    ]


def test_loops_in_loops_are_undone_from_the_inside_out() -> None:
    document = undoing(
        draw(
            "l:loop>m m:loop>a m:done>b l:done>w",
            l=loop("{{ctx.input}}"),
            m=loop("{{ctx.item}}"),
            w=wait(),
        ),
        a={"input": {"item": "ctx.item"}},
        b={"input": {"item": "ctx.item"}},
        l={},
    )
    run = play(document).start([[1, 2], [3]])
    run.succeed("a[0/0]").succeed("a[0/1]").succeed("b[0]").succeed("a[1/0]").succeed("b[1]")
    run.cancel()
    assert given(run, "undo_l")["originalOutput"] == [None, None]
    run.succeed("undo_l")
    seen: dict[str, JSON] = {}
    while run.running:
        [name] = run.running
        seen[name] = next(iter(run.ledger.running.values())).input
        run.succeed(name)
    assert seen == {
        "undo_b[1]": {"item": [3]},
        "undo_a[1/0]": {"item": 3},
        "undo_b[0]": {"item": [1, 2]},
        "undo_a[0/1]": {"item": 2},
        "undo_a[0/0]": {"item": 1},
    }


def test_a_loop_without_anything_to_undo_keeps_nothing() -> None:
    document = undoing(draw("l:loop>a l:done>z z>w", l=loop([1, 2]), w=wait()), z={})
    run = play(document).start().succeed("a[0]").succeed("a[1]").succeed("z")
    assert run.state.past == {}
    assert not any(key.iteration for key in run.state.nodes)


def test_large_items_of_past_iterations_stay_in_the_log() -> None:
    document = undoing(
        draw("l:loop>a l:done>w", l=loop("{{ctx.input}}"), w=wait()), a={"input": "ctx.item"}
    )
    run = play(document).start(["x" * (LARGE + 1), "small"]).succeed("a[0]").succeed("a[1]")
    assert len(snapshot.encode(run.state)) < LARGE
    assert undo_all(run.cancel()) == ["undo_a[1]", "undo_a[0]"]


def test_a_retry_goes_on_in_a_loop_that_may_be_undone() -> None:
    run = play(LOOP).start(["x", "y"]).succeed("a[0]").succeed("b[0]").succeed("a[1]")
    document = LOOP | {"workflowOptions": {"compensateOnFailure": False}}
    run = play(document).start(["x", "y"]).succeed("a[0]", 0).succeed("b[0]").succeed("a[1]", 1)
    run.fail("b[1]").retry().succeed("b[1]").cancel()
    assert undo_all(run) == ["undo_a[1]", "undo_a[0]"]


# -- children


CALL = draw("a>c c>w", c=child(), w=wait())


def test_a_completed_child_is_asked_to_undo_itself() -> None:
    run = play(undoing(CALL, a={})).start().succeed("a").resolve("c")
    child_id = run.ledger.children[next(iter(run.ledger.children))]
    run.child_ends("c", {"did": 1}, can_be_undone=True).cancel("why")
    assert run.undoing["plan"] == ["c", "undo_a"]
    assert (run.running, run.state.needs_owner) == ([], False), "it waits for a letter alone"
    letter = run.ledger.mail[-1]
    assert (letter.to, letter.input) == (child_id, UndoAsked(by=ID))
    with run.refusing("TEN-3003"):
        run.tell(ChildUndone(node="c", child_id="another", status="COMPLETED"))
    run.child_undone("c")
    assert run.running == ["undo_a"]
    with run.refusing("TEN-3003"):
        run.child_undone("c")
    assert run.succeed("undo_a").status is Status.CANCELLED


def test_a_child_without_anything_to_undo_is_left_alone() -> None:
    run = play(CALL).start().succeed("a").resolve("c").child_ends("c").cancel()
    assert (run.status, run.undoing) == (Status.CANCELLED, None)


def test_an_explicit_compensation_replaces_the_childs_being_undone() -> None:
    """An explicit compensation for the subWorkflow node replaces its being undone."""
    run = play(undoing(CALL, c={})).start().succeed("a").resolve("c")
    run.child_ends("c", can_be_undone=True).cancel()
    assert run.undoing["plan"] == ["undo_c"]
    assert run.running == ["undo_c"]


def test_children_of_iterations_are_undone_each() -> None:
    document = draw("l:loop>c l:done>w", l=loop([1, 2]), c=child(), w=wait())
    run = play(document).start()
    for place in ("c[0]", "c[1]"):
        run.resolve(place).child_ends(place, can_be_undone=True)
    run.cancel()
    assert run.undoing["plan"] == ["c[1]", "c[0]"]
    run.child_undone("c[1]").child_undone("c[0]")
    assert run.status is Status.CANCELLED


def completed_child(**more: Object) -> Run:
    document = undoing(draw("a>b"), **({"a": {}, "b": {}} | more))
    return play(document).start(parent=PARENT).succeed("a").succeed("b")


def test_a_child_says_at_its_end_whether_it_has_anything_to_undo() -> None:
    for run, expected in (
        (completed_child(), True),
        (play(draw("a>b")).start(parent=PARENT).succeed("a").succeed("b"), False),
    ):
        report: Any = run.ledger.mail[-1].input
        assert report.can_be_undone is expected


def test_being_undone_follows_the_final_status_and_does_not_change_it() -> None:
    """Two things may follow a final status, and neither changes it: being undone by the parent, and
    the retry of a failed compensation (which is a dead letter); both add entries and change
    `compensationState`.
    """
    run = completed_child(b={"retry": {"maxAttempts": 2, "initialDelay": "PT1S"}})
    run.tell(UndoAsked(by="p"))
    assert (run.status, run.state.needs_owner) == (Status.COMPLETED, True)
    assert run.tell(UndoAsked(by="p")).news == [], "asked twice, it is undone once"
    run.fail("undo_b", "DOWN", retryable=True).skip().fail("undo_b", "DOWN")
    run.lose("undo_a").succeed("undo_a")
    assert run.news == [
        "COMPENSATION_COMPLETED undo_a#2",
        "COMPENSATION_ENDED COMPLETED_WITH_ERRORS",
    ]
    answer = run.ledger.mail[-1]
    undone = ChildUndone(node="c", child_id=ID, status="COMPLETED_WITH_ERRORS")
    assert (answer.to, answer.input) == ("p", undone)
    assert [letter.node for letter in run.ledger.dead_letters] == ["undo_b"]

    with run.refusing("TEN-3009"):
        run.tell(CompensationRetryAsked(by="ada", step_id="undo_a"))
    run.tell(CompensationRetryAsked(by="ada", step_id="undo_b"))
    assert run.news == ["COMPENSATION_DISPATCHED undo_b#3"]
    with run.refusing("TEN-3002"):
        run.tell(CompensationRetryAsked(by="ada", step_id="undo_b"))
    run.succeed("undo_b")
    assert run.news == ["COMPENSATION_COMPLETED undo_b#3", "COMPENSATION_ENDED COMPLETED"]
    assert (run.status, run.undoing["failed"]) == (Status.COMPLETED, [])
    with run.refusing("TEN-3002"):
        run.cancel()


def test_a_parent_tries_a_childs_undoing_again() -> None:
    run = play(CALL).start().succeed("a").resolve("c").child_ends("c", can_be_undone=True)
    run.cancel().child_undone("c", "COMPLETED_WITH_ERRORS")
    assert run.undoing["status"] == "COMPLETED_WITH_ERRORS"
    run.tell(CompensationRetryAsked(by="ada", step_id="c"))
    assert run.ledger.mail[-1].input == UndoAsked(by=ID, attempt=2)
    assert run.child_undone("c").undoing["status"] == "COMPLETED"


def repeated(run: Run, attempt: int) -> tuple[Entry, ...]:
    """What would become true if a letter of the parent came twice."""
    asked = UndoAsked(by="p", attempt=attempt)
    return decide(run.plan, run.state, asked, run.now, run.policies).entries


def test_a_child_that_is_asked_once_more_tries_again_whatever_was_given_up() -> None:
    once: Object = {"retry": {"maxAttempts": 1}}
    document = undoing(draw("a>b b>c"), a=once, b=once, c=once)
    run = play(document).start(parent=PARENT).succeed("a").succeed("b").succeed("c")
    run.tell(UndoAsked(by="p")).fail("undo_c").succeed("undo_b").fail("undo_a")
    assert run.undoing["status"] == "COMPLETED_WITH_ERRORS"
    assert not repeated(run, 1)
    run.tell(UndoAsked(by="p", attempt=2))
    assert run.news == ["COMPENSATION_PLANNED undo_c,undo_a", "COMPENSATION_DISPATCHED undo_c#2"]
    assert run.undoing["plan"] == ["undo_c", "undo_b", "undo_a"]
    assert not repeated(run, 2)
    run.succeed("undo_c")
    assert run.news == ["COMPENSATION_COMPLETED undo_c#2", "COMPENSATION_DISPATCHED undo_a#2"]
    run.fail("undo_a")
    answer = ChildUndone(node="c", child_id=ID, status="COMPLETED_WITH_ERRORS")
    assert run.ledger.mail[-1].input == answer
    assert not repeated(run, 2)
    run.tell(UndoAsked(by="p", attempt=3)).succeed("undo_a")
    assert run.news == ["COMPENSATION_COMPLETED undo_a#3", "COMPENSATION_ENDED COMPLETED"]
    assert run.ledger.mail[-1].input == ChildUndone(node="c", child_id=ID, status="COMPLETED")
    assert run.status is Status.COMPLETED


def test_what_cannot_be_worked_out_once_more_is_answered_all_the_same() -> None:
    broken: Object = {"input": "steps.a.output.nope()"}
    run = play(undoing(draw("a"), a=broken)).start(parent=PARENT).succeed("a", 1)
    run.tell(UndoAsked(by="p")).tell(UndoAsked(by="p", attempt=2))
    assert run.news[1:] == [
        "COMPENSATION_FAILED undo_a#2 EXPRESSION_ERROR fail",
        "COMPENSATION_ENDED COMPLETED_WITH_ERRORS",
    ]
    answers = [sent for sent in run.ledger.mail if isinstance(sent.input, ChildUndone)]
    assert len(answers) == 2


def test_a_child_whose_output_is_too_large_is_undone_with_the_rest() -> None:
    run = play(draw("a>c c>w", c=child(), w=wait()), check=None)
    run.plan = Plan(compile_definition(run.document), limits=Limits(output_bytes=100))
    run.start().succeed("a").resolve("c").child_ends("c", "x" * 200, can_be_undone=True)
    assert (run.code, run.undoing["plan"]) == ("TOO_LARGE", ["c"])
    assert run.child_undone("c").status is Status.FAILED


def test_an_undo_plan_names_the_children_that_run() -> None:
    document = draw("s>c s>l l:loop>d", s=start(), c=child(), d=child(), l=loop([1]))
    run = play(document).start().resolve("c").resolve("d[0]")
    foreseen = undo_plan(run.plan, run.state, CancelAsked(by="ada"))
    names = run.ledger.children
    assert foreseen == {
        "plan": [],
        "skipped": [],
        "children": [
            {"stepId": "c", "instanceId": names[NodeKey("c")]},
            {"stepId": "d", "iteration": "0", "instanceId": names[NodeKey("d", "0")]},
        ],
    }
    run.cancel()
    assert sorted(run.ledger.ends()) == sorted(names_ended(foreseen))


def names_ended(foreseen: Any) -> list[str]:  # noqa: ANN401
    return [each["instanceId"] for each in foreseen["children"]]


def test_what_is_kept_to_undo_iterations_counts_as_context() -> None:
    big = "x" * 1_000
    for mode in ("parallel", "sequential"):
        document = undoing(
            draw(
                "l:loop>a a>b l:done>z",
                l=loop("{{ctx.input}}", mode=mode, result="{{1}}"),
                a=task(outputVariable="big"),
            ),
            b={"input": "ctx.item"},
        )
        run = limited(document, context_bytes=10_000).start(list(range(50)))
        while not run.state.ending:
            name = min(run.running, key=lambda name: int(name[2:-1]))
            run.succeed(name, big)
        assert run.code == "TOO_LARGE"
        assert 2 <= len(run.state.past) <= 6, "what b gives is kept as well"
    free = draw("l:loop>a a>b l:done>z", l=loop("{{ctx.input}}", result="{{1}}"))
    run = limited(free, context_bytes=10_000).start(list(range(20)))
    while run.running != ["z"]:
        run.succeed(run.running[0], big)
    assert run.state.context_bytes == 0


def test_a_child_that_ended_before_it_heard_of_the_cancel_undoes_itself() -> None:
    asked = CancelAsked(by="p", source="PARENT", reason="enough")
    run = completed_child().tell(asked)
    assert run.running == ["undo_b"]
    with run.refusing("TEN-3002"):
        run.tell(asked)
    for kept in (
        CancelAsked(by="p", source="PARENT", should_compensate=False),
        CancelAsked(by="ada"),
    ):
        run = completed_child()
        with run.refusing("TEN-3002"):
            run.tell(kept)


@pytest.mark.parametrize("asked", [True, False])
def test_a_child_that_is_called_off_undoes_what_its_parent_would(asked: bool) -> None:
    run = play(CALL).start().succeed("a").resolve("c").cancel(should_compensate=asked)
    [told] = run.ledger.ends().values()
    assert told.should_compensate is asked
    document = draw("s>c s>b", s=start(), c=child(), options={"compensateOnFailure": asked})
    run = play(document).start().resolve("c").fail("b")
    [told] = run.ledger.ends().values()
    assert told.should_compensate is asked
