"""What one process does on PostgreSQL, and which ratios are promised."""

from __future__ import annotations

import asyncio
import gc
import time

from bench.engine_runs import one_by_one, run_all, start_sleeping, verified
from bench.peers import dbos_seconds_per_step
from bench.postgres.cpu import busy
from bench.postgres.runs import Recording, open_app, record, replay, two_commits
from bench.postgres.server import new_database
from bench.report import Report
from bench.scenarios import WARM_UP
from bench.workflows import SLEEPING, linear
from tenuto.store.postgres import PostgresStore

INSTANCES = 1_000
STEPS = 10
_LINEAR = f"PostgreSQL, {INSTANCES:,} x {STEPS} no-op steps"
_IDLE_SECONDS = 30


def linear_throughput(report: Report, *, dbos: int = 100) -> None:
    """Many short workflows at once, beside the bare-write limit and DBOS, on one server."""
    total = INSTANCES * STEPS
    with new_database() as url:
        seconds = asyncio.run(_timed_run(report, url))
    with new_database() as url:
        recording = asyncio.run(_recorded_run(report, url))
    with new_database() as url:
        bare = asyncio.run(replay(url, recording)).seconds
    report.add(f"{_LINEAR}: Tenuto, steps/s", total / seconds)
    report.add(f"{_LINEAR}: bare writes, steps/s", total / bare)
    with new_database() as url:
        report.add(f"{_LINEAR}: DBOS, steps/s", 1 / dbos_seconds_per_step(dbos, STEPS, url))


async def _timed_run(report: Report, url: str) -> float:
    async with open_app(url, linear(STEPS)) as app:
        await run_all(app, f"linear_{STEPS}", WARM_UP)
        gc.collect()
        with busy({}) as shares:
            cpu = time.process_time()
            seconds = await run_all(app, f"linear_{STEPS}", INSTANCES)
            cpu = time.process_time() - cpu
        store = app.engine.store
        assert isinstance(store, PostgresStore)
        report.facts["PostgreSQL settings"] = await store.settings()
        await verified(app, INSTANCES + WARM_UP)
    report.facts["PostgreSQL, cores busy"] = {"engine": round(cpu / seconds, 2), **shares}
    return seconds


async def _recorded_run(report: Report, url: str) -> Recording:
    """The same once more, for the statements: to keep them takes time and memory."""
    async with open_app(url, linear(STEPS)) as app:
        recording = await record(app)
        await run_all(app, f"linear_{STEPS}", INSTANCES)
        statements = len(recording.statements)
    report.facts["PostgreSQL, transactions"] = statements
    del recording.statements[statements:]
    return recording


def promise_linear(report: Report) -> None:
    tenuto = f"{_LINEAR}: Tenuto, steps/s"
    report.promise(
        "PostgreSQL, share of the bare-write limit",
        report.ratio(tenuto, f"{_LINEAR}: bare writes, steps/s"),
        at_least=0.4,
    )
    report.promise(
        "PostgreSQL, times DBOS",
        report.ratio(tenuto, f"{_LINEAR}: DBOS, steps/s"),
        at_least=30,
    )


def latency(report: Report, *, rounds: int = 200) -> None:
    """One step, alone: start to result, beside its two transactions by themselves."""

    async def run(url: str) -> tuple[list[float], Recording]:
        async with open_app(url, linear(1)) as app:
            recording = await record(app)
            return await one_by_one(app, rounds), recording

    with new_database() as url:
        ours, recording = asyncio.run(run(url))
    with new_database() as url:
        replayed = asyncio.run(replay(url, recording, one_by_one=True)).each
    bare = [first + second for first, second in zip(replayed[::2], replayed[1::2], strict=False)]
    with new_database() as url:
        smallest = asyncio.run(two_commits(url, rounds))
    for name, values in (
        ("PostgreSQL, one step alone, p50 ms", ours),
        ("PostgreSQL, its two transactions by themselves, p50 ms", bare),
        ("PostgreSQL, two commits of one small row each, p50 ms", smallest),
    ):
        report.add(name, sorted(values)[len(values) // 2] * 1000)


def promise_latency(report: Report) -> None:
    for under in ("its two transactions by themselves", "two commits of one small row each"):
        report.promise(
            f"PostgreSQL, one step alone / {under}",
            report.ratio("PostgreSQL, one step alone, p50 ms", f"PostgreSQL, {under}, p50 ms"),
            at_most=2.5,
        )


def idle(report: Report, *, count: int = 100_000) -> None:
    """A process beside many instances in a long delay: what it asks for when nothing happens."""

    async def run(url: str) -> None:
        async with open_app(url, SLEEPING) as app:
            await start_sleeping(app, count)
        async with open_app(url) as app:
            store = app.engine.store
            assert isinstance(store, PostgresStore)
            statements = store.statements
            with busy({}) as shares:
                cpu = time.process_time()
                await asyncio.sleep(_IDLE_SECONDS)
                cpu = time.process_time() - cpu
            per_minute = (store.statements - statements) * 60 / _IDLE_SECONDS
            report.add("PostgreSQL, statements a minute when idle", per_minute)
            report.add("PostgreSQL, ms of CPU a minute when idle", cpu * 60_000 / _IDLE_SECONDS)
            report.facts["PostgreSQL, cores busy when idle"] = shares

    with new_database() as url:
        asyncio.run(run(url))


def promise_idle(report: Report) -> None:
    report.promise(
        "PostgreSQL, statements a minute when idle",
        report.median("PostgreSQL, statements a minute when idle"),
        at_most=120,
    )
