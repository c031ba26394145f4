"""Starts over HTTP: one by one on several connections, and in batches."""

from __future__ import annotations

import asyncio
import os

from bench.engine_runs import start_sleeping
from bench.http.load import Caller, calling, timed
from bench.http.processes import Served, served
from bench.postgres.cpu import busy
from bench.postgres.runs import open_app
from bench.postgres.server import new_database
from bench.report import Report
from bench.workflows import SLEEPING
from tenuto.cli.event_loop import fast_loop

CONNECTIONS = 50
_SINGLE = 5_000
_BATCH = 1_000
_BATCHES = 20
_WARM_UP = 500
_IN_PROCESS = "PostgreSQL, starts in process, starts/s"
_ONE_BY_ONE = f"HTTP, single starts on {CONNECTIONS} connections, starts/s"
_BATCHED = f"HTTP, batches of {_BATCH:,} on 2 connections, starts/s"


def starting(report: Report) -> None:
    """Instances that rest once they are there, so that starting is all that is measured."""
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        with new_database() as store:
            seconds = runner.run(_here(store))
        report.add(_IN_PROCESS, _BATCH * _BATCHES / seconds)
        with new_database() as store, served(store) as service:
            single, batched = runner.run(_there(report, service))
        report.add(_ONE_BY_ONE, _SINGLE / single)
        report.add(_BATCHED, _BATCH * _BATCHES / batched)


def promise_starting(report: Report) -> None:
    """None was made; what a batch costs is told beside the same starts in process."""
    report.facts["starts in batches over HTTP / in process"] = round(
        report.ratio(_BATCHED, _IN_PROCESS), 2
    )


async def single_seconds(caller: Caller, count: int, connections: int = CONNECTIONS) -> float:
    """Seconds for so many starts, each a request; the next when the one before is answered."""
    return await timed(lambda n: caller.start("sleeping", n), count, connections)


async def _here(store: str) -> float:
    async with open_app(store, SLEEPING) as app:
        await start_sleeping(app, _WARM_UP)
        loop = asyncio.get_running_loop()
        began = loop.time()
        await start_sleeping(app, _BATCH * _BATCHES)
        return loop.time() - began


async def _there(report: Report, service: Served) -> tuple[float, float]:
    pids = {"service": service.pid, "client": os.getpid()}
    async with calling(service.url) as caller:
        await caller.deploy(SLEEPING)
        await single_seconds(caller, _WARM_UP)
        with busy(pids) as shares:
            single = await single_seconds(caller, _SINGLE)
        report.facts["HTTP, single starts, cores busy"] = shares
        with busy(pids) as shares:
            batched = await timed(lambda n: _whole(caller, n), _BATCHES, 2)
        report.facts["HTTP, batches, cores busy"] = shares
    return single, batched


async def _whole(caller: Caller, number: int) -> None:
    ids = await caller.start_many("sleeping", number * _BATCH, _BATCH)
    assert len(set(ids)) == _BATCH, "each is there"
