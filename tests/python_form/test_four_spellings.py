"""One workflow in four spellings: steps, graph, dependencies, Python. Their logs are equal.

What decides and repeats answers with handles of its own, so there are three spellings of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenuto import (
    TaskError,
    Tenuto,
    WorkflowFailed,
    otherwise,
    wait_event,
    when,
    workflow,
)
from tenuto.model.json import JSON, Object
from tenuto.tasks.registry import Registry
from tenuto.testing import Engine

TASKS = Registry()


@TASKS.task
async def check(order: JSON) -> JSON:
    return "fine"


@TASKS.task
async def reserve(order: JSON) -> JSON:
    return {"held": order}


@TASKS.task
async def score(order: JSON) -> JSON:
    return 3


@TASKS.task
async def charge(order: JSON) -> JSON:
    if isinstance(order, dict) and order.get("broke"):
        raise TaskError("NO_MONEY", "the account is empty", retryable=False)
    return "paid"


@TASKS.task
async def ship(parcel: JSON) -> JSON:
    return {"shipped": parcel}


@workflow("order")
def in_python(order: JSON) -> None:
    seen = check(order)
    held = reserve.after(seen)(order)
    risk = score.after(seen)(order)
    paid = charge.after(held, risk)(order)
    sent = ship({"held": held, "paid": paid})  # noqa: F841 - its name is the step's


PARCEL: JSON = {"held": "{{ctx.held}}", "paid": "{{ctx.paid}}"}


def _task(name: str, variable: str, input: JSON) -> Object:
    return {"taskId": name, "outputVariable": variable, "input": input}


WORK: dict[str, Object] = {
    "seen": _task("check", "seen", "{{ctx.input}}"),
    "held": _task("reserve", "held", "{{ctx.input}}"),
    "risk": _task("score", "risk", "{{ctx.input}}"),
    "paid": _task("charge", "paid", "{{ctx.input}}"),
    "sent": _task("ship", "sent", PARCEL),
}
EDGES = [
    ("seen", "held"),
    ("seen", "risk"),
    ("held", "paid"),
    ("risk", "paid"),
    ("held", "sent"),
    ("paid", "sent"),
]


def _needs(name: str) -> list[str]:
    return [source for source, target in EDGES if target == name]


def in_dependencies() -> Object:
    return {
        "id": "order",
        "steps": [
            {"stepId": name, "type": "TASK", **work, "dependsOn": list[JSON](_needs(name))}
            for name, work in WORK.items()
        ],
    }


def _joined(name: str) -> Object:
    needs = len(_needs(name))
    return {"joinMode": {"atLeast": needs}} if needs > 1 else {}


def in_graph() -> Object:
    return {
        "id": "order",
        "nodes": [
            {"id": name, "type": "task", "config": {**work, **_joined(name)}}
            for name, work in WORK.items()
        ],
        "edges": [{"source": source, "target": target} for source, target in EDGES],
    }


def in_steps() -> Object:
    def following(name: str) -> Object:
        targets: list[JSON] = [target for source, target in EDGES if source == name]
        return {"transitions": {"default": targets}} if targets else {}

    return {
        "id": "order",
        "steps": [
            {"stepId": name, "type": "TASK", **work, **_joined(name), **following(name)}
            for name, work in WORK.items()
        ],
    }


SPELLINGS: dict[str, Callable[[], Object]] = {
    "steps": in_steps,
    "graph": in_graph,
    "dependencies": in_dependencies,
    "python": in_python.definition,
}


@workflow("order")
def deciding_in_python(order: Any) -> None:  # noqa: ANN401 - whatever there is in it
    seen = check(order)  # noqa: F841 - named in text
    with when("ctx.seen === 'fine' && ctx.input.big"):
        asked = wait_event("order.approved", where="event.payload.id === ctx.input.id")
        much = charge.after(asked)(order)
    with otherwise():
        little = reserve(order)
    boxes = ship.after_any(much, little).map(order["items"], at_most=1)
    total = score(boxes)  # noqa: F841 - its name is the step's


BIG: JSON = [{"id": "then", "when": "ctx.seen === 'fine' && ctx.input.big"}]
DECIDING: dict[str, tuple[str, Object]] = {
    "seen": ("task", _task("check", "seen", "{{ctx.input}}")),
    "when": ("condition", {"branches": BIG}),
    "asked": (
        "eventWait",
        {
            "eventPattern": "order.approved",
            "eventCondition": "event.payload.id === ctx.input.id",
            "outputVariable": "asked",
        },
    ),
    "much": ("task", _task("charge", "much", "{{ctx.input}}")),
    "little": ("task", _task("reserve", "little", "{{ctx.input}}")),
    "boxes": (
        "loop",
        {
            "source": "{{ctx.input.items}}",
            "mode": "parallel",
            "concurrency": 1,
            "joinMode": "any",
            "outputVariable": "boxes",
        },
    ),
    "ship": ("task", _task("ship", "ship", "{{ctx.item}}")),
    "total": ("task", _task("score", "total", "{{ctx.boxes}}")),
}
WAYS = [
    ("seen", "default", "when"),
    ("when", "then", "asked"),
    ("asked", "default", "much"),
    ("when", "else", "little"),
    ("much", "default", "boxes"),
    ("little", "default", "boxes"),
    ("boxes", "loop", "ship"),
    ("boxes", "done", "total"),
]


def deciding_in_graph() -> Object:
    return {
        "id": "order",
        "nodes": [
            {"id": name, "type": kind, "config": config}
            for name, (kind, config) in DECIDING.items()
        ],
        "edges": [
            {"source": source, "sourceHandle": handle, "target": target}
            for source, handle, target in WAYS
        ],
    }


def deciding_in_steps() -> Object:
    def following(name: str) -> Object:
        return {handle: target for source, handle, target in WAYS if source == name}

    return {
        "id": "order",
        "steps": [
            {"stepId": name, "type": kind, **config, "transitions": following(name)}
            for name, (kind, config) in DECIDING.items()
        ],
    }


TIMES = {"at", "executionTime"}


async def log_of(definition: Object, input: JSON) -> list[Object]:
    """The log of a run, without its ids and times."""
    async with Tenuto(tasks=TASKS) as app:
        await app.deploy(definition)
        instance = await app.start("order", input)
        try:
            await instance.result(30)
        except WorkflowFailed as failed:
            assert failed.error.code == "NO_MONEY"  # noqa: PT017 - one of the inputs brings it
        return [_without_times(item) for item in await instance.history()]


def _without_times(value: Any) -> Any:  # noqa: ANN401 - any part of an entry
    match value:
        case dict():
            return {key: _without_times(part) for key, part in value.items() if key not in TIMES}
        case list():
            return [_without_times(part) for part in value]
        case _:
            return value


@pytest.mark.parametrize("input", [{}, {"broke": True}, {"items": [1, {"a": None}], "text": "ü"}])
@pytest.mark.asyncio
async def test_four_spellings_of_a_workflow_have_equal_logs(input: JSON) -> None:
    logs = {name: await log_of(spelled(), input) for name, spelled in SPELLINGS.items()}
    assert len(logs["steps"]) > 10
    for name, log in logs.items():
        assert log == logs["steps"], name


def log_of_decisions(definition: Object, is_big: bool) -> list[Object]:
    """The log of a run in virtual time, whose times are the same in every run."""
    with Engine(tasks=TASKS) as engine:
        instance = engine.start(definition, {"id": 7, "big": is_big, "items": ["a", "b"]})
        if is_big:
            instance.until(waiting_for="order.approved")
            engine.publish("order.approved", {"id": 7}, id="approval-7")
        instance.finished()
        return list(instance.history)


@pytest.mark.parametrize("is_big", [True, False])
def test_three_spellings_of_what_decides_waits_and_repeats_have_equal_logs(is_big: bool) -> None:
    steps = log_of_decisions(deciding_in_steps(), is_big)
    kinds = {str(item["eventType"]) for item in steps}
    assert kinds >= {"ITERATION_ENDED", "NODE_SKIPPED"} | ({"WAIT_RESOLVED"} if is_big else set())
    assert log_of_decisions(deciding_in_graph(), is_big) == steps
    assert log_of_decisions(deciding_in_python.definition(), is_big) == steps
