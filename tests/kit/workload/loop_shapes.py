"""Loops that every engine must run, one shape for each thing that a loop can do."""

from __future__ import annotations

from collections.abc import Callable

from tests.kit.workload.drawing import Document, Json, document, edges, node, task

RETRY = {"maxAttempts": 2, "initialDelay": "PT1S"}
SEEN = {"item": "{{ctx.item}}", "index": "{{ctx.index}}", "v": "{{ctx.v}}"}


def for_each() -> Document:
    """One after the other; what an iteration leaves is what the next one sees."""
    nodes = [
        task("first", outputVariable="v"),
        node("each", "loop", source=["x", "y"], outputVariable="all"),
        task("a", input=SEEN, retry=RETRY, outputVariable="v"),
        task("b"),
        task("after", input={"all": "{{ctx.all}}", "v": "{{ctx.v}}"}),
    ]
    arrows = edges("first > each:loop > a > b > each", "each:done > after")
    return document("for-each", nodes, arrows)


def parallel_loop() -> Document:
    """Two at a time, each from what was there when the loop was entered."""
    nodes = [
        task("first", outputVariable="v"),
        _parallel("each", [1, 2, 3], concurrency=2, result={"of": "{{ctx.v.value}}"}),
        task("a", input=SEEN, outputVariable="v"),
        task("b", input=SEEN),
    ]
    return document("parallel-loop", nodes, edges("first > each:loop > a > b"))


def while_loop() -> Document:
    """Asks again until it has been told, with a pause in between."""
    nodes = [
        node("poll", "loop", **{"while": "ctx.index < 2 || ctx.last.value > 7"}, maxIterations=4),
        task("a", input={"last": "{{ctx.last}}", "index": "{{ctx.index}}"}, outputVariable="v"),
        node("nap", "delay", duration="PT20S"),
        task("over"),
    ]
    arrows = edges("poll:loop > a > nap", "poll:done > over", "poll:error > over")
    return document("while-loop", nodes, arrows)


def nested_loops() -> Document:
    """A loop in a loop, and one in that."""
    items = [{"parts": [{"n": [1, 2]}, {"n": []}]}, {"parts": [{"n": [3]}]}]
    nodes = [
        _parallel("outer", items),
        node("inner", "loop", source="{{ctx.item.parts}}"),
        _parallel("deep", "{{ctx.item.n}}", concurrency=2),
        task("a", input=SEEN),
        task("after"),
    ]
    arrows = edges("outer:loop > inner:loop > deep:loop > a", "outer:done > after")
    return document("nested-loops", nodes, arrows)


def polls_for_each() -> Document:
    """A loop that asks again, for each item: it sees the item, and its own index."""
    asks = {"while": "ctx.index < 2 && ctx.item.n > 0", "maxIterations": 5}
    nodes = [
        _parallel("each", [{"n": 1}, {"n": 0}, {"n": 2}], concurrency=2),
        node("poll", "loop", **asks, result="{{ctx.item.n}}"),
        task("a", input=SEEN, outputVariable="v"),
        node("parts", "loop", source=["{{ctx.item.n}}", "{{ctx.last}}"]),
        task("b", input={**SEEN, "last": "{{ctx.last}}"}),
        task("after"),
    ]
    arrows = edges("each:loop > poll:loop > a > parts:loop > b", "each:done > after")
    return document("polls-for-each", nodes, arrows)


def enough() -> Document:
    """Two of three are enough; the third goes on, and the instance waits for it."""
    nodes = [
        _parallel("each", [1, 2, 3], enough="ctx.results.length >= 2", onItemError="continue"),
        task("a", input=SEEN),
        task("b"),
        task("after"),
    ]
    return document("enough", nodes, edges("each:loop > a > b", "each:done > after"))


def found() -> Document:
    """The loop ends with the item that is the right one; what runs of it is called off."""
    branches = [{"id": "right", "when": "ctx.item === 2"}]
    nodes = [
        _parallel("each", [1, 2, 3, 4], concurrency=2, outputVariable="all"),
        task("a", input=SEEN),
        node("is", "condition", branches=branches),
        task("right", completes=["each"]),
        task("wrong"),
        task("after", input={"all": "{{ctx.all}}"}),
    ]
    arrows = edges("each:loop > a > is:right > right", "is:else > wrong", "each:done > after")
    return document("found", nodes, arrows)


def enough_elsewhere() -> Document:
    """A step beside the loop says when there is enough; items that never began are skipped."""
    enough = "steps.beside.status === 'COMPLETED' && ctx.results.length >= 0"
    nodes = [
        node("start", "start"),
        _parallel("each", [1, 2, 3, 4, 5], concurrency=2, enough=enough, cancelRest=True),
        task("a", input=SEEN),
        task("beside", "slow"),
        task("after"),
    ]
    arrows = edges("start > each:loop > a", "start > beside", "each:done > after")
    return document("enough-elsewhere", nodes, arrows)


