"""Restate beside Tenuto: the same workflows, as many under way, both durable."""

from __future__ import annotations

import asyncio
import time

from bench.engine_runs import run_all, verified
from bench.http.load import API, calling, timed
from bench.http.processes import served, worker
from bench.postgres.runs import open_app
from bench.postgres.server import new_database
from bench.report import Report
from bench.restate.running import durability, running
from bench.workflows import linear
from tenuto.cli.event_loop import fast_loop
from tenuto.store.postgres import PostgresStore

INSTANCES = 1_000
STEPS = 10
_NAME = f"beside Restate, {INSTANCES:,} x {STEPS} no-op steps"
_RESTATE = f"{_NAME}: Restate, steps/s"
_PULLED = f"{_NAME}: pulled by one worker process, a request each, steps/s"
_BATCHED = f"{_NAME}: pulled by one worker process, started as a batch, steps/s"
_IN_PROCESS = f"{_NAME}: in process, steps/s"


def beside(report: Report) -> None:
    """In process, pulled by a worker process, and on Restate, in the same round."""
    total = INSTANCES * STEPS
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        with new_database() as store:
            report.add(_IN_PROCESS, total / runner.run(_in_process(report, store)))
        with (
            new_database() as store,
            served(store, with_tasks=False) as service,
            worker(service.url),
        ):
            pulled, batched = runner.run(_pulled(service.url))
        report.add(_PULLED, total / pulled)
        report.add(_BATCHED, total / batched)
        with running() as url:
            report.add(_RESTATE, total / runner.run(_on_restate(url)))
    report.facts["durability, Restate"] = durability()


def promise_beside(report: Report) -> None:
    report.facts["times Restate, pulled, a request each"] = round(
        report.ratio(_PULLED, _RESTATE), 2
    )
    report.promise("times Restate, pulled", report.ratio(_BATCHED, _RESTATE), at_least=1.5)
    report.promise("times Restate, in process", report.ratio(_IN_PROCESS, _RESTATE), at_least=5)
    report.promise(
        "PostgreSQL, pulled by one worker process / in process",
        report.ratio(_BATCHED, _IN_PROCESS),
        at_least=0.25,
    )


async def _in_process(report: Report, url: str) -> float:
    async with open_app(url, linear(STEPS)) as app:
        await run_all(app, f"linear_{STEPS}", INSTANCES)
        seconds = await run_all(app, f"linear_{STEPS}", INSTANCES)
        store = app.engine.store
        assert isinstance(store, PostgresStore)
        report.facts["durability, PostgreSQL"] = await store.settings()
        await verified(app, 2 * INSTANCES)
    return seconds


async def _pulled(url: str) -> tuple[float, float]:
    """Each workflow is one request, answered at its end, as on Restate; then all are one."""
    workflow = f"linear_{STEPS}"
    async with calling(url) as caller:
        await caller.deploy(linear(STEPS))
        await timed(lambda n: caller.run(workflow, n), INSTANCES, INSTANCES)
        each = await timed(lambda n: caller.run(workflow, n), INSTANCES, INSTANCES)
        began = time.perf_counter()
        await caller.start_many(workflow, 0, INSTANCES)
        while unfinished := await caller.some("CREATED,RUNNING"):
            await caller.get(f"{API}/instances/{unfinished[0]}?wait=60")
        return each, time.perf_counter() - began


async def _on_restate(url: str) -> float:
    async with calling(url) as caller:
        await timed(lambda n: caller.send(f"/linear/warm-{n}/run", n), INSTANCES, INSTANCES)
        return await timed(lambda n: caller.send(f"/linear/{n}/run", n), INSTANCES, INSTANCES)
