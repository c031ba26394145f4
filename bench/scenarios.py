"""What is measured, and which ratios are promised."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import time

from bench.bare import replay, two_commits
from bench.engine_runs import (
    Statement,
    disk_bytes,
    new_app,
    one_by_one,
    recorded,
    run_all,
    start_sleeping,
    verified,
)
from bench.memory import resident
from bench.peers import dbos_seconds_per_step
from bench.report import Report
from bench.workflows import SLEEPING, fan_out, heavy_context, linear
from tenuto import Tenuto
from tenuto.model.json import Object

WARM_UP = 50
"""So many instances run before the clock does."""


def linear_throughput(
    report: Report, *, instances: int = 1_000, steps: int = 10, dbos: int = 100
) -> None:
    """Many short workflows at once, beside the bare-write limit and DBOS, in the same round."""
    name = f"{instances:,} x {steps} no-op steps"
    seconds = asyncio.run(_timed_run(report, instances, steps))
    bare = sum(replay(asyncio.run(_recorded_run(report, instances, steps))))
    total = instances * steps
    report.add(f"{name}: Tenuto, steps/s", total / seconds)
    report.add(f"{name}: bare writes, steps/s", total / bare)
    if dbos:
        report.add(f"{name}: DBOS, steps/s", 1 / dbos_seconds_per_step(dbos, steps))


def promise_linear(report: Report, *, instances: int = 1_000, steps: int = 10) -> None:
    name = f"{instances:,} x {steps} no-op steps"
    tenuto = f"{name}: Tenuto, steps/s"
    report.promise(
        "share of the bare-write limit",
        report.ratio(tenuto, f"{name}: bare writes, steps/s"),
        at_least=0.5,
    )
    dbos = f"{name}: DBOS, steps/s"
    if dbos in report.figures:
        report.promise("times DBOS", report.ratio(tenuto, dbos), at_least=50)
    rows = float(str(report.facts["log rows per no-op step"]))
    report.promise("log rows per no-op step", rows, at_most=2)


async def _timed_run(report: Report, instances: int, steps: int) -> float:
    async with new_app(linear(steps)) as (app, path):
        await run_all(app, f"linear_{steps}", WARM_UP)
        before = disk_bytes(path)
        seconds = await run_all(app, f"linear_{steps}", instances)
        size = disk_bytes(path) - before
        settings = await app.engine.store.settings()  # type: ignore[attr-defined]
        verdicts = await verified(app, instances + WARM_UP)
    entries = sum(verdict.entries for verdict in verdicts)
    # Beside its steps an instance has INPUT_SET and two STATUS_CHANGED.
    of_steps = entries - 3 * len(verdicts)
    report.facts["SQLite settings"] = settings
    report.facts["log rows per no-op step"] = of_steps / (len(verdicts) * steps)
    report.facts["bytes on disk per step"] = round(size / (instances * steps))
    report.facts["verified, without a difference"] = len(verdicts)
    return seconds


async def _recorded_run(report: Report, instances: int, steps: int) -> list[Statement]:
    """The same once more, for the statements: to keep them takes time and memory."""
    async with new_app(linear(steps)) as (app, _):
        statements, stop = recorded(app)
        await run_all(app, f"linear_{steps}", instances)
        stop()
    report.facts["transactions"] = sum(sql.startswith("BEGIN") for sql, _ in statements)
    return statements


def latency(report: Report, *, rounds: int = 200) -> None:
    """One step, alone: start to result, beside its two transactions by themselves."""

    async def run() -> tuple[list[float], list[Statement]]:
        async with new_app(linear(1)) as (app, _):
            statements, stop = recorded(app)
            took = await one_by_one(app, rounds)
            stop()
            return took, statements

    ours, statements = asyncio.run(run())
    replayed = replay(statements)
    bare = [first + second for first, second in zip(replayed[::2], replayed[1::2], strict=False)]
    smallest = two_commits(rounds)
    for name, values in (
        ("one step alone, p50 ms", ours),
        ("its two transactions by themselves, p50 ms", bare),
        ("two commits of one small row each, p50 ms", smallest),
    ):
        report.add(name, sorted(values)[len(values) // 2] * 1000)


def promise_latency(report: Report) -> None:
    report.promise(
        "one step alone / its two transactions by themselves",
        report.ratio("one step alone, p50 ms", "its two transactions by themselves, p50 ms"),
        at_most=2,
    )


def widths(report: Report) -> None:
    """Fan-out and join, ever wider."""

    async def run(width: int, times: int) -> float:
        async with new_app(fan_out(width)) as (app, _):
            await run_all(app, f"fan_{width}", 1)
            took = []
            for _ in range(times):
                gc.collect()
                took.append(await run_all(app, f"fan_{width}", 1))
            return min(took)

    for width, times in ((25, 20), (1_000, 5), (10_000, 2)):
        report.add(f"fan-out of {width:,}, ms", asyncio.run(run(width, times)) * 1000)


def promise_widths(report: Report) -> None:
    report.promise(
        "1,000 wide / 25 wide",
        report.ratio("fan-out of 1,000, ms", "fan-out of 25, ms"),
        at_most=40,
    )
    report.promise(
        "10,000 wide / 1,000 wide",
        report.ratio("fan-out of 10,000, ms", "fan-out of 1,000, ms"),
        at_most=12,
    )


def lengths(report: Report) -> None:
    """One long chain, per step, beside a short one; and one that carries a megabyte along."""

    async def run(document: Object, steps: int, times: int) -> tuple[float, int]:
        async with new_app(document) as (app, path):
            name = str(document["id"])
            took = [await run_all(app, name, 1) for _ in range(times)]
            return min(took) / steps, disk_bytes(path)

    short, _ = asyncio.run(run(linear(10), 10, 50))
    long, _ = asyncio.run(run(linear(5_000), 5_000, 1))
    heavy, size = asyncio.run(run(heavy_context(200), 200, 1))
    report.add("step of a chain of 10, ms", short * 1000)
    report.add("step of a chain of 5,000, ms", long * 1000)
    report.add("step of a chain of 200 with 1 MB in its context, ms", heavy * 1000)
    report.facts["bytes written with 1 MB in the context"] = size


def promise_lengths(report: Report) -> None:
    report.promise(
        "step of 5,000 / step of 10",
        report.ratio("step of a chain of 5,000, ms", "step of a chain of 10, ms"),
        at_most=1.3,
    )
    report.promise(
        "megabytes on disk after 200 steps with 1 MB in the context",
        float(str(report.facts["bytes written with 1 MB in the context"])) / 1e6,
        at_most=10,
    )


def sleeping(report: Report, *, count: int = 100_000) -> None:
    """Instances in a long delay: what they cost in memory, at start-up, and when idle."""

    async def run() -> None:
        async with new_app(SLEEPING) as (app, path):
            await start_sleeping(app, 2_000)
            gc.collect()
            before = resident()
            await start_sleeping(app, count)
            gc.collect()
            report.add(f"memory for {count:,} sleeping, MB", resident() - before)
            statements = app.engine.store.statements  # type: ignore[attr-defined]
            await asyncio.sleep(20)
            idle = app.engine.store.statements - statements  # type: ignore[attr-defined]
            report.add("statements a minute when idle", idle * 3)
            await app.close()
            began = time.perf_counter()
            second = Tenuto(f"sqlite:///{path}")
            await second.open()
            report.add(f"start-up with {count:,} sleeping, s", time.perf_counter() - began)
            await second.close()

    asyncio.run(run())


def promise_sleeping(report: Report, *, count: int = 100_000) -> None:
    memory = f"memory for {count:,} sleeping, MB"
    report.promise("MB for 100,000 sleeping", report.median(memory), at_most=50)
    report.promise(
        "start-up seconds", report.median(f"start-up with {count:,} sleeping, s"), at_most=3
    )
    report.promise(
        "idle statements a minute", report.median("statements a minute when idle"), at_most=60
    )


def importing(report: Report) -> None:
    """CPU that `from tenuto import Tenuto, task` takes in a new process."""
    code = "import time; from tenuto import Tenuto, task; print(time.process_time())"
    bare = "import time; print(time.process_time())"

    # As an installed package has it: compiled once, not at every import.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}

    def cpu(source: str) -> float:
        done = subprocess.run(
            [sys.executable, "-c", source],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        return float(done.stdout)

    cpu(code)
    report.add("import tenuto, ms of CPU", (cpu(code) - cpu(bare)) * 1000)


def promise_importing(report: Report) -> None:
    report.promise(
        "import tenuto, ms of CPU", report.median("import tenuto, ms of CPU"), at_most=200
    )
