"""Multiple instances, state, cancellation, iteration, triggers, termination: the other patterns."""

from __future__ import annotations

import pytest

from tenuto import WorkflowCancelled
from tenuto.model.json import JSON, Object
from tests.core.drawing import (
    arms,
    box,
    child,
    computed,
    condition,
    draw,
    emit,
    end,
    loop,
    start,
    terminate,
    wait,
)
from tests.patterns.case import PATIENCE, Cases

pytestmark = pytest.mark.asyncio

MINE = "event.payload === ctx.item"


def each(source: JSON, **config: JSON) -> Object:
    return loop(source, mode="parallel", result="{{item}}", **config)


@pytest.mark.parametrize(("entry", "path"), [("one", "xyxy"), ("two", "yxyx")])
async def test_wcp_10_arbitrary_cycles(cases: Cases, entry: str, path: str) -> None:
    """A `while` whose body goes on where a variable says, so that any step may follow any other:
    this cycle of two steps is entered at either of them, and left at either.
    """
    over = "ctx.path.length === 3 ? 'over' :"
    document = draw(
        "b>l l:loop>q q:one>x q:two>y l:done>d",
        b=computed(at="{{ctx.input}}", path=""),
        l=loop(**{"while": "ctx.at !== 'over'"}, result="{{ctx.path}}"),
        q=condition(one="ctx.at === 'one'", two="ctx.at === 'two'"),
        x=computed(at=f"{{{{{over} 'two'}}}}", path="{{ctx.path}}x"),
        y=computed(at=f"{{{{{over} 'one'}}}}", path="{{ctx.path}}y"),
        d=end("{{steps.l.output[3]}}"),
    )
    assert await (await cases.start(document, entry)).output() == path


async def test_wcp_11_implicit_termination(cases: Cases) -> None:
    """An instance is completed when nothing of it is left to do."""
    case = await cases.start(draw("s>a s>b", s=start(), a=wait("a"), b=wait("b")))
    await case.until_waiting("a", "b")
    await case.publish("a")
    await case.until(a="COMPLETED")
    assert not await case.is_over()
    await case.publish("b")
    await case.output()


async def test_wcp_12_multiple_instances_without_synchronization(cases: Cases) -> None:
    """A loop beside the step that goes on: nothing waits for its iterations."""
    case = await cases.start(
        draw("s>l s>n l:loop>w", s=start(), l=each([1, 2]), w=wait("w"), n=computed(x=1))
    )
    await case.until(**{"n": "COMPLETED", "w[0]": "WAITING", "w[1]": "WAITING"})


async def test_wcp_13_multiple_instances_known_at_design_time(cases: Cases) -> None:
    """A parallel loop over a literal array."""
    document = draw("l:loop>w l:done>d", l=each([1, 2]), w=wait("w"), d=end("{{steps.l.output}}"))
    case = await cases.start(document)
    await case.until_waiting("w[0]", "w[1]")
    await case.publish("w")
    assert await case.output() == [1, 2]


async def test_wcp_14_multiple_instances_known_at_run_time(cases: Cases) -> None:
    """A parallel loop over an array of the context."""
    document = draw(
        "l:loop>a l:done>d", l=each("{{ctx.input}}"), a=computed(x=1), d=end("{{steps.l.output}}")
    )
    assert await (await cases.start(document, [3, 4, 5])).output() == [3, 4, 5]


async def test_wcp_15_multiple_instances_not_known_before(cases: Cases) -> None:
    """`more`: each event appends an item while the loop is under way."""
    more: Object = {"eventPattern": "more"}
    document = draw(
        "l:loop>w l:done>d", l=each([1], more=more), w=wait("w"), d=end("{{steps.l.output}}")
    )
    case = await cases.start(document)
    await case.until_waiting("w[0]")
    await case.publish("more", 2)
    await case.until_waiting("w[1]")
    await case.publish("w")
    assert await case.output() == [1, 2]


async def test_wcp_16_deferred_choice(cases: Cases) -> None:
    """A wait with `arms` goes the way of the event that comes first."""
    case = await cases.start(
        draw("w:a>x w:b>y", w=arms("a", "b"), x=computed(x=1), y=computed(y=1))
    )
    await case.until_waiting("w")
    await case.publish("b")
    assert await case.output() == {"y": 1}


async def one_at_a_time(cases: Cases) -> None:
    """The steps as items, in an order that is chosen at run time, one after the other."""
    which = condition(a="item === 'a'", b="item === 'b'")
    document = draw(
        "l:loop>q q:a>a q:b>b",
        l=loop("{{ctx.input}}", result="{{item}}"),
        q=which,
        a=wait("a"),
        b=wait("b"),
    )
    case = await cases.start(document, ["b", "a"])
    await case.until_waiting("b[0]")
    assert "a[1]" not in await case.statuses()
    await case.publish("b")
    await case.until_waiting("a[1]")
    await case.publish("a")
    assert await case.output() == ["b", "a"]


def begin(id: str, condition: str) -> Object:
    return {"id": id, "eventPattern": f"begin.{id}", "eventCondition": condition}


