"""Workflows whose steps are workflows: a parent, and those that it and they start."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from tests.kit.workload.draft import Taste
from tests.kit.workload.drawing import Document, Json, document, edges, node, task
from tests.kit.workload.generator import random_document


class Family(NamedTuple):
    """A document, and the others that have to be there when it runs."""

    parent: Document
    children: list[Document]


def call(id: str, workflow: str, **config: Json) -> Document:
    config.setdefault("input", {"k": "{{ctx.input.k}}", "from": id})
    return node(id, "subWorkflow", workflowId=workflow, **config)


def one_child() -> Family:
    """A child between two tasks."""
    nodes = [task("before"), call("call", "small", outputVariable="got"), task("after")]
    parent = document("one-child", nodes, edges("before > call > after"))
    return Family(parent, [_small("small")])


def three_generations() -> Family:
    """A child that starts a child; beside it a task."""
    parent = document("three", [call("call", "middle"), task("beside")], [])
    middle = document("middle", [task("m1"), call("deeper", "lowest")], edges("m1 > deeper"))
    return Family(parent, [middle, _small("lowest")])


def first_child_wins() -> Family:
    """Three children, of which the others are called off once one has ended."""
    calls = [call(f"call{number}", f"racer{number}") for number in range(3)]
    nodes = [*calls, task("win", joinMode="any", cancelRest=True)]
    arrows = edges(*(f"call{number} > win" for number in range(3)))
    racers = [_small(f"racer{number}") for number in range(3)]
    return Family(document("first-wins", nodes, arrows), racers)


def child_that_fails() -> Family:
    """One that is tried twice and then handled, and one of which there is no such workflow."""
    retry = {"maxAttempts": 2, "initialDelay": "PT1S"}
    nodes = [
        call("call", "failing", retry=retry),
        call("nobody", "not-there"),
        task("mend"),
        task("other"),
    ]
    parent = document("child-fails", nodes, edges("call:error > mend", "nobody:error > other"))
    ends = node("no", "terminate", status="FAILED", reason="always")
    fine = node("choose", "condition", branches=[{"id": "bad", "when": "ctx.input.k >= 0"}])
    failing = document("failing", [task("f1", "flaky"), fine, ends], edges("f1 > choose:bad > no"))
    return Family(parent, [failing])


def child_that_takes_too_long() -> Family:
    """A child that waits for what never comes, under a time limit; its parent goes on."""
    nodes = [call("call", "sleepy", timeout="PT20S"), task("late"), task("beside", "slow")]
    parent = document("too-long", nodes, edges("call:error > late", "beside:error > late"))
    sleepy = document(
        "sleepy",
        [task("z1"), node("z2", "eventWait", eventPattern="evt.never"), call("z3", "dreaming")],
        edges("z1 > z2"),
    )
    dreaming = document("dreaming", [node("d1", "delay", duration="PT2H")], [])
    return Family(parent, [sleepy, dreaming])


def child_with_deadline() -> Family:
    """The parent's time is up while its child sleeps."""
    parent = document("deadline", [call("call", "dozing"), task("beside")], [], timeout="PT25S")
    dozing = document(
        "dozing", [task("o1"), node("o2", "delay", duration="PT3H")], edges("o1 > o2")
    )
    return Family(parent, [dozing])


def families() -> dict[str, Family]:
    """All of them, by the parent's id."""
    made = (
        one_child(),
        three_generations(),
        first_child_wins(),
        child_that_fails(),
        child_that_takes_too_long(),
        child_with_deadline(),
    )
    return {str(family.parent["id"]): family for family in made}


def random_family(seed: int | str, taste: Taste | None = None) -> Family:
    """A random document some of whose tasks are workflows, which are random documents as well."""
    random = Random(f"family {seed}")
    taste = taste or Taste(largest=8)
    grandchild = random_document(f"{seed}-grandchild", taste)
    child = _calling(random_document(f"{seed}-child", taste), [grandchild], random)
    parent = _calling(random_document(f"{seed}-parent", taste), [child, grandchild], random)
    return Family(parent, [child, grandchild])


def _calling(caller: Document, called: list[Document], random: Random) -> Document:
    """Turn some tasks into steps that start one of `called`; at least one, if there is any."""
    tasks = [each for each in caller["nodes"] if each["type"] == "task" and _may_call(each)]
    chosen = [each for each in tasks if random.random() < 0.4] or tasks[:1]
    for each in chosen:
        config = {name: value for name, value in each["config"].items() if name not in _OF_TASKS}
        workflow = str(random.choice(called)["id"])
        each |= {"type": "subWorkflow", "config": {"workflowId": workflow, **config}}
    return caller


_OF_TASKS = ("taskId", "input", "heartbeatTimeout")


def _may_call(found: Document) -> bool:
    return not found["config"].get("handles")


def _small(id: str) -> Document:
    """Two tasks, and a wait that gives up."""
    wait = node(
        f"{id}_wait", "eventWait", eventPattern=f"evt.{id}", eventTimeout={"duration": "PT5S"}
    )
    nodes = [task(f"{id}_a"), wait, task(f"{id}_b", outputVariable="b")]
    return document(id, nodes, edges(f"{id}_a > {id}_wait > {id}_b", f"{id}_wait:timeout > {id}_b"))
