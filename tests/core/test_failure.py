"""What follows when a step fails for good: routed, or the end of the workflow."""

from __future__ import annotations

import pytest

from tenuto.model.errors import InvalidDefinition
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import box, condition, delay, draw, end, start, step, steps, task, wait
from tests.core.play import play

ROUTES: list[JSON] = [
    {"codes": ["OUT_OF_STOCK", "GONE"], "handle": "x"},
    {"codes": ["GONE", "SLOW"], "handle": "y"},
]


@pytest.mark.parametrize(
    ("code", "goes_to"),
    [("OUT_OF_STOCK", "b"), ("GONE", "b"), ("SLOW", "c"), ("OTHER", "d"), ("TIMEOUT", "d")],
)
def test_a_failure_takes_the_first_handle_that_names_its_code(code: str, goes_to: str) -> None:
    """Then the first matching `onError.codes`, else `error`, else the workflow fails."""
    document = draw("a>z a:x>b a:y>c a:error>d", a=task(onError=ROUTES))
    assert play(document).start().fail("a", code).running == [goes_to]
    run = play(document).start().fail("a", code, retryable=True)
    assert run.status is Status.RUNNING
    assert run.running == [], "retries come first, always"


def test_a_failure_that_nothing_takes_fails_the_workflow() -> None:
    run = play(draw("a>z a:x>b a:y>c", a=task(onError=ROUTES))).start().fail("a", "OTHER")
    assert run.news == ["NODE_FAILED a#1 OTHER fail", "STATUS_CHANGED FAILED"]
    steps_form = steps(
        step("a", transitions={"onError": [{"codes": ["X"], "to": "b"}], "default": "c"}),
        step("b"),
        step("c"),
    )
    assert play(steps_form).start().fail("a", "X").news[1] == (
        "NODE_COMPLETED a#1 error -> onError_1"
    )
    assert play(steps_form).start().fail("a", "Y").status is Status.FAILED


def test_an_error_target_beside_fail_workflow_is_refused() -> None:
    """`errorHandling` defaults to `continue`; `fail_workflow` together with an error target is
    a validation error.
    """
    assert play(draw("a:error>b")).start().fail("a").running == ["b"]
    run = play(draw("a>b", a=task(errorHandling="fail_workflow"))).start().fail("a")
    assert run.status is Status.FAILED
    with pytest.raises(InvalidDefinition, match="errorHandling"):
        play(draw("a:error>b", a=task(errorHandling="fail_workflow")))


@pytest.mark.parametrize(
    "node",
    [
        task(),
        delay("{{ctx.input.nope()}}"),
        wait(eventTimeout={"duration": "PT1S"}),
        condition(x="ctx.input.nope()"),
    ],
    ids=["task", "delay", "eventWait", "condition"],
)
def test_every_type_has_the_handle_error(node: Object) -> None:
    """Every type has handle `error`."""
    run = play(draw("s>a a:error>b", s=start(), a=node)).start({})
    if run.running == ["a"]:
        run.fail("a")
    elif run.timers:
        run.skip()
    assert run.running == ["b"]
    assert run.step("a") == "FAILED"


def test_a_handled_failure_is_recorded_and_goes_on() -> None:
    """A handled failure is NODE_FAILED of that attempt and one NODE_COMPLETED with `nodeStatus:
    error`, handle `error`, output `{error: {code, message, details, attempts}}`; the step's
    status is FAILED; it is not compensated and no dead letter.
    """
    run = play(draw("a:error>b", a=task(outputVariable="v", retry={"maxAttempts": 2}))).start()
    run.fail("a", "FIRST", retryable=True).skip().fail("a", "SECOND", details={"n": 1})
    assert run.news == [
        "NODE_FAILED a#2 SECOND route",
        "NODE_COMPLETED a#2 error -> error",
        "NODE_DISPATCHED b#1",
    ]
    output = {
        "error": {
            "code": "SECOND",
            "message": "SECOND in a",
            "details": {"n": 1},
            "attempts": 2,
        }
    }
    assert run.view["steps"]["a"]["output"] == run.ctx["v"] == output
    assert run.step("a") == "FAILED"
    assert run.ledger.dead_letters == []
    assert run.succeed("b").status is Status.COMPLETED
    assert run.state.last_error is None


def test_an_unhandled_failure_withdraws_what_is_left_and_gives_what_runs_its_grace() -> None:
    """An unhandled failure: nothing new starts; waits, timers and children are withdrawn;
    running tasks are told and have `options.cancelGrace` (10 s); a result within it is
    recorded and will be compensated; then compensation, then FAILED.
    """
    document = draw(
        "s>a s>b s>w s>d s>r b>after",
        s=start(),
        w=wait(),
        d=delay(),
        b=task(outputVariable="v"),
    )
    run = play(document).start().fail("r", retryable=True).fail("a", "BROKEN")
    assert run.news == [
        "NODE_FAILED a#1 BROKEN fail",
        "NODE_CANCEL_REQUESTED b#1",
        "NODE_CANCELLED w#1",
        "NODE_CANCELLED d#1",
        "NODE_CANCELLED r#1",
    ]
    assert run.status is Status.RUNNING
    assert run.ledger.waits == {}
    assert {name: wait.total_seconds() for name, wait in run.timers.items()} == {"b": 10}
    within = run.later(seconds=10).succeed("b", 5)
    assert within.news == ["NODE_COMPLETED b#1", "STATUS_CHANGED FAILED"]
    assert within.ctx["v"] == 5
    assert within.step("after") == "PENDING"