async def test_wcp_17_interleaved_parallel_routing(cases: Cases) -> None:
    """A `while` with a choice of the steps that may come next: one at a time, in an order that is
    chosen as it goes. Here `b` comes after `a`, and `c` at any time, also between them.
    """
    choice: list[JSON] = [
        begin("a", "!ctx.a"),
        begin("b", "ctx.a && !ctx.b"),
        begin("c", "!ctx.c"),
    ]
    document = draw(
        "l:loop>w w:a>a w:b>b w:c>c",
        l=loop(**{"while": "!(ctx.a && ctx.b && ctx.c)"}, result="{{steps.w.output.pattern}}"),
        w=box("eventWait", arms=choice),
        **{name: wait(name, eventPayloadMapping={name: "over"}) for name in "abc"},
    )
    case = await cases.start(document)
    await case.until_waiting("w[0]")
    for name in "bac":
        await case.publish(f"begin.{name}")
    await case.until_waiting("a[0]")
    assert "w[1]" not in await case.statuses()
    await case.publish("a", {"over": True})
    await case.until_waiting("b[1]")
    await case.publish("b", {"over": True})
    await case.until_waiting("c[2]")
    await case.publish("c", {"over": True})
    assert await case.output() == ["begin.a", "begin.b", "begin.c"]


@pytest.mark.parametrize("reached", ["not yet", "yes", "passed"])
async def test_wcp_18_milestone(cases: Cases, reached: str) -> None:
    """`when` on the state of a step elsewhere: reached, and not yet passed."""
    when = "steps.m.status === 'COMPLETED' && steps.over.status !== 'COMPLETED'"
    document = draw(
        "s>m s>go m>over go>x",
        s=start(),
        m=wait("m"),
        go=wait("go"),
        over=wait("over"),
        x=box("set", values={"x": 1}, when=when),
    )
    case = await cases.start(document)
    await case.until_waiting("m", "go")
    if reached != "not yet":
        await case.publish("m")
        await case.until_waiting("over")
    if reached == "passed":
        await case.publish("over")
        await case.until(over="COMPLETED")
    await case.publish("go")
    await case.until(x="COMPLETED" if reached == "yes" else "SKIPPED")


async def test_wcp_19_cancel_task(cases: Cases) -> None:
    """`cancels` names a step."""
    case = await cases.start(draw("s>a s>b", s=start(), a=wait("a"), b=wait("b", cancels=["a"])))
    await case.until_waiting("a", "b")
    await case.publish("b")
    await case.output()
    assert (await case.statuses())["a"] == "CANCELLED"


async def test_wcp_20_cancel_case(cases: Cases) -> None:
    """A cancellation trigger ends the whole instance."""
    triggers: JSON = [{"eventPattern": "stop"}]
    case = await cases.start(draw("a", a=wait("a")) | {"cancellationTriggers": triggers})
    await case.until_waiting("a")
    await case.publish("stop")
    with pytest.raises(WorkflowCancelled):
        await case.instance.result(PATIENCE)


async def test_wcp_21_structured_loop(cases: Cases) -> None:
    """`while` is tested before each iteration."""
    document = draw(
        "l:loop>a", l=loop(**{"while": "ctx.index < 3"}), a=computed(n="{{(ctx.n ?? 0) + 1}}")
    )
    assert await (await cases.start(document)).output() == [{"n": 1}, {"n": 2}, {"n": 3}]


async def test_wcp_22_recursion(cases: Cases) -> None:
    """A `subWorkflow` names its own workflow."""
    again = child("case", input="{{ctx.input - 1}}", outputVariable="below")
    document = draw(
        "q:more>c c>d q:else>e",
        q=condition(more="ctx.input > 0"),
        c=again,
        d=end({"n": "{{ctx.below.n + ctx.input}}"}),
        e=end({"n": 0}),
    )
    assert await (await cases.start(document, 3)).output() == {"n": 6}


async def triggered(cases: Cases, **config: JSON) -> list[JSON]:
    """What a wait takes that opens after one event and before another."""
    case = await cases.start(
        draw(
            "g>w w>d", g=wait("go"), w=wait("signal", **config), d=end("{{steps.w.output.payload}}")
        )
    )
    await case.until_waiting("g")
    await case.publish("signal", "early")
    await case.publish("go")
    await case.until(g="COMPLETED")
    if config:
        await case.until_waiting("w")
        await case.publish("signal", "late")
    return [await case.output()]


async def test_wcp_23_transient_trigger(cases: Cases) -> None:
    """`lookback: PT0S`: a signal that nothing waits for is lost."""
    assert await triggered(cases, lookback="PT0S") == ["late"]


async def test_wcp_24_persistent_trigger(cases: Cases) -> None:
    """By default a wait takes a signal that came before it, since its instance began."""
    assert await triggered(cases) == ["early"]


