"""One workflow in four spellings: steps, graph, dependencies, Python. Their logs are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenuto import TaskError, Tenuto, WorkflowFailed, workflow
from tenuto.model.json import JSON, Object
from tenuto.tasks.registry import Registry

pytestmark = pytest.mark.asyncio

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
            return {key: _without_times(part) for key, part in value.items() if key != "at"}
        case list():
            return [_without_times(part) for part in value]
        case _:
            return value


@pytest.mark.parametrize("input", [{}, {"broke": True}, {"items": [1, {"a": None}], "text": "ü"}])
async def test_four_spellings_of_a_workflow_have_equal_logs(input: JSON) -> None:
    logs = {name: await log_of(spelled(), input) for name, spelled in SPELLINGS.items()}
    assert len(logs["steps"]) > 10
    for name, log in logs.items():
        assert log == logs["steps"], name
