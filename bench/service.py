"""What the service costs: tasks that a worker process pulls over HTTP, beside those in process."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from bench.engine_runs import new_app, run_all, verified
from bench.http.processes import worker
from bench.report import Report
from bench.workflows import linear
from tenuto import Tenuto
from tenuto.api.asgi import build_api
from tenuto.api.config import ServiceConfig
from tenuto.api.server import bind, serving, url_of
from tenuto.cli.event_loop import fast_loop
from tenuto.engine.settings import Settings
from tenuto.tasks.registry import Registry

WARM_UP = 50


def pulled(report: Report, *, instances: int = 1_000, steps: int = 10) -> None:
    """Many short workflows at once: in process, then by one worker process over HTTP."""
    name = f"{instances:,} x {steps} no-op steps"
    total = instances * steps
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        report.add(f"{name}: in process, steps/s", total / runner.run(_here(instances, steps)))
        report.add(f"{name}: pulled, steps/s", total / runner.run(_pulled(instances, steps)))


def promise_pulled(report: Report, *, instances: int = 1_000, steps: int = 10) -> None:
    name = f"{instances:,} x {steps} no-op steps"
    ratio = report.ratio(f"{name}: pulled, steps/s", f"{name}: in process, steps/s")
    report.promise("pulled by one worker process / in process", ratio, at_least=0.25)


async def _here(instances: int, steps: int) -> float:
    async with new_app(linear(steps)) as (app, _):
        await run_all(app, f"linear_{steps}", WARM_UP)
        return await run_all(app, f"linear_{steps}", instances)


async def _pulled(instances: int, steps: int) -> float:
    async with _service() as (app, url):
        await app.deploy(linear(steps))
        with worker(url):
            await run_all(app, f"linear_{steps}", WARM_UP)
            seconds = await run_all(app, f"linear_{steps}", instances)
        await verified(app, instances + WARM_UP)
        return seconds


@contextlib.asynccontextmanager
async def _service() -> AsyncIterator[tuple[Tenuto, str]]:
    with tempfile.TemporaryDirectory(prefix="tenuto-bench-") as folder:
        app = Tenuto(
            f"sqlite:///{Path(folder) / 'bench.db'}",
            tasks=Registry(),
            settings=Settings(unknown_tasks="wait"),
        )
        config = ServiceConfig(port=0)
        listener = bind(config)
        async with app, serving(build_api(app, config), listener):
            yield app, url_of(listener)
