"""What an instance shows of itself: `ctx`, `system`, `state`."""

from __future__ import annotations

import pytest

from tenuto.core.scope import scope_of
from tenuto.expr import UNDEFINED, Steps, compile_expression
from tenuto.model.errors import InvalidDefinition
from tenuto.model.status import NodeStatus
from tests.core.drawing import condition, delay, draw, end, every, start, task, wait
from tests.core.play import play


def test_the_context_is_input_variables_and_output() -> None:
    """`ctx` = `{input, <outputVariables and mapped names>, output (after an end node)}`."""
    document = draw(
        "a>w w>e",
        a=task(outputVariable="booking"),
        w=wait(eventPayloadMapping={"amount": "sum.cents"}, outputVariable="payment"),
        e=end({"ok": "{{ctx.amount}}"}),
    )
    run = play(document).start({"n": 1})
    assert run.ctx == {"input": {"n": 1}}
    run.succeed("a", {"id": 7})
    assert run.ctx == {"input": {"n": 1}, "booking": {"id": 7}}
    run.event("paid", {"sum": {"cents": 5}})
    assert run.ctx["amount"] == 5
    assert run.ctx["payment"] == run.view["steps"]["w"]["output"]
    assert run.ctx["output"] == {"ok": 5}


def test_what_the_system_notes_is_out_of_reach_of_expressions() -> None:
    """`SYSTEM_SET` folds into `system`, beside `ctx` at `/context`, out of reach of expressions."""
    run = play(draw("a a:error>b")).start()
    for _ in range(5):
        run.lose("a")
    assert run.state.system["poison"]
    assert "system" not in run.ctx
    assert set(run.ctx) == {"input"}
    scope = scope_of(run.plan, run.state, steps=Steps())
    for source in ("ctx.system", "ctx.poison", "workflow.instance.state.variables.poison"):
        assert compile_expression(source).evaluate(scope) is UNDEFINED
    with pytest.raises(InvalidDefinition):
        play(draw("a", a=task(input="{{system.poison}}")))


@pytest.mark.parametrize("name", ["input", "output", "item", "index", "last", "__node_a", "__x"])
def test_names_of_the_context_cannot_be_taken(name: str) -> None:
    """`input`, `output`, `item`, `index`, `last` and names starting with `__` are refused as
    `outputVariable` or mapping target.
    """
    with pytest.raises(InvalidDefinition, match="outputVariable"):
        play(draw("a", a=task(outputVariable=name)))
    with pytest.raises(InvalidDefinition, match="eventPayloadMapping"):
        play(draw("a", a=wait(eventPayloadMapping={name: "x"})))


def test_the_state_has_its_documented_shape() -> None:
    """`state` = `{input, variables, steps: {<id>: {status, output, error?, attempts, startedAt,
    completedAt}}, currentStepId, currentSteps, waitingForEvent: {stepId, eventPattern,
    eventCondition, since} | null (the oldest open wait), waits: […]}`; `variables` is `ctx`
    without `input`.
    """
    document = draw(
        "a>w a>x x>y", a=task(outputVariable="v"), w=wait(eventCondition="event.payload.n > 1")
    )
    run = play(document).start({"n": 1}).later(seconds=1).succeed("a", 5)
    run.later(seconds=1).fail("x", "BROKEN", details={"why": 1}, retryable=True)
    waiting = {
        "stepId": "w",
        "eventPattern": "paid",
        "eventCondition": "event.payload.n > 1",
        "since": "2026-01-01T00:00:01.000Z",
    }
    error = {
        "code": "BROKEN",
        "message": "BROKEN in x",
        "details": {"why": 1},
        "stepId": "x",
        "iteration": "",
        "attempt": 1,
        "at": "2026-01-01T00:00:02.000Z",
    }
    assert run.view == {
        "input": {"n": 1},
        "variables": {"v": 5},
        "steps": {
            "a": {
                "status": "COMPLETED",
                "output": 5,
                "attempts": 1,
                "startedAt": "2026-01-01T00:00:00.000Z",
                "completedAt": "2026-01-01T00:00:01.000Z",
            },
            "w": {
                "status": "WAITING",
                "output": None,
                "attempts": 1,
                "startedAt": "2026-01-01T00:00:01.000Z",
                "completedAt": None,
            },
            "x": {
                "status": "RETRYING",
                "output": None,
                "attempts": 1,
                "startedAt": "2026-01-01T00:00:01.000Z",
                "completedAt": None,
                "error": error,
            },
            "y": {
                "status": "PENDING",
                "output": None,
                "attempts": 0,
                "startedAt": None,
                "completedAt": None,
            },
        },
        "currentStepId": "x",
        "currentSteps": ["x", "w"],
        "waitingForEvent": waiting,
        "waits": [waiting],
    }


def test_the_oldest_open_wait_is_the_one_waited_for() -> None:
    run = play(draw("s>u a>v s>a", s=start(), u=wait("u"), v=wait("v"))).start().succeed("a")
    assert [each["stepId"] for each in run.view["waits"]] == ["u", "v"]
    assert run.view["waitingForEvent"]["stepId"] == "u"
    assert run.event("u").view["waitingForEvent"]["stepId"] == "v"
    assert run.event("v").view["waitingForEvent"] is None


