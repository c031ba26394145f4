"""javascript, http and dataQuery nodes live as tasks do: attempts, retries, time-outs, cancels."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto.core.built_in import task_id_of
from tenuto.core.scope import plain_scope
from tenuto.model.failure import Failure
from tenuto.model.graph import BuiltIn, Executed
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TaskFailed
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import box, computed, draw, loop, start
from tests.core.play import Run, play

SECOND = timedelta(seconds=1)

JAVASCRIPT = {"code": "return 1"}
HTTP: Object = {"url": "https://a.example/{{ctx.input.id}}", "method": "POST", "body": {"n": 1}}
QUERY: Object = {"dataQueryID": "q", "args": {"id": "{{ctx.input.id}}"}}
EACH = pytest.mark.parametrize(
    ("kind", "config"), [("javascript", JAVASCRIPT), ("http", HTTP), ("dataQuery", QUERY)]
)


def built_in(kind: str, config: Object, **more: JSON) -> Object:
    return box(kind, **config, **more)


def began(run: Run, node: str) -> Object:
    """What the attempt that runs was ordered with."""
    order = run.ledger.running[NodeKey(node, "")]
    return {"task": order.task_id, "input": order.input, "timeout": order.timeout / SECOND}


@EACH
def test_one_is_dispatched_and_completes_as_a_task_does(kind: str, config: Object) -> None:
    run = play(draw("s>a a>b", s=start(), a=built_in(kind, config))).start({"id": 7})
    assert began(run, "a")["task"] == f"@{kind}"
    run.succeed("a", {"n": 1})
    assert run.running == ["b"]
    assert run.step("a") == "COMPLETED"


@EACH
def test_one_is_tried_again_by_its_policy_and_then_given_up(kind: str, config: Object) -> None:
    retry: Object = {"maxAttempts": 2, "initialDelay": "PT1S"}
    document = draw("s>a a:error>b", s=start(), a=built_in(kind, config, retry=retry))
    run = play(document).start({"id": 7}).fail("a", retryable=True)
    assert 1 * SECOND <= run.timers["a"] <= 1.25 * SECOND
    run.skip().fail("a", retryable=True)
    assert run.running == ["b"]
    assert run.step("a") == "FAILED"


@EACH
def test_one_is_lost_five_times_and_then_poison(kind: str, config: Object) -> None:
    run = play(draw("s>a", s=start(), a=built_in(kind, config))).start({"id": 7})
    for _ in range(5):
        run.lose("a")
    assert run.status is Status.FAILED
    assert run.code == "POISON"


@EACH
def test_a_running_one_is_asked_to_stop_when_its_instance_is_cancelled(
    kind: str, config: Object
) -> None:
    run = play(draw("s>a", s=start(), a=built_in(kind, config))).start({"id": 7}).cancel()
    assert NodeKey("a", "") in run.ledger.told_to_stop
    run.fail("a", "CANCELLED")
    assert run.status is Status.CANCELLED


@EACH
def test_an_unhandled_failure_is_a_dead_letter_with_the_input(kind: str, config: Object) -> None:
    run = play(draw("s>a", s=start(), a=built_in(kind, config))).start({"id": 7}).fail("a")
    assert run.status is Status.FAILED
    [letter] = run.ledger.dead_letters
    assert (letter.task_id, letter.kind) == (f"@{kind}", "task-failed")
    assert letter.input is not None


@EACH
def test_a_retry_by_hand_gives_it_the_same_input(kind: str, config: Object) -> None:
    run = play(draw("s>a", s=start(), a=built_in(kind, config))).start({"id": 7})
    before = began(run, "a")
    run.fail("a").retry()
    assert began(run, "a") == before
    assert run.attempt("a") == 2


def test_an_http_node_is_given_its_request_rendered() -> None:
    document = draw(
        "s>v v>a",
        s=start(),
        v=computed(who="ann"),
        a=box(
            "http",
            url="https://a.example/{{ctx.who}}",
            headers={"x-n": "{{ctx.input.n}}"},
            query={"n": "{{ctx.input.n}}"},
            auth={"type": "basic", "value": "{{ctx.who}}:x"},
        ),
    )
    run = play(document).start({"n": 3})
    request: Object = {
        "method": "GET",
        "url": "https://a.example/ann",
        "headers": {"x-n": 3},
        "query": {"n": 3},
        "auth": {"type": "basic", "value": "ann:x"},
    }
    assert began(run, "a")["input"] == request


def test_a_javascript_node_without_input_is_given_that_of_the_workflow() -> None:
    own: Object = {**JAVASCRIPT, "input": {"k": "{{ctx.input.n + 1}}"}}
    document = draw(
        "s>a s>b", s=start(), a=box("javascript", **JAVASCRIPT), b=box("javascript", **own)
    )
    run = play(document).start({"n": 3})
    assert began(run, "a")["input"] == {"n": 3}
    assert began(run, "b")["input"] == {"k": 4}


def test_arguments_of_a_query_may_be_one_template() -> None:
    one = box("dataQuery", dataQueryID="q", args="{{ctx.input}}")
    run = play(draw("s>a s>b", s=start(), a=one, b=box("dataQuery", dataQueryID="q"))).start(
        {"n": 3}
    )
    assert began(run, "a")["input"] == {"n": 3}
    assert began(run, "b")["input"] == {}


def test_code_has_thirty_seconds_and_the_others_as_long_as_a_task() -> None:
    document = draw(
        "s>a s>b s>c",
        s=start(),
        a=box("javascript", **JAVASCRIPT),
        b=box("javascript", **JAVASCRIPT, timeout="PT2S"),
        c=box("http", **HTTP),
    )
    run = play(document).start({"id": 7})
    assert [began(run, name)["timeout"] for name in ("a", "b", "c")] == [30, 2, 600]


@pytest.mark.parametrize(
    ("asked", "waits"),
    [(timedelta(seconds=20), 20), (timedelta(0), 1), (timedelta(days=400), 30)],
)
def test_the_next_attempt_waits_as_long_as_a_service_asks_for(asked: timedelta, waits: int) -> None:
    """But no longer than the `maxDelay` of its policy."""
    document = draw("s>a", s=start(), a=box("http", **HTTP))
    run = play(document).start({"id": 7})
    failure = Failure(code="HTTP_STATUS", message="503")
    run.tell(TaskFailed(node="a", attempt=1, error=failure, retry_after=asked))
    assert waits * SECOND <= run.timers["a"] <= max(waits, 1.25) * SECOND


def test_code_in_a_loop_sees_its_own_iteration() -> None:
    document = draw(
        "s>l l:loop>a l:done>z",
        s=start(),
        l=loop("{{ctx.input.items}}", mode="parallel"),
        a=box("javascript", **JAVASCRIPT),
    )
    run = play(document).start({"items": ["x", "y"]})
    seen = plain_scope(run.plan, run.state, NodeKey("a", "1"), ("ctx", "steps"))
    assert seen["ctx"] == {"input": {"items": ["x", "y"]}, "item": "y", "index": 1}
    steps = seen["steps"]
    assert isinstance(steps, dict)
    assert (
        steps["s"]
        == {
            "status": "COMPLETED",
            "output": {"started": True, "inputReceived": {"items": ["x", "y"]}},
            "attempts": 1,
        }
        or steps["s"]
    )


def test_every_built_in_task_has_a_name_that_no_program_can_register() -> None:
    document = draw(
        "a>b b>c",
        a=box("javascript", **JAVASCRIPT),
        b=box("http", **HTTP),
        c=box("dataQuery", **QUERY),
    )
    plan = play(document).plan
    configs = [planned.node.config for planned in plan.nodes.values()]
    assert all(isinstance(each, BuiltIn) for each in configs)
    assert [task_id_of(each) for each in configs if isinstance(each, Executed)] == [
        "@javascript",
        "@http",
        "@dataQuery",
    ]
    assert plan.tasks == {}