async def test_wcp_25_cancel_region(cases: Cases) -> None:
    """`cancels` names the steps of the region; those that never began are skipped."""
    document = draw(
        "s>a s>b s>x a>c",
        s=start(),
        a=wait("a"),
        b=wait("b"),
        c=wait("c"),
        x=wait("x", cancels=["a", "b", "c"]),
    )
    case = await cases.start(document)
    await case.until_waiting("a", "b", "x")
    await case.publish("x")
    await case.output()
    found = await case.statuses()
    assert [found[name] for name in "abc"] == ["CANCELLED", "CANCELLED", "SKIPPED"]


async def test_wcp_26_cancel_multiple_instance_activity(cases: Cases) -> None:
    """`cancels` names the loop: all of it is cancelled, and `done` is not taken."""
    document = draw(
        "s>l s>x l:loop>w l:done>y",
        s=start(),
        l=each([1, 2]),
        w=wait("w"),
        x=wait("x", cancels=["l"]),
        y=computed(y=1),
    )
    case = await cases.start(document)
    await case.until_waiting("w[0]", "w[1]", "x")
    await case.publish("x")
    await case.output()
    found = await case.statuses()
    assert (found["l"], found["y"]) == ("CANCELLED", "SKIPPED")


async def test_wcp_27_complete_multiple_instance_activity(cases: Cases) -> None:
    """`completes` names the loop: it ends with the results so far, and `done` is taken."""
    waits = wait("w", eventCondition=MINE)
    document = draw(
        "s>l s>x l:loop>w l:done>d",
        s=start(),
        l=each([1, 2]),
        w=waits,
        x=wait("x", completes=["l"]),
        d=end("{{steps.l.output}}"),
    )
    case = await cases.start(document)
    await case.until_waiting("w[0]", "w[1]", "x")
    await case.publish("w", 2)
    await case.publish("x")
    assert await case.output() == [2]
    assert (await case.statuses())["w[0]"] == "CANCELLED"


async def of_three(cases: Cases, **config: JSON) -> list[JSON]:
    """The output of a loop over three items of which the second and the third end."""
    waits = wait("w", eventCondition=MINE)
    document = draw(
        "l:loop>w l:done>e",
        l=each([1, 2, 3], outputVariable="all", **config),
        w=waits,
        e=emit("over"),
    )
    case = await cases.start(document)
    await case.until_waiting("w[0]", "w[1]", "w[2]")
    for item in (2, 3):
        await case.publish("w", item)
    await case.until(e="COMPLETED")
    if not config.get("cancelRest"):
        assert not await case.is_over()
        await case.publish("w", 1)
    await case.output()
    context = (await cases.app.engine.state_of(case.instance.id)).state.variables
    found = context["all"].value
    assert isinstance(found, list)
    return found


async def test_wcp_34_static_partial_join_for_multiple_instances(cases: Cases) -> None:
    """`enough: n`: the loop is done with n results, and the others go on."""
    assert await of_three(cases, enough=2) == [2, 3]


async def test_wcp_35_cancelling_partial_join_for_multiple_instances(cases: Cases) -> None:
    """`enough: n` with `cancelRest`: the others are cancelled."""
    assert await of_three(cases, enough=2, cancelRest=True) == [2, 3]


async def test_wcp_36_dynamic_partial_join_for_multiple_instances(cases: Cases) -> None:
    """`more` with an `enough` expression: both the number and what is enough show later."""
    config: Object = {"more": {"eventPattern": "more"}, "enough": "ctx.results.length >= ctx.input"}
    document = draw(
        "l:loop>w l:done>d",
        l=each([1], **config),
        w=wait("w", eventCondition=MINE),
        d=end("{{steps.l.output}}"),
    )
    case = await cases.start(document, 2)
    await case.until_waiting("w[0]")
    for item in (2, 3):
        await case.publish("more", item)
        await case.until_waiting(f"w[{item - 1}]")
    for item in (3, 1):
        await case.publish("w", item)
    await case.until(d="COMPLETED")
    assert not await case.is_over()
    await case.publish("w", 2)
    assert await case.output() == [1, 3]


async def test_wcp_39_critical_section(cases: Cases) -> None:
    """The sections as items of a parallel loop with `concurrency: 1`: one at a time is open."""
    document = draw(
        "l:loop>a a>b",
        l=each([1, 2], concurrency=1),
        a=wait("a", eventCondition=MINE),
        b=computed(x=1),
    )
    case = await cases.start(document)
    await case.until_waiting("a[0]")
    assert "a[1]" not in await case.statuses()
    await case.publish("a", 1)
    await case.until_waiting("a[1]")
    await case.publish("a", 2)
    assert await case.output() == [1, 2]


async def test_wcp_40_interleaved_routing(cases: Cases) -> None:
    """A sequential loop over the steps, in any order."""
    await one_at_a_time(cases)


async def test_wcp_43_explicit_termination(cases: Cases) -> None:
    """`terminate` ends the instance, and cancels what is left of it."""
    document = draw("s>a s>b b>t", s=start(), a=wait("a"), b=wait("b"), t=terminate(output="over"))
    case = await cases.start(document)
    await case.until_waiting("a", "b")
    await case.publish("b")
    assert await case.output() == "over"
    assert (await case.statuses())["a"] == "CANCELLED"