def test_a_step_has_every_documented_status_in_its_time() -> None:
    """Step statuses: PENDING, RUNNING, WAITING, RETRYING, COMPLETED, FAILED, SKIPPED, CANCELLED."""
    document = draw(
        "s>a s>b s>c s>k c:else>d d>e b:error>f k>l",
        s=start(),
        b=task(),
        c=condition(yes="true"),
        f=task(cancels=["k"]),
        k=delay(),
    )
    run = play(document).start()
    seen = {run.step("a"), run.step("f"), run.step("d"), run.step("k"), run.step("s")}
    run.fail("a", retryable=True)
    seen.add(run.step("a"))
    run.fail("b").succeed("f")
    seen |= {run.step("b"), run.step("k")}
    assert seen == {status.value for status in NodeStatus}


def test_the_current_step_is_the_one_opened_last_that_is_still_open() -> None:
    """`currentStepId`: the step opened last that is still open; the list filter matches any
    open one.
    """
    run = play(draw("s>a s>b a>c", s=start())).start()
    assert (run.view["currentStepId"], run.view["currentSteps"]) == ("b", ["b", "a"])
    run.succeed("a")
    assert (run.view["currentStepId"], run.view["currentSteps"]) == ("c", ["c", "b"])
    run.succeed("c")
    assert run.view["currentStepId"] == "b"
    assert run.succeed("b").view["currentStepId"] is None


def test_a_cancellation_says_who_why_when_and_from_where() -> None:
    """`cancellation` = `{reason, requestedBy, requestedAt, source, eventId?,
    shouldCompensate}`; `requestedBy` is `system` for EVENT and TIMEOUT, the parent's id for
    PARENT.
    """
    run = play(draw("a", options={"timeout": "PT1M"})).start()
    asked = play(draw("a")).start().later(seconds=1).cancel("changed my mind").state.cancellation
    assert asked is not None
    assert asked.reason == "changed my mind"
    assert (asked.requested_by, asked.source, asked.should_compensate) == ("ada", "API", True)
    assert asked.requested_at.second == 1
    timed_out = run.skip().state.cancellation
    assert timed_out is not None
    assert (timed_out.requested_by, timed_out.source) == ("system", "TIMEOUT")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("steps.a.output.n", 5),
        ("steps.a.status", "COMPLETED"),
        ("steps.b.status", "RUNNING"),
        ("steps.b.attempts", 1),
        ("steps.b.output", None),
        ("steps.c", UNDEFINED),
        ("steps.a.error", UNDEFINED),
        ("workflow.input.n", 1),
        ("workflow.instance.input.n", 1),
        ("workflow.instance.status", "RUNNING"),
        ("workflow.instance.state.steps.a.output.n", 5),
        ("workflow.instance.state.variables.v.n", 5),
        ("workflow.instance.state.variables.input", UNDEFINED),
        ("workflow.instance.state.input.n", 1),
        ("workflow.instance.cancellation", None),
        ("workflow.instance.correlationId", "order-7"),
        ("workflow.id", "w"),
        ("workflow.version", 1),
        ("ctx.v.n", 5),
        ("ctx.nothing", UNDEFINED),
        ("Object.keys(ctx)", ["input", "v"]),
        ("Object.keys(steps)", ["a", "b", "f"]),
        ("Object.keys(steps.a)", ["status", "output", "attempts"]),
        ("Object.keys(workflow)", ["id", "input", "instance", "version"]),
        ("workflow.nothing", UNDEFINED),
        ("workflow.instance.nothing", UNDEFINED),
        ("workflow.instance.state.nothing", UNDEFINED),
        ("Object.keys(workflow.instance.state)", ["input", "steps", "variables"]),
        ("steps.f.status", "FAILED"),
        ("steps.f.error.code", "OOPS"),
        ("Object.keys(steps.f)", ["status", "output", "attempts", "error"]),
        ("JSON.stringify(workflow.instance.state.variables)", '{"v":{"n":5}}'),
    ],
)
def test_expressions_see_the_instance(source: str, expected: object) -> None:
    run = play(draw("f a>b b>c f:error>c", a=task(outputVariable="v")))
    run.start({"n": 1}, correlation_id="order-7").succeed("a", {"n": 5}).fail("f")
    assert (
        compile_expression(source).evaluate(scope_of(run.plan, run.state, steps=Steps()))
        == expected
    )


def test_later_values_win_in_the_context() -> None:
    run = play(draw("a>b b>c", a=task(outputVariable="v"), b=task(outputVariable="v")))
    assert run.start().succeed("a", 1).ctx["v"] == 1
    assert run.succeed("b", 2).ctx["v"] == 2


def test_several_branches_may_be_taken_at_once() -> None:
    run = play(draw("c:x>a c:y>b", c=every(x="true", y="true"))).start()
    assert run.view["currentSteps"] == ["b", "a"]


def test_what_was_never_dispatched_was_never_tried() -> None:
    """`attempts` of a step that was skipped or never dispatched is 0."""
    run = play(draw("a>b b>c", b=task(when="ctx.input.go"))).start({"go": False}).succeed("a")
    steps = run.view["steps"]
    assert run.step("b") == "SKIPPED"
    assert {name: steps[name]["attempts"] for name in ("a", "b")} == {"a": 1, "b": 0}
