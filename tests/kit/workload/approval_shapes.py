"""Approvals that every engine must run: alone, beside each other, and in a loop."""

from __future__ import annotations

from collections.abc import Callable

from tests.kit.workload.drawing import Document, Json, document, edges, node, task

ANN = {"users": ["ann"], "roles": ["boss"]}
BOARD = {"users": ["zoe"], "roles": ["board"]}


def approval(id: str, **config: Json) -> Document:
    return node(id, "approval", **{"assignees": ANN, **config})


def one_decides() -> Document:
    """All that an approval can have; a decision, its deadline and its timeout race."""
    nodes = [
        task("before"),
        approval(
            "ask",
            deadline="PT1M",
            timeout="PT2M",
            reminders=["PT20S", "PT5S", "PT40S"],
            escalate={"after": "PT30S", "assignees": BOARD},
            outputVariable="said",
        ),
        task("yes", input={"by": "{{ctx.said.by}}"}),
        task("no"),
        task("late"),
    ]
    arrows = edges("before > ask:approved > yes", "ask:rejected > no", "ask:timeout > late")
    return document("one-decides", nodes, arrows)


def first_decision_wins() -> Document:
    """Two are asked, and one is enough; the other is called off."""
    nodes = [
        task("before"),
        approval("ask1", reminders=["PT5S"]),
        approval("ask2", deadline="PT1M"),
        task("after", joinMode="any", cancelRest=True),
    ]
    arrows = edges(
        "before > ask1:approved > after",
        "before > ask2:approved > after",
        "ask2:timeout > after",
    )
    return document("first-decision-wins", nodes, arrows)


def each_is_asked_for() -> Document:
    """Every item needs a decision of its own."""
    nodes = [
        node("each", "loop", source=[1, 2], mode="parallel", outputVariable="all"),
        approval("ask", deadline="PT1M", reminders=["PT10S"], outputVariable="said"),
        task("yes", input={"item": "{{ctx.item}}", "by": "{{ctx.said.by}}"}),
        task("after"),
    ]
    arrows = edges("each:loop > ask:approved > yes", "ask:timeout > yes", "each:done > after")
    return document("each-is-asked-for", nodes, arrows)


SHAPES: tuple[Callable[[], Document], ...] = (one_decides, first_decision_wins, each_is_asked_for)


def approval_shapes() -> dict[str, Document]:
    """All of them, by id."""
    return {made["id"]: made for made in (make() for make in SHAPES)}
