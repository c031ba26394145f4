"""The section on loops, and what other sections say of them, each sentence by a history."""

from __future__ import annotations

import pytest

from tenuto.definition import check
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import child, condition, draw, end, loop, start, task, terminate, wait
from tests.core.play import Run, play


def given(run: Run) -> dict[str, JSON]:
    """What the tasks that run were given, by where they are."""
    return {f"{key.node}[{key.iteration}]": each.input for key, each in run.ledger.running.items()}


def codes(document: Object) -> list[str]:
    return [problem.code for problem in check(document).problems]


def test_everything_behind_the_handle_is_the_body() -> None:
    """The body is every node reachable from handle `loop`."""
    document = draw("l:loop>a a>b a:error>c c>d l:done>z", l=loop([1]))
    run = play(document).start().fail("a[0]").succeed("c[0]").succeed("d[0]")
    assert run.count("NODE_SKIPPED b[0]#1") == 1
    assert run.running == ["z"], "what is behind `done` is none of it"


def test_a_body_keeps_to_itself() -> None:
    """No edge leads into it from outside or out of it (an edge back to its own loop node means: end
    of the iteration).
    """
    assert codes(draw("s>l s>a l:loop>a", s=start(), l=loop([1]))) == ["TEN-1050"]
    assert codes(draw("l:loop>a l:done>z a>z", l=loop([1]))) == ["TEN-1050"]
    run = play(draw("l:loop>a a>l", l=loop([1, 2]))).start().succeed("a[0]", "one")
    assert run.news == [
        "NODE_COMPLETED a[0]#1",
        "ITERATION_ENDED l[0]#1 success",
        "ITERATION_STARTED l[1]#1",
        "NODE_DISPATCHED a[1]#1",
    ]


def test_what_a_body_may_hold() -> None:
    """It may hold joins, conditions, waits, children and loops, not `end`."""
    document = draw(
        "l:loop>c c:big>a c:big>w c:else>x a>j w>j j>k x>k k>m m:loop>n",
        l=loop([1, 5], mode="parallel"),
        c=condition(big="ctx.item > 1"),
        w=wait("go"),
        k=child("other"),
        m=loop("{{[ctx.item, ctx.item * 2]}}"),
        n=task(input="{{ctx.item}}"),
    )
    run = play(document).start().succeed("x[0]").succeed("a[1]").event("go").succeed("j[1]")
    for path in ("0", "1"):
        run.resolve(f"k[{path}]").child_ends(f"k[{path}]")
    assert given(run) == {"n[0/0]": 1, "n[1/0]": 5}
    for path in ("0/0", "1/0", "0/1", "1/1"):
        run.succeed(f"n[{path}]", path)
    assert run.output == [["0/0", "0/1"], ["1/0", "1/1"]]
    assert codes(draw("l:loop>e", l=loop([1]), e=end())) == ["TEN-1051"]


def test_what_an_iteration_gives() -> None:
    """An iteration ends when nothing of it is active; its result is `result` (a template) if given,
    else the output of its only sink, else `{sinkId: output}`.
    """
    shapes: list[tuple[JSON, str, JSON]] = [
        ({"at": "{{ctx.index}}", "of": "{{steps.a.output}}"}, "a>b", {"at": 0, "of": "A"}),
        (None, "a>b", "B"),
        (None, "l:loop>b", {"a": "A", "b": "B"}),
    ]
    for result, edges, output in shapes:
        more: Object = {} if result is None else {"result": result}
        run = play(draw(f"l:loop>a {edges}", l=loop([1], **more))).start().succeed("a[0]", "A")
        assert run.count("ITERATION_ENDED") == 0, "b is still to come, or active"
        assert run.succeed("b[0]", "B").output == [output]


def test_iterations_do_not_see_each_other() -> None:
    """Each iteration has its own scope."""
    document = draw(
        "l:loop>a a>b",
        l=loop(["x", "y"], mode="parallel"),
        a=task(outputVariable="v"),
        b=task(input="{{ctx.item}} {{ctx.index}} {{ctx.v}} {{steps.a.output}}"),
    )
    run = play(document).start().succeed("a[1]", "of y").succeed("a[0]", "of x")
    assert given(run) == {"b[0]": "x 0 of x of x", "b[1]": "y 1 of y of y"}


@pytest.mark.parametrize(
    ("config", "second"),
    [
        ({"source": [1, 2], "mode": "parallel", "concurrency": 1}, "entry"),
        ({"source": [1, 2]}, "first"),
        ({"while": "ctx.index < 2"}, "first"),
    ],
)
def test_where_a_scope_starts(config: Object, second: str) -> None:
    """`parallel`: every scope starts from the context at loop entry; `sequential` and `while`: from
    the iteration before.
    """
    document = draw(
        "i>l l:loop>a a>b",
        i=task(outputVariable="v"),
        l=loop(**config),
        a=task(input="{{ctx.v}}"),
        b=task(outputVariable="v"),
    )
    run = play(document).start().succeed("i", "entry")
    assert given(run) == {"a[0]": "entry"}
    run.succeed("a[0]").succeed("b[0]", "first")
    assert given(run) == {"a[1]": second}


