"""Children: one parent with ever more of them, beside as many instances that nobody waits for."""

from __future__ import annotations

import asyncio
import gc
import time

from bench.engine_runs import new_app, run_all
from bench.report import Report
from bench.workflows import linear
from tenuto.engine.upkeep.verification import verify
from tenuto.model.json import JSON, Object

MANY = 1_000
MORE = 4_000


def parent_of(count: int) -> Object:
    """So many steps beside each other, each of them a workflow of one no-op."""
    nodes: list[JSON] = [
        {"id": f"c{n}", "type": "subWorkflow", "config": {"workflowId": "linear_1"}}
        for n in range(count)
    ]
    return {"id": f"parent_{count}", "nodes": nodes, "edges": []}


def children(report: Report) -> None:
    """All children at once, from the parent's start to its result."""

    async def run(count: int) -> float:
        async with new_app(linear(1), parent_of(count)) as (app, _):
            gc.collect()
            began = time.perf_counter()
            instance = await app.start(f"parent_{count}", {"n": 1})
            output = await instance.result(300)
            took = time.perf_counter() - began
            assert isinstance(output, dict)
            assert len(output) == count
            assert await app.engine.store.mailbox.claim(1) == [], "every letter was taken"
            async for verdict in verify(app.engine.store, app.engine.plans):
                assert not verdict.differences, verdict
            return took

    async def alone(count: int) -> float:
        async with new_app(linear(1)) as (app, _):
            gc.collect()
            return await run_all(app, "linear_1", count)

    for count in (MANY, MORE):
        report.add(f"{count:,} children of one parent, ms", asyncio.run(run(count)) * 1000)
    report.add(f"{MANY:,} instances by themselves, ms", asyncio.run(alone(MANY)) * 1000)


def promise_children(report: Report) -> None:
    many, more = (f"{count:,} children of one parent, ms" for count in (MANY, MORE))
    report.promise(
        f"{MORE:,} children / {MANY:,}",
        report.ratio(more, many),
        at_most=1.25 * MORE / MANY,
    )
    report.promise(
        f"{MANY:,} children / as many instances by themselves",
        report.ratio(many, f"{MANY:,} instances by themselves, ms"),
        at_most=4,
    )
