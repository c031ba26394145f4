"""A small shop, in JSON and in Python, whose tests are tested."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tenuto import Context, Retry, task
from tenuto.model.json import Object

ORDER: Object = {"orderId": 7, "amount": 9}

Json = Any
"""What a definition is made of, for tests that build one."""


@task(name="shop.reserve")
def reserve(order: dict[str, Any]) -> dict[str, Any]:
    return {"held": order["orderId"]}


@task(name="shop.charge", retry=Retry(attempts=3, first="PT1S", factor=1.0))
async def charge(ctx: Context, order: dict[str, Any]) -> dict[str, Any]:
    return {"paymentId": ctx.idempotency_key, "amount": order["amount"]}


@task(name="shop.ship")
def ship() -> str:
    return "shipped"


@task(name="shop.escalate")
def escalate() -> str:
    return "escalated"


APPROVED: Json = {
    "id": "approved-order",
    "steps": [
        {
            "stepId": "reserve",
            "type": "TASK",
            "taskId": "shop.reserve",
            "transitions": {"default": "charge"},
        },
        {
            "stepId": "charge",
            "type": "TASK",
            "taskId": "shop.charge",
            "transitions": {"default": "approval"},
        },
        {
            "stepId": "approval",
            "type": "EVENT_WAIT",
            "eventPattern": "approval.given",
            "eventTimeout": {"duration": "P3D", "timeoutHandlerStepId": "escalate"},
            "transitions": {"default": "ship"},
        },
        {"stepId": "escalate", "type": "TASK", "taskId": "shop.escalate"},
        {"stepId": "ship", "type": "TASK", "taskId": "shop.ship"},
    ],
}


REVIEWED: Json = {
    "id": "reviewed-order",
    "steps": [
        {
            "stepId": "reserve",
            "type": "TASK",
            "taskId": "shop.reserve",
            "transitions": {"default": "review"},
        },
        {
            "stepId": "review",
            "type": "APPROVAL",
            "assignees": {"users": ["ada"], "roles": ["finance"]},
            "deadline": "P3D",
            "reminders": ["P1D"],
            "escalate": {"after": "P2D", "assignees": {"users": ["zoe"]}},
            "transitions": {"approved": "ship", "rejected": "escalate", "timeout": "escalate"},
        },
        {"stepId": "escalate", "type": "TASK", "taskId": "shop.escalate"},
        {"stepId": "ship", "type": "TASK", "taskId": "shop.ship"},
    ],
}


def in_a_row(*steps: Json, id: str = "row") -> Json:
    """A definition of steps that follow each other."""
    for step, following in pairwise(steps):
        step.setdefault("transitions", {"default": following["stepId"]})
    return {"id": id, "steps": list(steps)}


def a_task(step: str, task: str = "shop.ship", **fields: Json) -> Json:
    return {"stepId": step, "type": "TASK", "taskId": task, **fields}


def a_delay(step: str, duration: str, **fields: Json) -> Json:
    return {"stepId": step, "type": "DELAY", "duration": duration, **fields}


def a_wait(step: str, pattern: str, **fields: Json) -> Json:
    return {"stepId": step, "type": "EVENT_WAIT", "eventPattern": pattern, **fields}


def fan_out(width: int) -> Json:
    """`first`, then so many steps beside each other, then `join`."""
    names = [f"branch_{number}" for number in range(width)]
    return {
        "id": f"fan-of-{width}",
        "steps": [
            a_task("first", transitions={"default": names}),
            *(a_task(name, transitions={"default": "join"}) for name in names),
            a_task("join"),
        ],
    }