def test_what_is_left_of_a_loop() -> None:
    """Afterwards only the loop's `outputVariable` is in `ctx`; `steps.<bodyNode>` means this
    iteration inside and does not exist outside.
    """
    document = draw(
        "l:loop>a a>b l:done>z",
        l=loop([1], outputVariable="all"),
        a=task(outputVariable="v"),
        b=task(input="{{steps.a.output}}"),
        z=task(input="{{steps.a?.status ?? 'gone'}}"),
    )
    run = play(document).start().succeed("a[0]", "A")
    assert given(run) == {"b[0]": "A"}
    run.succeed("b[0]", "B")
    assert given(run) == {"z[]": "gone"}
    assert run.ctx == {"input": None, "all": ["B"]}
    assert set(run.view["steps"]) == {"l", "z"}


def test_a_loop_that_goes_on_while_a_condition_holds() -> None:
    """`while` stands instead of `source` (no `mode`); it is tested before each iteration, with
    `ctx.index` and `ctx.last` (the iteration's result before, null at first); at `maxIterations`
    (1,000) it fails `LOOP_LIMIT`.
    """
    assert codes(draw("l:loop>a", l=loop([1], **{"while": "true"}))) != []
    assert codes(draw("l:loop>a", l=loop(mode="parallel", **{"while": "true"}))) != []
    asks = {"while": "ctx.index === 0 ? ctx.last === null : ctx.last !== 'stop'"}
    run = play(draw("l:loop>a", l=loop(**asks))).start().succeed("a[0]", "on")
    assert run.succeed("a[1]", "stop").output == ["on", "stop"]
    assert play(draw("l:loop>a", l=loop(**{"while": "false"}))).start().output == []
    endless = draw("l:loop>c", l=loop(**{"while": "true"}), c=condition(x="false"))
    run = play(endless, check=None).start().settle()
    assert (run.code, run.count("ITERATION_STARTED")) == ("LOOP_LIMIT", 1_000)
    few = draw("l:loop>c", l=loop(maxIterations=2, **{"while": "true"}), c=condition(x="false"))
    assert play(few).start().code == "LOOP_LIMIT"


def test_how_many_run_at_once_by_default() -> None:
    """`mode` defaults to sequential, `concurrency` to 10."""
    items: list[JSON] = list(range(12))
    assert play(draw("l:loop>a", l=loop(items))).start().running == ["a[0]"]
    assert len(play(draw("l:loop>a", l=loop(items, mode="parallel"))).start().running) == 10


@pytest.mark.parametrize("enough", [2, "ctx.results.length >= 2"])
def test_when_there_is_enough(enough: JSON) -> None:
    """`enough` ends the loop with the results so far once n iterations completed, or once the
    expression (with `ctx.results`) is truthy; the rest are cancelled with `cancelRest`, else they
    go on: the instance is done only when they have ended, and their failures are recorded and
    change nothing.
    """
    parallel = {"mode": "parallel", "enough": enough, "outputVariable": "all"}
    document = draw("l:loop>a l:done>z", l=loop([1, 2, 3, 4], **parallel))
    run = play(document).start().succeed("a[2]", "c").succeed("a[0]", "a")
    assert run.ctx["all"] == ["a", "c"]
    assert run.running == ["a[1]", "a[3]", "z"]
    run.succeed("z").fail("a[3]", "LATE")
    assert run.news == ["NODE_FAILED a[3]#1 LATE iteration", "ITERATION_ENDED l[3]#1 error"]
    assert run.status is Status.RUNNING
    assert run.succeed("a[1]", "b").status is Status.COMPLETED
    assert run.ctx["all"] == ["a", "c"]
    short = draw("l:loop>a", l=loop([1, 2, 3], cancelRest=True, **parallel))
    run = play(short).start().succeed("a[2]", "c").succeed("a[0]", "a")
    assert run.news[-1] == "NODE_CANCEL_REQUESTED a[1]#1"
    assert run.fail("a[1]", "CANCELLED").output == ["a", "c"]