def arrivals() -> Document:
    """Each branch that arrives runs through the same steps; a dead one does not, and is awaited."""
    branches = [{"id": "big", "when": "ctx.input.k > 6"}]
    nodes = [
        node("start", "start"),
        task("a", outputVariable="v"),
        task("b", "slow"),
        task("c", "flaky", retry=RETRY),
        node("size", "condition", branches=branches),
        task("d"),
        node("each", "loop", source="arrivals", concurrency=2, outputVariable="all"),
        task("use", input=SEEN, outputVariable="v"),
        task("more", "slow"),
        task("after", input={"all": "{{ctx.all}}"}),
    ]
    arrows = edges(
        *(f"start > {name} > each" for name in "abc"),
        "start > size:big > d > each",
        "c:error > each:loop > use > more",
        "each:done > after",
    )
    return document("arrivals", nodes, arrows)


def first_arrival_wins() -> Document:
    """One of them is enough; the branches that have not arrived are called off with the others."""
    nodes = [
        node("start", "start"),
        task("a"),
        task("b", "slow"),
        task("c"),
        node("nap", "delay", duration="PT40S"),
        node("each", "loop", source="arrivals", enough=1, cancelRest=True, onItemError="continue"),
        task("use", "flaky", input=SEEN, retry={"maxAttempts": 1}),
        task("after"),
    ]
    arrows = edges(
        "start > a > each",
        "start > b > each",
        "start > c > nap > each:loop > use",
        "each:done > after",
    )
    return document("first-arrival-wins", nodes, arrows)


def first_item_wins() -> Document:
    """One is enough, and the others are called off with all that is in them."""
    nodes = [
        _parallel("each", [1, 2, 3], enough=1, cancelRest=True, onItemError="continue"),
        node("inner", "loop", source=[1]),
        task("a"),
        node("wait", "eventWait", eventPattern="evt.wait", eventTimeout={"duration": "PT1M"}),
        task("b"),
        task("after"),
    ]
    arrows = edges(
        "each:loop > inner:loop > a",
        "each:loop > wait > b",
        "wait:timeout > b",
        "inner:done > b",
        "each:done > after",
    )
    return document("first-item-wins", nodes, arrows)


def items_may_fail() -> Document:
    """An item that fails is passed over, with the rest of its iteration."""
    nodes = [
        _parallel("each", [1, 2, 3], concurrency=2, onItemError="continue", outputVariable="all"),
        task("a", "flaky", retry=RETRY),
        task("slow", "slow"),
        node("nap", "delay", duration="PT40S"),
        task("b", input=SEEN),
        task("after", input={"all": "{{ctx.all}}"}),
    ]
    arrows = edges("each:loop > a > b", "each:loop > slow > b", "each:loop > nap > b")
    return document("items-may-fail", nodes, [*arrows, *edges("each:done > after")])


def failing_loop() -> Document:
    """An item that fails takes the loop along, which hands the failure on as its own."""
    nodes = [
        _parallel("each", [1, 2, 3], onError=[{"codes": ["OUT"], "handle": "oops"}]),
        task("a", "flaky", retry={"maxAttempts": 1}),
        task("b"),
        task("after"),
        task("mend"),
        task("stock"),
    ]
    arrows = edges(
        "each:loop > a > b", "each:done > after", "each:error > mend", "each:oops > stock"
    )
    return document("failing-loop", nodes, arrows)


def busy_body() -> Document:
    """A body with joins of every kind, a condition, a wait, an error route and another loop."""
    branches = [{"id": "big", "when": "ctx.item.n > 1"}]
    nodes = [
        _parallel("each", [{"n": 1}, {"n": 5}], concurrency=2, result="{{steps.inner.output}}"),
        node("size", "condition", branches=branches),
        task("a", "flaky"),
        node("wait", "eventWait", eventPattern="evt.wait", eventTimeout={"duration": "PT1M"}),
        task("both"),
        task("either", joinMode="any", cancelRest=True),
        task("mend"),
        node("inner", "loop", source=[1, 2], joinMode={"atLeast": 1}),
        task("c", input=SEEN),
        node("end", "end", outputParameters={"k": "{{ctx.input.k}}"}),
    ]
    arrows = edges(
        "each:loop > size:big > a > both > inner",
        "size:big > wait > both",
        "wait:timeout > both",
        "a:error > mend > inner",
        "size:else > either > inner",
        "size:big > either",
        "inner:loop > c > inner",
        "each:done > end",
    )
    return document("busy-body", nodes, arrows)


def _parallel(id: str, source: Json, **config: Json) -> Document:
    return node(id, "loop", source=source, mode="parallel", **config)


SHAPES: tuple[Callable[[], Document], ...] = (
    for_each,
    parallel_loop,
    while_loop,
    nested_loops,
    polls_for_each,
    enough,
    found,
    enough_elsewhere,
    arrivals,
    first_arrival_wins,
    first_item_wins,
    items_may_fail,
    failing_loop,
    busy_body,
)


def loop_shapes() -> dict[str, Document]:
    """All of them, by id."""
    return {made["id"]: made for made in (make() for make in SHAPES)}
