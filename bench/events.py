"""What it costs to wake an instance by an event, however many wait, and how fast a burst drains."""

from __future__ import annotations

import asyncio
import gc
import os
import time

from bench.bare import replay
from bench.engine_runs import new_app, recorded
from bench.memory import resident
from bench.postgres.runs import Recording, open_app, record, replay as replay_on_postgres
from bench.postgres.server import new_database
from bench.report import Report
from bench.workflows import WAITING
from tenuto import Tenuto
from tenuto.cli.event_loop import fast_loop
from tenuto.engine.turns.draft import Draft
from tenuto.model.status import Status
from tenuto.workspace.instance import InstanceRef

FEW = 1_000
MANY = int(os.environ.get("TENUTO_BENCH_WAITING", "100000"))
"""A million with TENUTO_BENCH_WAITING=1000000: setting them up takes most of the time."""
BURST = 10_000
_SAMPLES = 300
_AT_ONCE = 2_000
_STORES = ("SQLite", "PostgreSQL")


def waking(report: Report) -> None:
    """From publish to the committed resume, one event at a time, with few and with many waiting."""

    async def on_sqlite() -> None:
        async with new_app(WAITING) as (app, _):
            await _wake_some(report, "SQLite", app)

    async def on_postgres(url: str) -> None:
        async with open_app(url, WAITING) as app:
            await _wake_some(report, "PostgreSQL", app)

    asyncio.run(on_sqlite())
    with new_database() as url:
        asyncio.run(on_postgres(url))


def promise_waking(report: Report) -> None:
    for store in _STORES:
        report.promise(
            f"{store}, waking one of {MANY:,} / one of {FEW:,}",
            report.ratio(_wake(store, MANY), _wake(store, FEW)),
            at_most=2,
        )
        report.promise(
            f"{store}, MB for {MANY:,} waiting", report.median(_memory(store)), at_most=50
        )


def burst(report: Report) -> None:
    """Many events at once, each for another instance, beside their statements by themselves."""

    async def on_sqlite() -> float:
        async with new_app(WAITING) as (app, _):
            return await _drain(app, await _at_rest(app, BURST))

    async def recorded_on_sqlite() -> list[float]:
        async with new_app(WAITING) as (app, _):
            statements, stop = recorded(app)
            waiting = await _at_rest(app, BURST)
            before = sum(sql.startswith("COMMIT") for sql, _ in statements)
            await _drain(app, waiting)
            stop()
        return await asyncio.to_thread(lambda: replay(statements)[before:])

    async def on_postgres(url: str) -> float:
        async with open_app(url, WAITING) as app:
            return await _drain(app, await _at_rest(app, BURST))

    async def recorded_on_postgres(url: str) -> tuple[Recording, int]:
        async with open_app(url, WAITING) as app:
            recording = await record(app)
            waiting = await _at_rest(app, BURST)
            before = len(recording.statements)
            await _drain(app, waiting)
            sent = len(recording.statements)
        del recording.statements[sent:]
        return recording, before

    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        report.add(_drained("SQLite"), BURST / runner.run(on_sqlite()))
    report.add(_bare("SQLite"), BURST / sum(asyncio.run(recorded_on_sqlite())))
    with new_database() as url, asyncio.Runner(loop_factory=fast_loop()) as runner:
        report.add(_drained("PostgreSQL"), BURST / runner.run(on_postgres(url)))
    with new_database() as url:
        recording, before = asyncio.run(recorded_on_postgres(url))
    with new_database() as url:
        seconds = asyncio.run(replay_on_postgres(url, recording, after=before)).seconds
    report.add(_bare("PostgreSQL"), BURST / seconds)


def promise_burst(report: Report) -> None:
    for store in _STORES:
        report.promise(
            f"{store}, {BURST:,} events at once, share of the bare-write limit",
            report.ratio(_drained(store), _bare(store)),
            at_least=0.3,
        )


async def _wake_some(report: Report, store: str, app: Tenuto) -> None:
    waiting = await _wait(app, FEW)
    await _woken(app, waiting[:50])
    report.add(_wake(store, FEW), await _woken(app, waiting[50 : 50 + _SAMPLES]))
    await _wait(app, _AT_ONCE, first=FEW)
    gc.collect()
    before = resident()
    many = await _wait(app, MANY, first=FEW + _AT_ONCE)
    gc.collect()
    report.add(_memory(store), resident() - before)
    step = len(many) // _SAMPLES
    report.add(_wake(store, MANY), await _woken(app, many[::step][:_SAMPLES]))


async def _wait(app: Tenuto, count: int, first: int = 0) -> list[tuple[int, str]]:
    """Instances that wait for an event of their own number."""
    waiting: list[tuple[int, str]] = []
    for begin in range(first, first + count, _AT_ONCE):
        numbers = range(begin, min(begin + _AT_ONCE, first + count))
        started = await asyncio.gather(*(app.start("waiting", {"order": n}) for n in numbers))
        waiting += zip(numbers, (instance.id for instance in started), strict=True)
    return waiting


async def _at_rest(app: Tenuto, count: int) -> list[tuple[int, str]]:
    """The same, once all of them have looked back at what came before."""
    waiting = await _wait(app, count)
    while await app.engine.store.waits.unlooked(1):
        await app.engine.clock.sleep(0.01)
    return waiting


async def _woken(app: Tenuto, waiting: list[tuple[int, str]]) -> float:
    """Half of the events took at most so many milliseconds, from publish to the end they caused."""
    took = []
    for number, id in waiting:
        began = time.perf_counter()
        await app.publish("order.paid", {"order": number})
        await InstanceRef(app.engine, id).result(60)
        took.append(time.perf_counter() - began)
    return sorted(took)[len(took) // 2] * 1000


async def _drain(app: Tenuto, waiting: list[tuple[int, str]]) -> float:
    """Seconds from the first event until the last end is durable; nobody reads what came of it."""
    left = {id for _, id in waiting}
    is_over = asyncio.Event()

    def see(draft: Draft) -> None:
        if draft.state.status is Status.COMPLETED:
            left.discard(draft.instance_id)
            if not left:
                is_over.set()

    stop = app.engine.listen(see)
    began = time.perf_counter()
    await asyncio.gather(*(app.publish("order.paid", {"order": n}) for n, _ in waiting))
    async with asyncio.timeout(300):
        await is_over.wait()
    took = time.perf_counter() - began
    stop()
    return took


def _wake(store: str, count: int) -> str:
    return f"{store}, waking one of {count:,} by an event, p50 ms"


def _memory(store: str) -> str:
    return f"{store}, memory for {MANY:,} waiting, MB"


def _drained(store: str) -> str:
    return f"{store}, {BURST:,} events for {BURST:,} instances: Tenuto, events/s"


def _bare(store: str) -> str:
    return f"{store}, {BURST:,} events for {BURST:,} instances: bare writes, events/s"
