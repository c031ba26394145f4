"""Where a workflow goes: handles, conditions, `when`, dead paths, ends."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import (
    condition,
    delay,
    draw,
    end,
    every,
    start,
    step,
    steps,
    task,
    wait,
)
from tests.core.play import play


def test_in_the_dependency_form_every_edge_is_required() -> None:
    """In the dependency form and the Python form every edge is required: they compile to
    `joinMode {atLeast: <number of required edges>}`, so a step whose input is dead is
    skipped.
    """
    document = steps(
        step("a", transitions={"error": "rescue"}),
        step("b"),
        step("c", dependsOn=["a", "b"]),
        step("rescue"),
    )
    run = play(document).start()
    assert run.running == ["a", "b"]
    assert "NODE_DISPATCHED c#1" in run.succeed("a").succeed("b").news
    run = play(document).start().succeed("b").fail("a")
    assert run.news == [
        "NODE_FAILED a#1 OOPS route",
        "NODE_COMPLETED a#1 error -> error",
        "NODE_SKIPPED c#1 dead-path",
        "NODE_DISPATCHED rescue#1",
    ]


def test_without_a_start_node_every_node_without_incoming_edges_starts() -> None:
    """Graph form: one `start` node, or none and then every node without incoming edges starts."""
    assert play(draw("a>c b>c")).start().running == ["a", "b"]
    run = play(draw("s>a a>c", s=start())).start({"n": 1})
    assert run.log[2:] == ["NODE_COMPLETED s#1", "NODE_DISPATCHED a#1"]
    assert run.view["steps"]["s"]["output"] == {"started": True, "inputReceived": {"n": 1}}


def test_a_step_without_input_gets_the_workflows_input() -> None:
    """A step without `input` gets the workflow's input."""
    run = play(draw("a>b b>c", b=task(input={"n": "{{ctx.input.n}}", "x": 1}), c=task(input=None)))
    run.start({"n": 7})
    assert run.ledger.running[NodeKey("a")].input == {"n": 7}
    assert run.succeed("a").ledger.running[NodeKey("b")].input == {"n": 7, "x": 1}
    assert run.succeed("b").ledger.running[NodeKey("c")].input is None


@pytest.mark.parametrize(
    ("output", "goes_to"), [({"n": 1}, "small"), ({"n": 5}, "five"), ({"n": 9}, "large")]
)
def test_conditions_are_read_with_the_output_in_the_context(output: Object, goes_to: str) -> None:
    """`conditions` are read after the step's output is in `ctx`; the first truthy one is taken
    instead of `default`; none and no `default`: the branch ends.
    """
    document = steps(
        step(
            "a",
            outputVariable="v",
            transitions={
                "default": "large",
                "conditions": [
                    {"when": "ctx.v.n < 3", "to": "small"},
                    {"when": "ctx.v.n < 7", "to": "five"},
                ],
            },
        ),
        step("small"),
        step("five"),
        step("large"),
    )
    assert play(document).start().succeed("a", output).running == [goes_to]


def test_without_a_true_condition_and_a_default_the_branch_ends() -> None:
    transitions: Object = {"conditions": [{"when": "ctx.v > 3", "to": "b"}]}
    run = play(steps(step("a", outputVariable="v", transitions=transitions), step("b"))).start()
    assert run.succeed("a", 1).news == [
        "NODE_COMPLETED a#1",
        "NODE_SKIPPED b#1 dead-path",
        "STATUS_CHANGED COMPLETED",
    ]


def test_a_task_that_names_a_handle_is_not_routed_by_conditions() -> None:
    routes: list[JSON] = [{"when": "true", "handle": "r"}]
    run = play(draw("a:r>b a:x>c", a=task(conditions=routes, handles=["x"]))).start()
    assert run.succeed("a", handle="x").running == ["c"]


@pytest.mark.parametrize("falsy", ["false", "null", "0", "''", "ctx.nothing", "ctx.a.b.c"])
def test_when_false_passes_the_node_over(falsy: str) -> None:
    """`when` false passes the node over: NODE_SKIPPED (`reason: "when"`), output null,
    `default` taken.
    """
    document = draw("a>b a:error>c b>d", a=task(when=falsy, outputVariable="v"))
    run = play(document).start()
    assert run.log[2:] == [
        "NODE_SKIPPED a#1 when",
        "NODE_SKIPPED c#1 dead-path",
        "NODE_DISPATCHED b#1",
    ]
    assert run.view["steps"]["a"]["output"] is None
    assert run.step("a") == "SKIPPED"


@pytest.mark.parametrize("truthy", ["true", "1", "'no'", "[]", "ctx.input"])
def test_when_true_lets_the_node_run(truthy: str) -> None:
    assert play(draw("a", a=task(when=truthy))).start({}).running == ["a"]


