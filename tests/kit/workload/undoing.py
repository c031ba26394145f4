"""Compensation steps for documents: some of their nodes can be undone, some on a condition."""

from __future__ import annotations

from random import Random

from tests.kit.workload.drawing import Document, Json, document, edges, node, task
from tests.kit.workload.families import Family, call, random_family

UNDO = "undo_"
CONDITIONS = ("ctx.input.flag === true", "ctx.input.k > 4", "workflow.input.k < 8")

_UNDONE = ("task", "javascript", "http", "dataQuery", "eventWait", "loop", "subWorkflow")


def with_undo(drawn: Document, seed: int | str, *, percent: int = 50) -> Document:
    """The document, of which about so many nodes in a hundred can be undone."""
    random = Random(f"undo {seed}")
    steps: list[Json] = [
        _undoing(str(each["id"]), random)
        for each in drawn["nodes"]
        if each["type"] in _UNDONE and random.randrange(100) < percent
    ]
    return drawn | {"compensationSteps": steps} if steps else drawn


def _undoing(id: str, random: Random) -> Document:
    step: Document = {"stepId": f"{UNDO}{id}", "compensationFor": id, "taskId": "undo"}
    if random.randrange(3):
        step["input"] = {"of": f"steps.{id}.output", "k": "{{ctx.input.k}}"}
    if random.randrange(4) == 0:
        step["condition"] = random.choice(CONDITIONS)
    attempts = random.randint(1, 3)
    step["retry"] = {"maxAttempts": attempts, "initialDelay": "PT1S", "maxDelay": "PT2S"}
    return step


def undone_family(seed: int | str) -> Family:
    """A random family in which every generation can be undone, in part."""
    made = random_family(seed)
    parent = with_undo(made.parent, f"{seed}-parent", percent=30)
    children = [with_undo(child, f"{seed}-{each}") for each, child in enumerate(made.children)]
    return Family(parent, children)


def order() -> Document:
    """Reserve, pay, then wait for what seldom comes; everything can be undone."""
    wait = node("wait", "eventWait", eventPattern="evt.order", eventTimeout={"duration": "PT40S"})
    nodes = [task("reserve"), task("pay"), wait, task("ship", "flaky")]
    arrows = edges("reserve > pay > wait > ship")
    drawn = document("order-undone", nodes, arrows, timeout="PT30S")
    return drawn | {"compensationSteps": [_plain("reserve"), _plain("pay"), _plain("ship")]}


def packing() -> Document:
    """A loop whose iterations can be undone, then what fails."""
    loop = node("l", "loop", source=[1, 2, 3], mode="parallel", concurrency=2)
    nodes = [loop, task("pack"), task("check"), node("no", "terminate", status="FAILED")]
    arrows = edges("l:loop > pack > check", "l:done > no")
    steps = [_plain("pack"), _plain("check")]
    return document("packing-undone", nodes, arrows) | {"compensationSteps": steps}


def called() -> Family:
    """A child that completes and is undone when its parent fails; it has one of its own."""
    nodes = [task("before"), call("call", "middle-undone"), task("after"), _no()]
    parent = document("parent-undone", nodes, edges("before > call > after > no"))
    middle = document(
        "middle-undone", [task("m1"), call("deeper", "lowest-undone")], edges("m1 > deeper")
    )
    lowest = document("lowest-undone", [task("x1"), task("x2")], edges("x1 > x2"))
    return Family(
        parent | {"compensationSteps": [_plain("before"), _plain("after")]},
        [
            middle | {"compensationSteps": [_plain("m1")]},
            lowest | {"compensationSteps": [_plain("x1"), _plain("x2")]},
        ],
    )


def _no() -> Document:
    return node("no", "terminate", status="FAILED", reason="always")


def _plain(id: str) -> Document:
    step: Document = {"stepId": f"{UNDO}{id}", "compensationFor": id, "taskId": "undo"}
    return step | {"input": {"of": f"steps.{id}.output"}}
