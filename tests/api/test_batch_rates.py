"""A batch counts for the rate limit as what it holds, in every operation that takes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from tenuto.api.config import ServiceConfig
from tenuto.api.operation import Operation
from tenuto.api.registry import OPERATIONS
from tenuto.model.json import JSON
from tests.api.conftest import DOUBLE, Serve

BODIES: dict[str, Callable[[int], object]] = {
    "start_batch": lambda count: {"items": [{"workflowId": "double"}] * count},
    "publish_events": lambda count: [{"pattern": "told", "payload": n} for n in range(count)],
    "publish_in_test_run": lambda count: [{"pattern": "told", "payload": n} for n in range(count)],
    "report_executions": lambda count: {
        "results": [{"executionId": f"e{n}", "leaseToken": "t", "output": 1} for n in range(count)]
    },
    "register_worker": lambda count: {
        "workerId": "w",
        "tasks": [{"id": f"t{n}"} for n in range(count)],
    },
    "release_executions": lambda count: {
        "tasks": [{"executionId": f"e{n}", "leaseToken": "t"} for n in range(count)]
    },
}


def takes_a_batch(operation: Operation) -> bool:
    request = operation.request
    if request is JSON:
        return operation.size == "batch"
    if not (isinstance(request, type) and issubclass(request, msgspec.Struct)):
        return False
    return any(
        isinstance(item, type) and issubclass(item, msgspec.Struct)
        for name, kind in get_type_hints(request).items()
        # What workers have registered is shown with a task, and not taken.
        if getattr(kind, "__origin__", None) in (list, tuple) and name != "registered"
        for item in get_args(kind)
    )


BATCHES = [operation for operation in OPERATIONS if takes_a_batch(operation)]


def test_every_operation_that_takes_a_batch_is_known_here() -> None:
    assert {operation.name for operation in BATCHES} == BODIES.keys()


@pytest.mark.asyncio
@pytest.mark.parametrize("operation", BATCHES, ids=lambda each: each.name)
async def test_a_batch_counts_as_what_it_holds(operation: Operation, serve: Serve) -> None:
    config = ServiceConfig(port=0, rate=0.01, burst=10, drain_seconds=2)
    async with serve(config=config) as call:
        await call.post("/workflows", DOUBLE)
        path = operation.path.replace("{id}", "some")
        body: Any = BODIES[operation.name]
        assert (await call.post(path, body(6))).status != 429
        refused = await call.post(path, body(6))
        assert (refused.status, refused.json["code"]) == (429, "TEN-4291")
        assert int(refused.headers["retry-after"]) > 1