@pytest.mark.parametrize("node", [delay(), wait(), end(), condition(x="true"), task()])
def test_every_kind_of_node_is_passed_over_alike(node: Object) -> None:
    config = node["config"]
    assert isinstance(config, dict)
    passed = node | {"config": {**config, "when": "false"}}
    edges = "a>n n>b" if node["type"] != "end" else "a>n a>b"
    run = play(draw(edges, n=passed)).start().succeed("a")
    assert "NODE_SKIPPED n#1 when" in run.news
    assert run.running == ["b"]


def test_a_dead_path_is_skipped_to_its_end() -> None:
    """A dead path is NODE_SKIPPED (`reason: "dead-path"`) with dead edges."""
    document = draw("c:yes>a c:else>b a>x x>y y>j b>j j>z", c=condition(yes="ctx.input"))
    run = play(document).start(False)
    assert run.log[2:] == [
        "NODE_COMPLETED c#1 -> else",
        "NODE_SKIPPED a#1 dead-path",
        "NODE_DISPATCHED b#1",
        "NODE_SKIPPED x#1 dead-path",
        "NODE_SKIPPED y#1 dead-path",
    ]
    assert run.succeed("b").succeed("j").succeed("z").status is Status.COMPLETED


def test_a_dead_path_of_many_nodes_is_one_decision() -> None:
    names = [f"n{number}" for number in range(900)]
    chain = " ".join(f"{one}>{two}" for one, two in pairwise(names))
    document = draw(f"c:yes>n0 c:else>z {chain} n899>j z>j", c=condition(yes="false"))
    run = play(document, check=None).start()
    assert run.count("NODE_DISPATCHED z#1") == 1
    assert sum(each.startswith("NODE_SKIPPED") for each in run.log) == 900
    assert run.succeed("z").succeed("j").status is Status.COMPLETED


@pytest.mark.parametrize(
    ("input", "first", "all_"),
    [
        ({"x": 1, "y": 1}, ["a"], ["a", "b"]),
        ({"x": 0, "y": 1}, ["b"], ["b"]),
        ({"x": 1, "y": 0}, ["a"], ["a"]),
        ({"x": 0, "y": 0}, ["z"], ["z"]),
        ({}, ["z"], ["z"]),
    ],
)
def test_a_condition_takes_the_first_or_all(
    input: Object, first: list[str], all_: list[str]
) -> None:
    """`select: "all"`: `else` only when no branch is truthy."""
    branches = {"p": "ctx.input.x", "q": "ctx.input.y"}
    edges = "c:p>a c:q>b c:else>z"
    assert play(draw(edges, c=condition(**branches))).start(input).running == first
    assert play(draw(edges, c=every(**branches))).start(input).running == all_


def test_a_handle_without_an_edge_ends_the_branch() -> None:
    """A handle without an edge is legal (the branch ends)."""
    run = play(draw("c:p>a", c=condition(p="false", q="true"))).start()
    assert run.log[2:] == [
        "NODE_COMPLETED c#1 -> q",
        "NODE_SKIPPED a#1 dead-path",
        "STATUS_CHANGED COMPLETED",
    ]
    assert run.output == {}
    run = play(draw("a:x>b", a=task(handles=["x", "y"]))).start().succeed("a", handle="y")
    assert run.status is Status.COMPLETED


@pytest.mark.parametrize(
    ("handle", "runs"), [("default", ["b"]), ("x", ["c"]), ("error", ["d"]), ("y", [])]
)
def test_a_task_may_answer_with_a_handle_of_its_node(handle: str, runs: list[str]) -> None:
    """A Python task may return `Result(output, handle="x")` and a remote one `nextHandle`;
    handles other than `default` and `error` are declared on the node (`handles`).
    """
    document = draw("a>b a:x>c a:error>d", a=task(handles=["x", "y"]))
    run = play(document).start().succeed("a", 1, handle=handle)
    assert run.running == runs
    assert run.view["steps"]["a"]["output"] == 1


def test_a_handle_that_is_not_declared_fails_the_attempt_for_good() -> None:
    run = play(draw("a>b a:error>c", a=task(handles=["x"]))).start().succeed("a", handle="z")
    assert run.news[0] == "NODE_FAILED a#1 UNKNOWN_HANDLE route"
    assert run.running == ["c"]


def test_waiting_for_event_means_that_only_waits_are_open() -> None:
    """WAITING_FOR_EVENT: an open wait or approval and no task attempt, due retry, delay, child
    or queue for a mutex; otherwise RUNNING.
    """
    document = draw(
        "s>w s>a s>d a>b", s=start(), w=wait(), d=delay("PT1H"), a=task(retry={"maxAttempts": 2})
    )
    run = play(document).start()
    assert run.status is Status.RUNNING
    assert run.later(hours=1).fire().status is Status.RUNNING, "a task is running"
    assert run.fail("a", retryable=True).status is Status.RUNNING, "a retry is due"
    assert run.skip().succeed("a").status is Status.RUNNING
    assert run.succeed("b").status is Status.WAITING_FOR_EVENT
    assert run.event("paid").status is Status.COMPLETED


