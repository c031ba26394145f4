"""One workflow in which everything that can end a wait comes due within the same moment."""

from __future__ import annotations

from random import Random
from typing import Literal

from tests.kit.workload.actions import Action, Cancel, Decide, Pause, Publish, Resume, Retry
from tests.kit.workload.approval_shapes import approval
from tests.kit.workload.drawing import Document, document, edges, node, task
from tests.kit.workload.event_shapes import MINE
from tests.kit.workload.families import Family, call
from tests.kit.workload.undoing import UNDO

TEN_SECONDS = {"duration": "PT10S"}
CROWDED_MS = (10_100, 10_100, 20_000)
"""When time limits pass, about, if the first step takes a tenth of a second."""
_SHIFTS_MS = (-400, -2, -1, 0, 0, 1, 2, 50, 400)


def rivals(*, is_undone: bool = True) -> Family:
    """Waits, an approval, a loop and a child, all with the same time limit; each can be undone.

    Where nothing is undone when it fails, it can be retried.
    """
    nodes = [
        task("before"),
        _wait("wait", "evt.wait"),
        approval("ask", deadline="PT10S", reminders=["PT4S"]),
        node("each", "loop", source=[1, 2], mode="parallel", onItemError="continue"),
        _wait("item", "evt.item"),
        task("pack"),
        call("call", "rival-child"),
        task("last", "flaky"),
        task("both", joinMode="any", cancelRest=True),
        task("late"),
        node("no", "terminate", status="FAILED", reason="it was rejected"),
    ]
    ways = edges(
        "before > wait > both",
        "wait:timeout > late",
        "before > ask:approved > both",
        "ask:rejected > no",
        "before > each:loop > item > pack",
        "before > call > last",
    )
    name = "rivals" if is_undone else "rivals-retried"
    parent = document(name, nodes, ways, timeout="PT20S", compensateOnFailure=is_undone)
    triggers = [{"eventPattern": "evt.stop", "eventCondition": MINE, "reason": "called off"}]
    child = document("rival-child", [task("c1"), _wait("c2", "evt.child")], edges("c1 > c2"))
    return Family(
        parent
        | {"cancellationTriggers": triggers}
        | {"compensationSteps": [_undo(id) for id in ("before", "wait", "pack", "last", "both")]},
        [child | {"compensationSteps": [_undo("c1"), _undo("c2")]}],
    )


def crowd(k: int, name: str) -> list[Action]:
    """What clients do to it, most of it when time limits pass."""
    random = Random(f"crowd {name}")

    def at() -> int:
        return random.choice(CROWDED_MS) + random.choice(_SHIFTS_MS)

    def event(pattern: str, number: int) -> Publish:
        payload = {"k": k if random.random() < 0.8 else k + 1, "amount": number}
        return Publish(at(), f"{name}/{pattern}-{number}", pattern, payload, "matching")

    actions: list[Action] = [
        event(pattern, number)
        for pattern in ("evt.wait", "evt.item", "evt.child", "evt.stop")
        for number in range(random.choice((0, 1, 1, 2)) if pattern != "evt.stop" else 1)
        if pattern != "evt.stop" or random.random() < 0.3
    ]
    for _ in range(random.choice((0, 1, 2))):
        is_fine = random.random() < 0.7
        word: Literal["approved", "rejected"] = "approved" if is_fine else "rejected"
        actions.append(Decide(at(), "ask", word, "ann", (), "may"))
    if random.random() < 0.3:
        actions.append(Cancel(at(), "enough"))
    if random.random() < 0.2:
        paused = at()
        actions += [Pause(paused, None), Resume(paused + random.choice((1, 500, 15_000)))]
    if random.random() < 0.7:
        actions += [Retry(at()), Retry(40_000), Retry(90_000)]
    return sorted(actions, key=lambda action: action.at_ms)


def _wait(id: str, pattern: str) -> Document:
    return node(
        id, "eventWait", eventPattern=pattern, eventCondition=MINE, eventTimeout=TEN_SECONDS
    )


def _undo(id: str) -> Document:
    step: Document = {"stepId": f"{UNDO}{id}", "compensationFor": id, "taskId": "undo"}
    return step | {"input": {"of": f"steps.{id}.output"}}