def test_what_a_loop_goes_over() -> None:
    """`source` (a literal array or a template) is read once and must be an array (`LOOP_SOURCE`);
    empty goes to `done` with `[]`.
    """
    document = draw(
        "s>l s>w l:loop>a l:done>z",
        s=start(),
        l=loop("{{ctx.items ?? ctx.input}}"),
        w=task(outputVariable="items"),
        a=task(input="{{ctx.item}}"),
        z=task(input="{{steps.l.output}}"),
    )
    run = play(document).start(["x", "y"]).succeed("w", ["other"]).succeed("a[0]")
    assert given(run) == {"a[1]": "y"}
    no_arrays: list[JSON] = [None, 7, "x", {"a": 1}]
    for wrong in no_arrays:
        assert play(draw("l:loop>a", l=loop("{{ctx.input}}"))).start(wrong).code == "LOOP_SOURCE"
    assert given(play(document).start([]).succeed("w")) == {"z[]": []}
    assert given(play(draw("l:loop>a", l=loop([])), check=None).start()) == {}


def test_when_an_item_fails() -> None:
    """`onItemError: "continue"` puts null there and `{index, error}` into `steps.<loop>.errors`;
    `"fail"` cancels the others.
    """
    document = draw(
        "l:loop>a l:done>z",
        l=loop([1, 2], mode="parallel", onItemError="continue"),
        z=task(input={"all": "{{steps.l.output}}", "which": "{{steps.l.errors[0].index}}"}),
    )
    run = play(document).start().fail("a[0]", "BAD").succeed("a[1]", "B")
    assert given(run) == {"z[]": {"all": [None, "B"], "which": 0}}
    [error] = run.view["steps"]["l"]["errors"]
    assert error["error"]["code"] == "BAD"
    run = play(draw("l:loop>a", l=loop([1, 2, 3], mode="parallel", onItemError="fail"))).start()
    run.fail("a[1]", "BAD")
    assert [each for each in run.news if "CANCEL_REQUESTED" in each] == [
        "NODE_CANCEL_REQUESTED a[0]#1",
        "NODE_CANCEL_REQUESTED a[2]#1",
    ]
    run.fail("a[0]", "CANCELLED").fail("a[2]", "CANCELLED")
    assert (run.status, run.code) == (Status.FAILED, "BAD")


# -- what other sections say


def test_entries_say_in_which_iteration_they_are() -> None:
    """Entries of a node carry `iteration` (`""`, `"2"`, nested `"2/0"`) and `attempt` ≥ 1: the
    attempt it is, or would have been; never null; unique on (instance, node, iteration, event type,
    attempt) for `NODE_*` types.
    """
    document = draw("l:loop>m m:loop>a", l=loop([1, 2, 3]), m=loop("{{ctx.index > 1 ? [1] : []}}"))
    run = play(document).start()
    assert run.log[-3:] == [
        "ITERATION_STARTED l[2]#1",
        "ITERATION_STARTED m[2/0]#1",
        "NODE_DISPATCHED a[2/0]#1",
    ]
    run.fail("a[2/0]", "FLAKY", retryable=True).skip()
    assert run.news == ["NODE_DISPATCHED a[2/0]#2"]
    assert run.succeed("a[2/0]").status is Status.COMPLETED


def test_a_loop_that_is_called_off_takes_its_body_along() -> None:
    """`cancelRest` cancels the unfinished nodes from which an edge of this join that has not
    arrived can be reached (a loop with its body); their other edges become dead.
    """
    document = draw(
        "s>l s>q l:loop>m m:loop>w l:done>j l:done>z q>j",
        s=start(),
        l=loop([1, 2], mode="parallel"),
        m=loop([1]),
        w=wait("never"),
        j=task(joinMode="any", cancelRest=True),
    )
    run = play(document).start().succeed("q")
    assert {f"NODE_CANCELLED {node}#1" for node in ("l", "m[0]", "m[1]", "w[0/0]", "w[1/0]")} < {
        *run.news
    }
    assert "NODE_SKIPPED z#1 dead-path" in run.news
    assert run.succeed("j").status is Status.COMPLETED


def test_terminate_in_a_loop() -> None:
    """In a loop it ends the instance, in a child only the child."""
    document = draw("l:loop>a a>t l:done>z", l=loop([1, 2]), t=terminate(output="{{ctx.item}}"))
    run = play(document).start().succeed("a[0]")
    assert (run.status, run.output) == (Status.COMPLETED, 1)
    assert run.count("NODE_DISPATCHED z#1") == run.count("ITERATION_STARTED l[1]#1") == 0


def test_a_time_limit_of_a_loop() -> None:
    """`timeout` is one attempt, from when it starts to run (start or claim), default 10 min,
    retryable; on waits, approvals, delays, loops and children it bounds the whole node.
    """
    document = draw("l:loop>a l:error>e", l=loop([1, 2], timeout="PT1M"))
    run = play(document).start().later(seconds=40).succeed("a[0]").later(seconds=20).fire()
    assert "NODE_FAILED l#1 TIMEOUT route" in run.news
    assert run.running == ["a[1]", "e"]