def test_a_delay_beside_a_wait_is_running() -> None:
    run = play(draw("w d", w=wait(), d=delay("PT1H"))).start()
    assert run.status is Status.RUNNING
    assert run.skip().status is Status.WAITING_FOR_EVENT


def test_ends_merge_their_outputs_in_order_of_completion() -> None:
    """Several `end`s merge their outputs in order of completion; `outputParameters` is an
    object of templates or one template, without it `{}`.
    """
    document = draw(
        "s>a s>b s>c a>e1 b>e2 c>e3",
        s=start(),
        a=task(outputVariable="a"),
        b=task(outputVariable="b"),
        e1=end({"from": "{{ctx.a}}", "a": 1}),
        e2=end({"from": "{{ctx.b}}", "b": 2}),
        e3=end(),
    )
    run = play(document).start().succeed("a", "A").succeed("b", "B").succeed("c")
    assert run.output == {"from": "B", "a": 1, "b": 2}
    run = play(document).start().succeed("c").succeed("b", "B").succeed("a", "A")
    assert run.output == {"from": "A", "b": 2, "a": 1}
    assert play(draw("s>e", s=start(), e=end())).start().output == {}


@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("{{ctx.input.n}}", 5),
        ("n is {{ctx.input.n}}", "n is 5"),
        ({"n": "{{ctx.input.n}}", "gone": "{{ctx.nothing}}"}, {"n": 5}),
        ({"list": [1, "{{ctx.nothing}}"]}, {"list": [1, None]}),
        ("{{ctx.nothing}}", None),
        ({}, {}),
    ],
)
def test_output_parameters_are_an_object_of_templates_or_one(template: JSON, output: JSON) -> None:
    assert play(draw("s>e", s=start(), e=end(template))).start({"n": 5}).output == output


def test_without_an_end_the_output_is_that_of_the_sinks() -> None:
    """Without an `end` reached: the output of the only completed sink, else `{sinkId: output}`."""
    assert play(draw("a>b")).start().succeed("a", 1).succeed("b", 2).output == 2
    assert play(draw("s>a s>b", s=start())).start().succeed("b", 2).succeed("a", 1).output == {
        "a": 1,
        "b": 2,
    }
    document = draw("c:p>a c:else>b", c=condition(p="ctx.input"))
    assert play(document).start(True).succeed("a", 1).output == 1
    assert play(document).start(False).succeed("b", 2).output == 2
    with_an_end_not_reached = draw("c:p>e c:else>b", c=condition(p="ctx.input"), e=end({"x": 1}))
    assert play(with_an_end_not_reached).start(False).succeed("b", 2).output == 2
    assert play(with_an_end_not_reached).start(True).output == {"x": 1}


def test_an_end_does_not_stop_other_branches() -> None:
    """`end` does not stop other branches; `terminate` does."""
    run = play(draw("s>e s>a", s=start(), e=end({"x": 1}))).start()
    assert run.log[2:] == ["NODE_COMPLETED s#1", "NODE_COMPLETED e#1", "NODE_DISPATCHED a#1"]
    assert run.status is Status.RUNNING
    run.succeed("a", "ignored")
    assert run.output == {"x": 1}


def test_an_expression_that_cannot_be_worked_out_fails_its_node_for_good() -> None:
    bad = "{{ctx.input.nope()}}"
    for node in (
        task(input=bad),
        task(when="ctx.input.nope()"),
        delay(bad),
        wait(correlationId=bad),
        condition(x="ctx.input.nope()"),
    ):
        run = play(draw("a:error>b", a=node)).start({})
        assert run.log[2:4] == [
            "NODE_FAILED a#1 EXPRESSION_ERROR route",
            "NODE_COMPLETED a#1 error -> error",
        ]
        assert run.running == ["b"]
    run = play(draw("s>e", s=start(), e=end({"x": bad}))).start({})
    assert (run.status, run.code) == (Status.FAILED, "EXPRESSION_ERROR")


def test_an_error_in_conditions_fails_the_step_after_its_result() -> None:
    routes: list[JSON] = [{"when": "ctx.input.nope()", "handle": "x"}]
    run = play(draw("a>b a:x>c a:error>d", a=task(conditions=routes))).start({}).succeed("a", 1)
    assert run.news[:2] == [
        "NODE_FAILED a#1 EXPRESSION_ERROR route",
        "NODE_COMPLETED a#1 error -> error",
    ]
    assert run.running == ["d"]
