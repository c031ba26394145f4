"""How long calls of JavaScript code take in a sandbox whose processes are warm."""

from __future__ import annotations

import asyncio
import statistics
import time

from bench.report import Report
from tenuto.javascript.outcomes import Outcome
from tenuto.javascript.sandbox import Sandbox
from tenuto.model.json import Object

CODE = "return ctx.input.items.map(item => item.id);"
CTX: Object = {"input": {"items": [{"id": 1}, {"id": 2}, {"id": 3}]}}
CALLS = 500
WARMING = 50
AT_ONCE = 4

WARM = "a warm JavaScript call, ms"
SLOW = "a warm JavaScript call, 95 of 100, ms"
RATE = f"JavaScript calls a second, {AT_ONCE} at once"
COLD = "a JavaScript call of a tenant without a process, ms"


def javascript(report: Report) -> None:
    """Calls one after the other, several at once, and the first one of each tenant."""
    asyncio.run(_measure(report))


def promise_javascript(report: Report) -> None:
    """A step of code costs little more than any other."""
    report.promise("ms for a warm JavaScript call", report.median(WARM), at_most=1)


async def _measure(report: Report) -> None:
    sandbox = Sandbox()
    sandbox.start()
    try:
        for _ in range(WARMING):
            await _call(sandbox)
        took = sorted([await _call(sandbox) for _ in range(CALLS)])
        report.add(WARM, statistics.median(took))
        report.add(SLOW, took[CALLS * 95 // 100])
        began = time.perf_counter()
        await asyncio.gather(*(_calls(sandbox, CALLS // AT_ONCE) for _ in range(AT_ONCE)))
        report.add(RATE, CALLS / (time.perf_counter() - began))
        first = [await _call(sandbox, f"tenant {number}") for number in range(10)]
        report.add(COLD, statistics.median(first))
    finally:
        await sandbox.close()


async def _calls(sandbox: Sandbox, count: int) -> None:
    for _ in range(count):
        await _call(sandbox)


async def _call(sandbox: Sandbox, tenant: str = "") -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    outcome = await sandbox.run(CODE, tenant=tenant, ctx=CTX)
    assert isinstance(outcome, Outcome)
    assert outcome.value == [1, 2, 3]
    return (time.perf_counter() - began) * 1000
