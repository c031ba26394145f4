"""What firing schedules costs, however many there are, and how late ticks are started."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice

import msgspec

from bench.engine_runs import new_app
from bench.postgres.runs import open_app
from bench.postgres.server import new_database
from bench.report import Report
from tenuto import Tenuto
from tenuto.engine.turns.draft import Draft
from tenuto.model.durations import iso
from tenuto.model.json import Object
from tenuto.store.cold.port import Ask, Script
from tenuto.store.cold.rows import columns_of
from tenuto.store.parts.schedules import ScheduleRow

FEW = 1_000
MANY = int(os.environ.get("TENUTO_BENCH_SCHEDULES", "100000"))
DUE = 200
"""How many are due in a pass that is measured."""
BURST = 10_000
_PASSES = 7
_IDLE_SECONDS = 10
_EVERY_SECOND = 50
_STORES = ("SQLite", "PostgreSQL")
_PAGE = 1_000
_SOON = timedelta(seconds=3)

BRIEF: Object = {"id": "brief", "nodes": [{"id": "end", "type": "end"}], "edges": []}


def schedules(report: Report) -> None:
    """A pass with few and with many schedules, a burst at one moment, and ticks of an idle one."""

    async def measured(store: str, app: Tenuto) -> None:
        await _lateness(report, store, app)
        await _fill(app, _far(app, "few", FEW))
        await _passes(report, store, app, FEW)
        await _fill(app, _far(app, "many", MANY - FEW))
        await _passes(report, store, app, MANY)
        await _burst(report, store, app)

    async def on_sqlite() -> None:
        async with new_app(BRIEF) as (app, _):
            await measured("SQLite", app)

    async def on_postgres(url: str) -> None:
        async with open_app(url, BRIEF) as app:
            await measured("PostgreSQL", app)

    asyncio.run(on_sqlite())
    with new_database() as url:
        asyncio.run(on_postgres(url))


def promise_schedules(report: Report) -> None:
    """The cost of a pass follows from what is due, and a burst is started within seconds."""
    for store in _STORES:
        report.promise(
            f"{store}, a pass over {DUE} due of {MANY:,} / of {FEW:,} schedules",
            report.ratio(_pass(store, MANY), _pass(store, FEW)),
            at_most=2,
        )
        report.promise(
            f"{store}, seconds until {BURST:,} due at once are started",
            report.median(_of_burst(store)),
            at_most=5,
        )
        report.promise(
            f"{store}, lateness p99 when idle, ms", report.median(_late(store)), at_most=250
        )


def _pass(store: str, number: int) -> str:
    return f"{store}, firing {DUE} of {number:,} schedules, ms"


def _of_burst(store: str) -> str:
    return f"{store}, {BURST:,} schedules due at once, s until all have started"


def _late(store: str) -> str:
    return f"{store}, lateness of ticks p99, ms"


async def _lateness(report: Report, store: str, app: Tenuto) -> None:
    """Some schedules that fire every second, and nothing else."""
    ids = [f"second-{number}" for number in range(_EVERY_SECOND)]
    for id in ids:
        document: Object = {
            "id": id,
            "cron": "* * * * * *",
            "overlap": "allow",
            "target": {"workflowId": "brief"},
        }
        await app.engine.schedules.save("default", document, by=None)
    await asyncio.sleep(_IDLE_SECONDS)
    for id in ids:
        await app.engine.schedules.remove("default", id)
    lateness = app.engine.schedules.meter.lateness
    assert sum(lateness.counts) >= _EVERY_SECOND * (_IDLE_SECONDS - 3), "hardly any were fired"
    report.add(_late(store), lateness.quantile(0.99) * 1000)


async def _passes(report: Report, store: str, app: Tenuto, number: int) -> None:
    """Passes that find some due, each time others."""
    took: list[float] = []
    for each in range(_PASSES):
        now = app.engine.clock.now()
        rows = [_row(f"due-{number}-{each}-{index}", now) for index in range(DUE)]
        fired = app.engine.schedules.meter.ticks["started"]
        await _fill(app, rows)
        began = time.perf_counter()
        app.engine.schedules.hint()
        while app.engine.schedules.meter.ticks["started"] < fired + DUE:  # noqa: ASYNC110
            await asyncio.sleep(0)
        took.append(time.perf_counter() - began)
        await _at_rest(app)
    report.add(_pass(store, number), sorted(took)[len(took) // 2] * 1000)


async def _burst(report: Report, store: str, app: Tenuto) -> None:
    """Many that are due at the same moment, until the last of their instances has begun."""
    begun: Counter[str] = Counter()
    done = asyncio.Event()

    def heard(draft: Draft) -> None:
        if draft.state.schedule is not None and not draft.before.version:
            begun[f"{draft.state.schedule.id}"] += 1
            if len(begun) == BURST:
                done.set()

    due = (app.engine.clock.now() + 10 * _SOON).replace(microsecond=0)
    await _fill(app, (_row(f"burst-{number}", due) for number in range(BURST)))
    stop = app.engine.listen(heard)
    app.engine.schedules.hint()
    await asyncio.wait_for(done.wait(), 120)
    took = (app.engine.clock.now() - due).total_seconds()
    await _at_rest(app)
    stop()
    assert set(begun.values()) == {1}, "some were started twice"
    report.add(_of_burst(store), took)


async def _at_rest(app: Tenuto) -> None:
    """Nothing is started any more."""
    await app.engine.turns.settle()
    await asyncio.sleep(0.2)


def _far(app: Tenuto, name: str, number: int) -> Iterable[ScheduleRow]:
    """Schedules that have nothing to do for a year."""
    due = (app.engine.clock.now() + timedelta(days=365)).replace(microsecond=0)
    return (_row(f"{name}-{index}", due) for index in range(number))


def _row(id: str, at: datetime) -> ScheduleRow:
    """A schedule of one moment, as it is stored."""
    document: Object = {
        "id": id,
        "executeAt": iso(at),
        "target": {"workflowId": "brief"},
    }
    return ScheduleRow(
        tenant="default",
        id=id,
        content=msgspec.json.encode(document),
        revision=1,
        version=1,
        status="active",
        next_at=at,
        next_tick=at,
        handled=at - timedelta(milliseconds=1),
        workflow_id="brief",
        calendar_id=None,
        created_at=at,
        changed_at=at,
    )


async def _fill(app: Tenuto, rows: Iterable[ScheduleRow]) -> None:
    """Store many schedules with few transactions; the statements are those of a save."""
    port, left = app.engine.store.schedules._port, iter(rows)
    while page := list(islice(left, _PAGE)):

        def script(page: list[ScheduleRow] = page) -> Script[None]:
            for row in page:
                yield Ask("insert_schedule", columns_of(row))

        await port.transaction(script)
