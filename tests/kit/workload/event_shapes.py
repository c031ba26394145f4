"""Shapes that meet events in other ways than by a plain wait, in graph form."""

from __future__ import annotations

from typing import NamedTuple

from tests.kit.workload.drawing import Document, document, edges, node, task

MINE = "event.payload.k === workflow.input.k"
NOW = f"{MINE} && workflow.instance.status !== 'NEVER'"
"""The same, but nobody can know that before it is read."""


class Told(NamedTuple):
    """A workflow, and those that its events start."""

    document: Document
    started: tuple[Document, ...] = ()
    refusing: tuple[Document, ...] = ()
    """Those that they would start, did these take the input."""


def first_of_two() -> Told:
    """Whichever of two events comes first, or neither."""
    arms = [
        {"id": "paid", "eventPattern": "evt.paid", "eventCondition": MINE},
        {"id": "other", "eventPattern": "evt.*", "eventCondition": MINE},
    ]
    wait = node("wait", "eventWait", arms=arms, eventTimeout={"duration": "PT1H"})
    nodes = [node("start", "start"), wait, task("use"), task("others"), task("late")]
    ways = ("start > wait", "wait:paid > use", "wait:other > others", "wait:timeout > late")
    return Told(document("first-of-two", nodes, edges(*ways)))


def three_of_them() -> Told:
    """Three events, however often each is sent, or as many as come in time."""
    limit = {"duration": "PT1H"}
    wait = node("wait", "eventWait", eventPattern="evt.*", count=3, eventTimeout=limit)
    nodes = [task("before", "flaky"), wait, task("use", input="{{steps.wait.output}}")]
    ways = ("before > wait > use", "wait:timeout > use")
    return Told(document("three-of-them", nodes, edges(*ways)))


def growing() -> Told:
    """Each event appends an item, while any is under way."""
    more = {"eventPattern": "evt.more", "eventCondition": MINE, "item": "{{event.payload.amount}}"}
    each = node("each", "loop", source=[1], mode="parallel", concurrency=2, more=more)
    nodes = [task("before"), each, task("a", "slow", input="{{ctx.item}}"), task("after")]
    return Told(document("growing", nodes, edges("before > each:loop > a", "each:done > after")))


def cancellable() -> Told:
    """An event ends it wherever it is: at work, waiting, or on its way to a failure."""
    wait = node("wait", "eventWait", eventPattern="evt.wait", eventCondition=MINE)
    nodes = [task("before", "flaky"), wait, task("beside", "slow"), task("after")]
    made = document("cancellable", nodes, edges("before > wait > after", "before > beside"))
    triggers = [
        {"eventPattern": "evt.stop", "eventCondition": MINE, "reason": "it was called off"},
        {"eventPattern": "evt.halt", "eventCondition": NOW, "reason": "it was halted"},
    ]
    return Told({**made, "cancellationTriggers": triggers})


def telling() -> Told:
    """It publishes what its own other branch waits for."""
    told = node("told", "emit", pattern="evt.told", payload={"k": "{{ctx.input.k}}"})
    wait = node("wait", "eventWait", eventPattern="evt.told", eventCondition=MINE)
    nodes = [node("start", "start"), task("first"), told, wait, task("after")]
    return Told(document("telling", nodes, edges("start > first > told", "start > wait > after")))


def starting() -> Told:
    """What it publishes starts instances of two other workflows."""
    told = node(
        "told",
        "emit",
        pattern="evt.begin",
        payload={"k": "{{ctx.input.k}}", "by": "{{workflow.instance.id}}"},
    )
    made = document("starting", [task("first"), told, task("after")], edges("first > told > after"))
    refusing = {**_started("refusing"), "inputSchema": {"required": ["what nobody sends"]}}
    return Told(made, (_started("begun"), _started("begun-too")), (refusing,))


def _started(id: str) -> Document:
    made = document(id, [task("a"), task("b")], edges("a > b"))
    mapping = {"k": "k", "flag": "{{event.payload.k > 3}}"}
    return {**made, "triggers": [{"eventPattern": "evt.begin", "inputMapping": mapping}]}


def event_shapes() -> dict[str, Told]:
    """All of them, by id."""
    made = (first_of_two(), three_of_them(), growing(), cancellable(), telling(), starting())
    return {str(told.document["id"]): told for told in made}
