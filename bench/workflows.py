"""The shapes that are measured; every task does nothing."""

from __future__ import annotations

from tenuto.model.json import JSON, Object


def linear(
    steps: int, *, id: str | None = None, task: str = "noop", first_task: str = "noop"
) -> Object:
    """One step after the other."""
    listed = [_step(f"s{n}", task, f"s{n + 1}" if n + 1 < steps else None) for n in range(steps)]
    if first_task != "noop":
        listed[0] |= {"taskId": first_task, "outputVariable": "first"}
    return {"id": id or f"linear_{steps}", "steps": list[JSON](listed)}


def heavy_context(steps: int) -> Object:
    """A first step that puts a megabyte into the context, then steps that do nothing."""
    return linear(steps, id=f"heavy_{steps}", first_task="megabyte")


def fan_out(width: int) -> Object:
    """One step, many beside each other, one join."""
    branches = [f"b{n}" for n in range(width)]
    listed = [
        _step("start", "noop", list[JSON](branches)),
        *(_step(name, "noop", "join") for name in branches),
        _step("join", "noop", None),
    ]
    return {"id": f"fan_{width}", "steps": list[JSON](listed)}


def lanes(count: int, length: int) -> Object:
    """Chains beside each other, between a first step and a join."""
    listed = [_step("start", "noop", [f"s{lane}_0" for lane in range(count)])]
    for lane in range(count):
        ways = [f"s{lane}_{n}" for n in range(1, length)] + ["join"]
        listed += [_step(f"s{lane}_{n}", "noop", to) for n, to in enumerate(ways)]
    listed.append(_step("join", "noop", None))
    return {"id": f"lanes_{count}", "steps": list[JSON](listed)}


SLEEPING: Object = {
    "id": "sleeping",
    "steps": [{"stepId": "nap", "type": "DELAY", "duration": "P30D"}],
}


WAITING: Object = {
    "id": "waiting",
    "steps": [
        {
            "stepId": "wait",
            "type": "EVENT_WAIT",
            "eventPattern": "order.paid",
            "eventCondition": "event.payload.order === workflow.input.order",
        }
    ],
}


def awaited(steps: int) -> Object:
    """An event that sets it going, then steps that each take as long as its input says."""
    listed = [_step(f"s{n}", "pause", f"s{n + 1}" if n + 1 < steps else None) for n in range(steps)]
    wait: Object = {
        "stepId": "wait",
        "type": "EVENT_WAIT",
        "eventPattern": "bench.go",
        "transitions": {"default": "s0"},
    }
    return {"id": "awaited", "steps": list[JSON]([wait, *listed])}


def _step(name: str, task: str, following: JSON) -> Object:
    step: Object = {"stepId": name, "type": "TASK", "taskId": task}
    if following is not None:
        step["transitions"] = {"default": following}
    return step