def test_the_grace_is_as_long_as_the_definition_says() -> None:
    document = draw("s>a s>b", options={"cancelGrace": "PT3S"}, s=start())
    run = play(document).start().fail("a")
    assert run.timers["b"].total_seconds() == 3
    assert run.skip().news == ["NODE_CANCELLED b#1", "STATUS_CHANGED FAILED"]
    none = play(draw("s>a s>b", options={"cancelGrace": 0}, s=start())).start().fail("a")
    assert none.fire().status is Status.FAILED


def test_a_failure_within_the_grace_changes_nothing() -> None:
    run = play(draw("s>a s>b", s=start())).start().fail("a", "FIRST").fail("b", "SECOND")
    assert run.news == [
        "NODE_FAILED b#1 SECOND cancel",
        "NODE_CANCELLED b#1",
        "STATUS_CHANGED FAILED",
    ]
    assert run.code == "FIRST"


def test_later_results_are_refused_and_kept() -> None:
    """Later results get 409 and become dead letters of kind `late-result`."""
    run = play(draw("s>a s>b", s=start())).start().fail("a").skip()
    assert run.status is Status.FAILED
    with run.refusing("TEN-3005"):
        run.succeed("b", {"charged": 5})
    letter = run.ledger.dead_letters[-1]
    assert (letter.kind, letter.node, letter.output) == ("late-result", "b", {"charged": 5})
    with run.refusing("TEN-3003"):
        run.succeed("a")


def test_the_same_order_for_failure_cancel_and_terminate() -> None:
    """The same order for cancel and terminate."""
    document = draw(
        "s>a s>b s>w a:x>t",
        s=start(),
        a=task(handles=["x"]),
        w=wait(),
        t=box("terminate", status="COMPLETED", output=1),
    )
    withdrawn = ["NODE_CANCEL_REQUESTED b#1", "NODE_CANCELLED w#1"]
    failed = play(document).start().fail("a")
    assert failed.news == ["NODE_FAILED a#1 OOPS fail", *withdrawn]
    cancelled = play(document).start().cancel()
    assert cancelled.news == ["CANCEL_REQUESTED API", "NODE_CANCEL_REQUESTED a#1", *withdrawn]
    terminated = play(document).start().succeed("a", handle="x")
    assert terminated.news == ["NODE_COMPLETED a#1 -> x", "NODE_COMPLETED t#1", *withdrawn]
    for run, status in (
        (failed, Status.FAILED),
        (cancelled, Status.CANCELLED),
        (terminated, Status.COMPLETED),
    ):
        assert run.status is Status.RUNNING
        run.skip()
        assert run.status is status
        with run.refusing("TEN-3005"):
            run.succeed("b")


def test_the_last_error_is_the_first_failure() -> None:
    """`lastError` is the first failure."""
    run = play(draw("s>a s>b", s=start())).start().pause().fail("a", "FIRST").fail("b", "SECOND")
    assert run.resume().status is Status.FAILED
    assert run.code == "FIRST"
    assert run.state.last_error is not None
    assert run.state.last_error.step_id == "a"


def test_what_nothing_handled_becomes_a_dead_letter() -> None:
    """Tasks whose failure nothing handled become dead letters; poison always does."""
    document = draw("a>b", b=task(input={"n": "{{ctx.v}}"}), a=task(outputVariable="v"))
    run = play(document).start({"n": 1}).succeed("a", 7).fail("b", "BROKEN", details={"why": 2})
    [letter] = run.ledger.dead_letters
    assert (letter.kind, letter.node, letter.attempt, letter.task_id) == (
        "task-failed",
        "b",
        1,
        "work",
    )
    assert letter.input == {"n": 7}
    assert letter.error is not None
    assert letter.error.code == "BROKEN"


def test_only_tasks_become_dead_letters() -> None:
    run = play(draw("s>e", s=start(), e=end("{{ctx.input.nope()}}"))).start({})
    assert run.status is Status.FAILED
    assert run.ledger.dead_letters == []
    never_began = play(draw("a", a=task(input="{{ctx.input.nope()}}"))).start({})
    assert [letter.input for letter in never_began.ledger.dead_letters] == [None]


def test_an_error_shows_where_and_when_it_happened() -> None:
    """`lastError` and a step's `error`: `{code, message, details?, stepId, iteration, attempt,
    at}`.
    """
    run = play(draw("a>b")).start().later(seconds=5).fail("a", "BROKEN", details=[1])
    shown = {
        "code": "BROKEN",
        "message": "BROKEN in a",
        "details": [1],
        "stepId": "a",
        "iteration": "",
        "attempt": 1,
        "at": "2026-01-01T00:00:05.000Z",
    }
    assert run.view["steps"]["a"]["error"] == shown
    without = play(draw("a")).start().fail("a")
    assert "details" not in without.view["steps"]["a"]["error"]


def test_a_route_that_leads_nowhere_swallows_no_error() -> None:
    """`continue` without anything on the handle fails the workflow."""
    run = play(draw("a>z a:y>c", a=task(onError=ROUTES))).start().fail("a", "OUT_OF_STOCK")
    assert run.status is Status.FAILED
