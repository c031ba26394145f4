"""The shapes that are measured; every task does nothing."""

from __future__ import annotations

from tenuto.model.json import Object


def linear(steps: int) -> Object:
    """One step after the other."""
    return {
        "id": f"linear_{steps}",
        "steps": [
            {
                "stepId": f"s{n}",
                "type": "TASK",
                "taskId": "noop",
                **({"transitions": {"default": f"s{n + 1}"}} if n + 1 < steps else {}),
            }
            for n in range(steps)
        ],
    }


def fan_out(width: int) -> Object:
    """One step, many beside each other, one join."""
    branches = [f"b{n}" for n in range(width)]
    return {
        "id": f"fan_{width}",
        "steps": [
            {
                "stepId": "start",
                "type": "TASK",
                "taskId": "noop",
                "transitions": {"default": branches},
            },
            *(
                {
                    "stepId": name,
                    "type": "TASK",
                    "taskId": "noop",
                    "transitions": {"default": "join"},
                }
                for name in branches
            ),
            {"stepId": "join", "type": "TASK", "taskId": "noop"},
        ],
    }


def heavy_context(steps: int) -> Object:
    """A first step that puts a megabyte into the context, then steps that do nothing."""
    document = linear(steps)
    document["id"] = f"heavy_{steps}"
    document["steps"][0] |= {"taskId": "megabyte", "outputVariable": "heavy"}  # type: ignore[index,call-overload,operator]
    return document


SLEEPING: Object = {
    "id": "sleeping",
    "steps": [{"stepId": "nap", "type": "DELAY", "duration": "P30D"}],
}
