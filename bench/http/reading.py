"""Reads over HTTP: how long they take while nothing and while much is being started."""

from __future__ import annotations

import asyncio
import time

from bench.http.load import API, Caller, calling, timed
from bench.http.pacing import paced
from bench.http.processes import served
from bench.http.starting import CONNECTIONS, single_seconds
from bench.postgres.server import new_database
from bench.report import Report
from bench.workflows import SLEEPING, linear
from tenuto.cli.event_loop import fast_loop

STEPS = 10
_TO_READ = 500
_PEAK = 3_000
_READS = 500
_QUIET = "with nothing else"
_LOADED = "while half of the peak load runs"
_PEAK_NAME = "reads, peak of single starts, starts/s"
_MEANWHILE = "reads, starts meanwhile, starts/s"


def reads(report: Report) -> None:
    """An instance, a list and a history, one after the other, by one reader."""
    with (
        asyncio.Runner(loop_factory=fast_loop()) as runner,
        new_database() as store,
        served(store) as service,
    ):
        peak, ids = runner.run(_prepared(service.url))
        report.add(_PEAK_NAME, peak)
        _tell(report, _QUIET, runner.run(_read(service.url, ids)))
        with paced(service.url, peak / 2) as load:
            took = runner.run(_read(service.url, ids))
            report.add(_MEANWHILE, load.stopped())
        _tell(report, _LOADED, took)


def promise_reads(report: Report) -> None:
    """None was made; that the load was there is told."""
    report.facts["reads, load meanwhile / peak"] = round(report.ratio(_MEANWHILE, _PEAK_NAME), 2)


async def _prepared(url: str) -> tuple[float, list[str]]:
    """Starts a second at the peak, and instances that have a history."""
    async with calling(url) as caller:
        await caller.deploy(linear(STEPS))
        await caller.deploy(SLEEPING)
        await timed(lambda n: caller.run(f"linear_{STEPS}", n), _TO_READ, CONNECTIONS)
        ids = await caller.some("COMPLETED", _TO_READ)
        await single_seconds(caller, CONNECTIONS)
        return _PEAK / await single_seconds(caller, _PEAK), ids


async def _read(url: str, ids: list[str]) -> dict[str, list[float]]:
    """Seconds of each read, by what was read."""
    took: dict[str, list[float]] = {"read of one": [], "list of 50": [], "history": []}
    async with calling(url) as caller:
        await _one_each(caller, ids[0])
        for number in range(_READS):
            seconds = await _one_each(caller, ids[number % len(ids)])
            for values, value in zip(took.values(), seconds, strict=True):
                values.append(value)
    return took


async def _one_each(caller: Caller, id: str) -> list[float]:
    one = f"{API}/instances/{id}"
    paths = (one, f"{API}/instances?limit=50", f"{one}/history")
    seconds = []
    for path in paths:
        began = time.perf_counter()
        await caller.get(path)
        seconds.append(time.perf_counter() - began)
    return seconds


def _tell(report: Report, when: str, took: dict[str, list[float]]) -> None:
    for what, values in took.items():
        ordered = sorted(values)
        for share in (50, 99):
            value = ordered[len(ordered) * share // 100]
            report.add(f"{what} {when}, p{share} ms", value * 1000)
