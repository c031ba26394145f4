"""What http steps cost, and what a thousand of them that wait for a slow host cost others."""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.engine_runs import one_by_one, run_all
from bench.memory import resident
from bench.report import Report
from bench.workflows import linear
from tenuto import Settings, Tenuto
from tenuto.model.host_limits import HostLimits
from tenuto.model.json import Object

WAITING = 1_000
ROUNDS = 300
SETTINGS = Settings(
    private_networks={"*": ("127.0.0.0/8",)},
    host_limits={"*": HostLimits(concurrency=WAITING)},
)

CALL = "an http step beyond a no-op step, ms"
RATE = "http steps a second"
ALONE = "an instance of one no-op step, alone, ms"
BESIDE = f"an instance of one no-op step, beside {WAITING:,} waiting http steps, ms"
THROUGHPUT = "no-op steps a second, alone"
THROUGHPUT_BESIDE = f"no-op steps a second, beside {WAITING:,} waiting http steps"
THREADS = f"threads more for {WAITING:,} waiting http steps"
MEMORY = "kB for each waiting http step"


def http_nodes(report: Report) -> None:
    """Steps one by one and at once; then others beside steps that wait for a slow host."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8_192)), hard))
    command = [sys.executable, "-m", "bench.slow_site"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as site:
        try:
            assert site.stdout is not None
            asyncio.run(_measure(report, int(site.stdout.readline())))
        finally:
            site.kill()


def promise_http_nodes(report: Report) -> None:
    """A slow host holds up no others, and no thread."""
    report.promise("threads for waiting http steps", report.median(THREADS), at_most=4)
    report.promise(
        "times as long beside waiting http steps", report.ratio(BESIDE, ALONE), at_most=1.3
    )
    report.promise(
        "throughput beside waiting http steps",
        report.ratio(THROUGHPUT_BESIDE, THROUGHPUT),
        at_least=0.8,
    )


async def _measure(report: Report, port: int) -> None:
    calls: Object = {"id": "call", "steps": [_step(port, 0)]}
    waits: Object = {"id": "wait", "steps": [_step(port, 600_000)]}
    with tempfile.TemporaryDirectory(prefix="tenuto-bench-") as folder:
        store = f"sqlite:///{Path(folder) / 'bench.db'}"
        async with Tenuto(store, settings=SETTINGS) as app:
            for document in (linear(1), linear(10), calls, waits):
                await app.deploy(document)
            await run_all(app, "linear_10", 100)
            await run_all(app, "call", 100)
            alone = statistics.median(await one_by_one(app, ROUNDS))
            report.add(ALONE, alone * 1000)
            report.add(CALL, (await _call_seconds(app) - alone) * 1000)
            report.add(RATE, 1_000 / await run_all(app, "call", 1_000))
            report.add(THROUGHPUT, 10_000 / await run_all(app, "linear_10", 1_000))
            await _beside(report, app)


async def _beside(report: Report, app: Tenuto) -> None:
    threads, memory = threading.active_count(), resident()
    started = await asyncio.gather(*(app.start("wait", {"n": n}) for n in range(WAITING)))
    while app.engine.gate.under_way()["http",] < WAITING:  # noqa: ASYNC110 - measured in long steps
        await asyncio.sleep(0.05)
    report.add(MEMORY, (resident() - memory) / WAITING * 1000)
    report.add(BESIDE, statistics.median(await one_by_one(app, ROUNDS)) * 1000)
    report.add(THROUGHPUT_BESIDE, 10_000 / await run_all(app, "linear_10", 1_000))
    report.add(THREADS, threading.active_count() - threads)
    await asyncio.gather(*(each.cancel("measured") for each in started))


async def _call_seconds(app: Tenuto) -> float:
    took = []
    for number in range(ROUNDS):
        began = time.perf_counter()
        await (await app.start("call", {"n": number})).result(30)
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def _step(port: int, milliseconds: int) -> Object:
    url = f"http://127.0.0.1:{port}/{milliseconds}"
    return {"stepId": "call", "type": "HTTP", "url": url, "timeout": "PT1H"}
