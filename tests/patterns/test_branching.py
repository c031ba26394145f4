"""Basic control flow, branching and synchronization: WCP-1 to 9, 28 to 33, 37, 38, 41 and 42."""

from __future__ import annotations

import pytest

from tenuto.model.json import JSON, Object
from tests.core.drawing import box, computed, condition, draw, emit, end, every, loop, start, wait
from tests.patterns.case import Cases

pytestmark = pytest.mark.asyncio


def joined(mode: JSON, **config: JSON) -> Object:
    """A step that counts its beginnings, behind a join."""
    return box("set", values={"n": "{{(ctx.n ?? 0) + 1}}"}, joinMode=mode, **config)


async def test_wcp_1_sequence(cases: Cases) -> None:
    """A transition leads from one step to the next."""
    case = await cases.start(
        draw("a>b b>d", a=computed(x=1), b=computed(x="{{ctx.x + 1}}"), d=end("{{ctx.x}}"))
    )
    assert await case.output() == 2


async def test_wcp_2_parallel_split(cases: Cases) -> None:
    """A handle leads to several steps."""
    case = await cases.start(draw("s>a s>b", s=start(), a=wait("go"), b=wait("go")))
    await case.until_waiting("a", "b")


async def test_wcp_3_synchronization(cases: Cases) -> None:
    """A step with several incoming edges waits for all of them."""
    case = await cases.start(
        draw("s>a s>b a>j b>j", s=start(), a=wait("a"), b=wait("b"), j=joined("all"))
    )
    await case.until_waiting("a", "b")
    await case.publish("a")
    await case.until(a="COMPLETED")
    assert "j" not in await case.statuses()
    await case.publish("b")
    assert await case.output() == {"n": 1}


async def test_wcp_4_exclusive_choice(cases: Cases) -> None:
    """A condition takes its first branch that is true."""
    choice = condition(big="ctx.input > 5", small="ctx.input > 1")
    case = await cases.start(
        draw("c:big>a c:small>b", c=choice, a=computed(x=1), b=computed(x=2)), 9
    )
    assert await case.output() == {"x": 1}


async def test_wcp_5_simple_merge(cases: Cases) -> None:
    """Branches of which one is taken lead to one step: the edges of the others are dead."""
    choice = condition(big="ctx.input > 5")
    document = draw(
        "c:big>a c:else>b a>j b>j", c=choice, a=computed(x=1), b=computed(x=2), j=joined("all")
    )
    assert await (await cases.start(document, 1)).output() == {"n": 1}


async def test_wcp_6_multi_choice(cases: Cases) -> None:
    """A condition with `select: all` takes every branch that is true."""
    choice = every(a="ctx.input > 1", b="ctx.input > 5", c="ctx.input > 9")
    document = draw(
        "q:a>a q:b>b q:c>c", q=choice, a=computed(x=1), b=computed(y=1), c=computed(z=1)
    )
    assert await (await cases.start(document, 7)).output() == {"a": {"x": 1}, "b": {"y": 1}}


async def test_wcp_7_structured_synchronizing_merge(cases: Cases) -> None:
    """Behind a multi-choice, `all` waits for the branches that were taken."""
    choice = every(a="true", b="true", c="false")
    document = draw(
        "q:a>a q:b>b q:c>c a>j b>j c>j",
        q=choice,
        a=wait("a"),
        b=wait("b"),
        c=wait("c"),
        j=joined("all"),
    )
    case = await cases.start(document)
    await case.until_waiting("a", "b")
    await case.publish("a")
    await case.until(a="COMPLETED", c="SKIPPED")
    assert "j" not in await case.statuses()
    await case.publish("b")
    assert await case.output() == {"n": 1}


async def test_wcp_8_multi_merge(cases: Cases) -> None:
    """A loop over `arrivals`: each branch that arrives begins an iteration of its own, while others
    are under way and without waiting for the branches that have not arrived.
    """
    document = draw(
        "s>a s>b s>c a>l b>l c>l l:loop>w l:done>d",
        s=start(),
        a=wait("a"),
        b=wait("b"),
        c=wait("c"),
        l=loop("arrivals", result="{{item.from}}"),
        w=wait("go", eventCondition="event.payload === ctx.item.from"),
        d=end("{{steps.l.output}}"),
    )
    case = await cases.start(document)
    await case.until_waiting("a", "b", "c")
    await case.publish("b")
    await case.until_waiting("w[0]", "a", "c")
    await case.publish("a")
    await case.until_waiting("w[0]", "w[1]", "c")
    await case.publish("go", "a")
    await case.publish("go", "b")
    await case.until(l="RUNNING", a="COMPLETED")
    await case.publish("c")
    await case.until_waiting("w[2]")
    await case.publish("go", "c")
    assert await case.output() == ["b", "a", "c"]


async def test_wcp_9_structured_discriminator(cases: Cases) -> None:
    """`joinMode: any` begins once, with the first edge; the others change nothing."""
    case = await cases.start(
        draw("s>a s>b a>j b>j", s=start(), a=wait("a"), b=wait("b"), j=joined("any"))
    )
    await case.until_waiting("a", "b")
    await case.publish("b")
    await case.until(j="COMPLETED")
    assert not await case.is_over()
    await case.publish("a")
    assert await case.output() == {"n": 1}


