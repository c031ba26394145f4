"""What limits cost: none set, some that never bind, one that does; and what a long queue costs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from bench.engine_runs import new_app, run_all
from bench.postgres.runs import open_app
from bench.postgres.server import new_database
from bench.report import Report
from bench.workflows import linear
from tenuto import Tenuto
from tenuto.cli.event_loop import fast_loop
from tenuto.engine.turns.draft import Draft
from tenuto.model.json import Object
from tenuto.model.status import Status

INSTANCES = 1_000
STEPS = 10
WARM_UP = 100
TIGHT = 200
FEW, MANY = 1_000, 100_000
GRANTS = 300
_AT_ONCE = 2_000
_RUNS = 3
"""How often each throughput is measured in a round, by turns; the best counts."""
_STORES = ("SQLite", "PostgreSQL")
_KINDS: dict[str, Object] = {
    "no": {},
    "large": {
        "globalMaxConcurrent": 1_000_000,
        "tenantLimits": {"*": 1_000_000},
        "workflowTypeLimits": {"*": 1_000_000},
        "userLimits": {"*": 1_000_000},
    },
    "tight": {"globalMaxConcurrent": TIGHT},
    "no (so many at once)": {},
}
"""None, some of every kind that are never reached, one that most starts find full, and none while
the client keeps as many under way: fewer at once have smaller turns, with any limit or none."""

Opened = Callable[[Object], AbstractAsyncContextManager[Tenuto]]


def limits(report: Report) -> None:
    """Throughput on both stores, and what a grant costs while few and while many wait."""
    _throughputs(report, "SQLite", _on_sqlite)
    with new_database() as url:
        _throughputs(report, "PostgreSQL", lambda document: open_app(url, document))
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(_queue(report))
    with new_database() as url, asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(_queue_on_postgres(report, url))


def promise_limits(report: Report) -> None:
    for store in _STORES:
        few = "no (so many at once)"
        for kind, other in (("large", "no"), ("tight", few)):
            report.promise(
                f"{store}, throughput with {kind} limits / with {other}",
                report.ratio(_throughput(store, kind), _throughput(store, other)),
                at_least=0.8,
            )
    for store in _STORES:
        report.promise(
            f"{store}, a grant with {MANY:,} waiting / with {FEW:,}",
            report.ratio(_grant(MANY, store), _grant(FEW, store)),
            at_most=2,
        )
    report.promise(
        "a start while all are put into another order, ms", report.median(_REORDERED), at_most=100
    )


def _throughputs(report: Report, store: str, opened: Opened) -> None:
    async def run(kind: str) -> float:
        document = linear(STEPS)
        if kind == "large":
            document["options"] = {"concurrency": {"limit": 1_000_000}}
        async with opened(document) as app:
            await app.limits.set(_KINDS[kind])
            await run_all(app, f"linear_{STEPS}", WARM_UP)
            at_once = TIGHT if kind.endswith(")") else None
            return await run_all(app, f"linear_{STEPS}", INSTANCES, at_once)

    took: dict[str, list[float]] = {kind: [] for kind in _KINDS}
    for _ in range(_RUNS):
        for kind, seconds in took.items():
            seconds.append(asyncio.run(run(kind)))
    for kind, seconds in took.items():
        report.add(_throughput(store, kind), INSTANCES * STEPS / min(seconds))


@asynccontextmanager
async def _on_sqlite(document: Object) -> AsyncIterator[Tenuto]:
    async with new_app(document) as (app, _):
        yield app


async def _queue(report: Report) -> None:
    """Instances that run one after the other, while few and while many wait behind them."""
    async with new_app(linear(1)) as (app, _):
        await _grants_while_waiting(app, report, "SQLite")
        order: Object = {"order": "priority", "aging": "PT1S"}
        await app.limits.set({"globalMaxConcurrent": 0, "queue": order})
        took = []
        while (await app.engine.store.slots.mark()).has_work:
            began = time.perf_counter()
            await app.start("linear_1", {})
            took.append(time.perf_counter() - began)
        report.add(_REORDERED, max(took) * 1000)


async def _queue_on_postgres(report: Report, url: str) -> None:
    async with open_app(url, linear(1)) as app:
        await _grants_while_waiting(app, report, "PostgreSQL")


async def _grants_while_waiting(app: Tenuto, report: Report, store: str) -> None:
    await app.limits.set({"globalMaxConcurrent": 0})
    await _start(app, FEW + GRANTS)
    report.add(_grant(FEW, store), await _grants(app))
    await _start(app, MANY)
    report.add(_grant(MANY, store), await _grants(app))


async def _start(app: Tenuto, count: int) -> None:
    for first in range(0, count, _AT_ONCE):
        some = min(_AT_ONCE, count - first)
        await asyncio.gather(*(app.start("linear_1", {}) for _ in range(some)))
    while (await app.engine.store.slots.mark()).has_work:
        await app.engine.clock.sleep(0.01)


async def _grants(app: Tenuto) -> float:
    """Milliseconds from one grant to the next, of instances of one step that run one by one."""
    left = GRANTS
    is_over = asyncio.Event()

    def see(draft: Draft) -> None:
        nonlocal left
        if draft.state.status is Status.COMPLETED:
            left -= 1
            if not left:
                is_over.set()

    stop = app.engine.listen(see)
    began = time.perf_counter()
    await app.limits.set({"globalMaxConcurrent": 1})
    await is_over.wait()
    took = time.perf_counter() - began
    stop()
    await app.limits.set({"globalMaxConcurrent": 0})
    return took / GRANTS * 1000


def _throughput(store: str, kind: str) -> str:
    return f"{store}, {INSTANCES:,} x {STEPS} no-op steps with {kind} limits, steps/s"


def _grant(waiting: int, store: str) -> str:
    return f"{store}, from one grant to the next with {waiting:,} waiting, ms"


_REORDERED = f"SQLite, the slowest start while {MANY:,} are put into another order, ms"
