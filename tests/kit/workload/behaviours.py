"""What scripted tasks do, as data: one table for the runner and for the oracle."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tests.kit.checker.graph import Node, read
from tests.kit.workload.drawing import Document, Json

CODES = ("FLAKY", "OUT", "BAD", "GONE")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What one try of one task does."""

    does: Literal["succeed", "fail"]
    takes_ms: int
    value: Json = None
    handle: str = "default"
    code: str = ""
    retryable: bool = True
    obeys: bool = True
    """Whether it ends at once, with the code CANCELLED, when it is told to stop."""
    delay_ms: int = 0
    """By how much later what follows a success is to be dispatched."""


Behaviours: TypeAlias = Mapping[tuple[str, int], Behaviour]
"""(node, number of the try) → behaviour. Attempts that were lost or stopped are no tries.

Iterations of a loop differ: `a[0]` to `a[2]` are what the node `a` does in every third of them.
"""
VARIANTS = 3


def plan_behaviours(
    document: Document, seed: int | str, *, failing_percent: int = 30, calm: bool = False
) -> dict[tuple[str, int], Behaviour]:
    """The table for a document; `calm` leaves out what runs into a time limit."""
    table: dict[tuple[str, int], Behaviour] = {}
    for place, node in enumerate(read(document).nodes.values()):
        if not node.is_executed:
            continue
        names = [node.id]
        if node.loop is not None:
            names = [variant_of(node.id, str(number)) for number in range(VARIANTS)]
        for name in names:
            chooser = random.Random(f"{seed}:{name}")
            # Of many iterations one is enough to fail a loop.
            percent = failing_percent if node.loop is None else failing_percent // 2
            _plan_node(node, place, chooser, percent, calm=calm, name=name, table=table)
            if not calm and node.type == "task":
                _plan_delays(name, random.Random(f"{seed}:{name}:delay"), table)
    for step in document.get("compensationSteps") or ():
        _plan_undoing(str(step["stepId"]), random.Random(f"{seed}:{step['stepId']}"), table)
    return table


def _plan_delays(
    name: str, chooser: random.Random, table: dict[tuple[str, int], Behaviour]
) -> None:
    """Some tasks ask that what follows is dispatched later; whole seconds, as above."""
    if chooser.randrange(6):
        return
    delay = chooser.choice((1_000, 3_000, 20_000))
    for (node, number), planned in list(table.items()):
        if node == name and planned.does == "succeed":
            table[node, number] = replace(planned, delay_ms=delay)


def _plan_undoing(id: str, chooser: random.Random, table: dict[tuple[str, int], Behaviour]) -> None:
    """What a compensation does: most succeed at once, some later, a few never."""
    failing = chooser.choice((0, 0, 0, 1, 2, 9))
    for number in range(1, failing + 1):
        table[id, number] = Behaviour("fail", 500, code="FLAKY", obeys=False)
    takes = chooser.randrange(100, 3_000)
    table[id, failing + 1] = Behaviour("succeed", takes, {"undone": id}, obeys=False)


def behaviour_of(behaviours: Behaviours, node: str, tried: int, iteration: str = "") -> Behaviour:
    """What the try after `tried` others does; the last one planned goes on for ever."""
    name = variant_of(node, iteration)
    if (name, 1) not in behaviours:
        name = node
    number = tried + 1
    while number > 1 and (name, number) not in behaviours:
        number -= 1
    return behaviours[name, number]


def variant_of(node: str, iteration: str) -> str:
    """Under which name the table has what a node does in an iteration."""
    if not iteration:
        return node
    indexes = map(int, iteration.split("/"))
    return f"{node}[{sum(index * 7 + depth for depth, index in enumerate(indexes)) % VARIANTS}]"


def _plan_node(
    node: Node,
    place: int,
    chooser: random.Random,
    failing_percent: int,
    *,
    calm: bool,
    name: str,
    table: dict[tuple[str, int], Behaviour],
) -> None:
    tries = node.policy.max_attempts
    failing = 0
    if chooser.randrange(100) < failing_percent:
        failing = chooser.randint(1, tries + 1)
    for number in range(1, tries + 2):
        # Whole seconds, apart from each other by the node's place: orders do not hang on a hair.
        takes = chooser.randrange(1, 4) * 1_000 + place * 7 + number
        if chooser.randrange(10) == 0:
            takes = place * 7 + number
        if not calm and "timeout" in node.config and chooser.randrange(8) == 0:
            takes = 60_000 + place * 7
        obeys = chooser.randrange(4) > 0
        if number <= failing:
            code = chooser.choice(CODES)
            table[name, number] = Behaviour(
                "fail", takes, code=code, retryable=code != "GONE", obeys=obeys
            )
            continue
        handle = "default"
        declared = node.config.get("handles")
        if declared and chooser.randrange(2):
            handle = str(chooser.choice(declared))
        value = {"value": chooser.randrange(10), "node": node.id}
        table[name, number] = Behaviour("succeed", takes, value, handle, obeys=obeys)