async def test_wcp_28_blocking_discriminator(cases: Cases) -> None:
    """`any` in the body of a loop: it fires once in an iteration, which ends with the last edge."""
    document = draw(
        "l:loop>p p>a p>b a>j b>j",
        l=loop([1, 2]),
        p=computed(x=1),
        a=wait("a"),
        b=wait("b"),
        j=joined("any"),
    )
    case = await cases.start(document)
    await case.until_waiting("a[0]", "b[0]")
    await case.publish("a")
    await case.until(**{"j[0]": "COMPLETED"})
    assert "a[1]" not in await case.statuses()
    await case.publish("b")
    await case.until_waiting("a[1]", "b[1]")


async def test_wcp_29_cancelling_discriminator(cases: Cases) -> None:
    """`any` with `cancelRest` cancels the branches that have not arrived."""
    case = await cases.start(
        draw(
            "s>a s>b a>j b>j", s=start(), a=wait("a"), b=wait("b"), j=joined("any", cancelRest=True)
        )
    )
    await case.until_waiting("a", "b")
    await case.publish("b")
    assert await case.output() == {"n": 1}
    assert (await case.statuses())["a"] == "CANCELLED"


async def partial(cases: Cases, **config: JSON) -> None:
    join = joined({"atLeast": 2}, **config)
    document = draw(
        "s>a s>b s>c a>j b>j c>j", s=start(), a=wait("a"), b=wait("b"), c=wait("c"), j=join
    )
    case = await cases.start(document)
    await case.until_waiting("a", "b", "c")
    await case.publish("a")
    await case.until(a="COMPLETED")
    assert "j" not in await case.statuses()
    await case.publish("c")
    await case.until(j="COMPLETED")
    if not config:
        assert not await case.is_over()
        await case.publish("b")
    assert await case.output() == {"n": 1}


async def test_wcp_30_structured_partial_join(cases: Cases) -> None:
    """`atLeast: n` begins once, with the n-th edge."""
    await partial(cases)


async def test_wcp_31_blocking_partial_join(cases: Cases) -> None:
    """`atLeast: n` in the body of a loop: the next iteration begins when all edges have arrived."""
    join = joined({"atLeast": 2})
    edges = "l:loop>p p>a p>b p>c a>j b>j c>j"
    document = draw(
        edges, l=loop([1, 2]), p=computed(x=1), a=wait("a"), b=wait("b"), c=wait("c"), j=join
    )
    case = await cases.start(document)
    await case.until_waiting("a[0]", "b[0]", "c[0]")
    await case.publish("a")
    await case.publish("b")
    await case.until(**{"j[0]": "COMPLETED"})
    assert "a[1]" not in await case.statuses()
    await case.publish("c")
    await case.until_waiting("a[1]", "b[1]", "c[1]")


async def test_wcp_32_cancelling_partial_join(cases: Cases) -> None:
    """`atLeast: n` with `cancelRest` cancels the branches that have not arrived."""
    await partial(cases, cancelRest=True)


async def test_wcp_33_generalized_and_join(cases: Cases) -> None:
    """In each iteration a wait on each branch takes one arrival; the next takes further ones."""
    document = draw(
        "l:loop>p p>a p>b a>j b>j",
        l=loop([1, 2], result="{{ctx.n}}"),
        p=computed(x=1),
        a=wait("a"),
        b=wait("b"),
        j=joined("all"),
    )
    case = await cases.start(document)
    await case.until_waiting("a[0]", "b[0]")
    for pattern, id in (("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")):
        await case.publish(pattern, id=id)
    assert await case.output() == [1, 2]


async def test_wcp_37_acyclic_synchronizing_merge(cases: Cases) -> None:
    """`all` waits for the edges that can still arrive, in any graph: dead paths are skipped."""
    document = draw(
        "q:a>a q:b>b a>c c:yes>j c:else>x b>j",
        q=every(a="true", b="true"),
        a=wait("a"),
        b=wait("b"),
        c=condition(yes="false"),
        x=computed(x=1),
        j=joined("all"),
    )
    case = await cases.start(document)
    await case.until_waiting("a", "b")
    await case.publish("b")
    await case.until(b="COMPLETED")
    assert "j" not in await case.statuses()
    await case.publish("a")
    assert await case.output() == {"x": {"x": 1}, "j": {"n": 1}}


async def test_wcp_38_general_synchronizing_merge(cases: Cases) -> None:
    """A loop is one step of a branch: a merge behind it waits until it is over, or dead."""
    document = draw(
        "q:a>l l:loop>w q:b>b l:done>j b>j",
        q=every(a="true", b="true"),
        l=loop([1, 2]),
        w=wait("w"),
        b=computed(x=1),
        j=joined("all"),
    )
    case = await cases.start(document)
    for index in (0, 1):
        await case.until_waiting(f"w[{index}]")
        assert "j" not in await case.statuses()
        await case.publish("w")
    assert await case.output() == {"n": 1}


async def test_wcp_41_thread_merge(cases: Cases) -> None:
    """A wait with `count: n` goes on once, after n threads have published their arrival."""
    document = draw(
        "s>l s>w l:loop>e w>d",
        s=start(),
        l=loop([1, 2, 3], mode="parallel"),
        e=emit("arrived", payload="{{item}}"),
        w=wait("arrived", count=3),
        d=end("{{steps.w.output.events.length}}"),
    )
    assert await (await cases.start(document)).output() == 3


async def test_wcp_42_thread_split(cases: Cases) -> None:
    """A parallel loop runs as many threads through the same steps as it has items."""
    case = await cases.start(
        draw("l:loop>w", l=loop("{{ctx.input}}", mode="parallel"), w=wait("go")), [1, 2, 3]
    )
    await case.until_waiting("w[0]", "w[1]", "w[2]")
