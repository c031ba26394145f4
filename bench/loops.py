"""Loops over ever more items, and Python workflows of many steps."""

from __future__ import annotations

import asyncio
import gc
import time

from bench.engine_runs import new_app, noop
from bench.report import Report
from tenuto import workflow
from tenuto.definition import compile_definition
from tenuto.model.json import JSON, Object

NODES = 1_000


def over_items(items: int) -> Object:
    """Every item of the input runs through a no-op, a hundred at once."""
    loop: JSON = {
        "stepId": "each",
        "type": "LOOP",
        "source": "{{ctx.input}}",
        "mode": "parallel",
        "concurrency": 100,
        "transitions": {"loop": "work"},
    }
    work: JSON = {"stepId": "work", "type": "TASK", "taskId": "noop", "input": "{{ctx.item}}"}
    return {"id": f"loop_{items}", "steps": [loop, work]}


def loops(report: Report) -> None:
    """A parallel loop over 1,000 items, and over 10,000."""

    async def run(items: int, times: int) -> float:
        async with new_app(over_items(items)) as (app, _):
            took = []
            for _ in range(times):
                gc.collect()
                began = time.perf_counter()
                instance = await app.start(f"loop_{items}", list(range(items)))
                assert await instance.result(300) == [None] * items
                took.append(time.perf_counter() - began)
            return min(took)

    for items, times in ((1_000, 4), (10_000, 2)):
        report.add(f"loop over {items:,} items, ms", asyncio.run(run(items, times)) * 1000)


def promise_loops(report: Report) -> None:
    report.promise(
        "loop over 10,000 items / over 1,000",
        report.ratio("loop over 10,000 items, ms", "loop over 1,000 items, ms"),
        at_most=12,
    )


def tracing(report: Report) -> None:
    """A workflow function of 1,000 steps, from its call to the compiled graph."""
    began = time.perf_counter()

    @workflow
    def long_chain(order: JSON) -> JSON:
        value: JSON = noop(order)
        for _ in range(NODES - 1):
            value = noop(value)
        return value

    compile_definition(long_chain.definition())
    report.add(f"tracing and compiling {NODES:,} steps, s", time.perf_counter() - began)


def promise_tracing(report: Report) -> None:
    name = f"tracing and compiling {NODES:,} steps, s"
    report.promise(name, report.median(name), at_most=1)
