"""How long calls of JavaScript code take in a sandbox whose processes are warm."""

from __future__ import annotations

import asyncio
import statistics
import time

from bench.engine_runs import new_app
from bench.report import Report
from bench.workflows import linear
from tenuto import Tenuto
from tenuto.model.json import JSON, Object
from tenuto.sandbox.outcomes import Outcome
from tenuto.sandbox.sandbox import Sandbox

CODE = "return ctx.input.items.map(item => item.id);"
CTX: Object = {"input": {"items": [{"id": 1}, {"id": 2}, {"id": 3}]}}
CALLS = 500
WARMING = 50
AT_ONCE = 4

WARM = "a warm JavaScript call, ms"
SLOW = "a warm JavaScript call, 95 of 100, ms"
RATE = f"JavaScript calls a second, {AT_ONCE} at once"
CODE_FLOW = "code"
COLD = "a JavaScript call of a tenant without a process, ms"


STEP = "a step of JavaScript code, ms"
NO_OP = "a no-op step beside it, ms"
BEYOND = "a step of JavaScript code beyond a no-op step, ms"
STEPS = 10
INSTANCES = 60


def javascript(report: Report) -> None:
    """Calls one after the other, several at once, and the first one of each tenant; then steps."""
    asyncio.run(_measure(report))
    asyncio.run(_measure_steps(report))


def promise_javascript(report: Report) -> None:
    """A step of code costs little more than any other."""
    report.promise("ms for a warm JavaScript call", report.median(WARM), at_most=1)
    report.promise(
        "ms that a step of JavaScript code takes beyond a no-op step",
        report.median(BEYOND),
        at_most=1,
    )


async def _measure_steps(report: Report) -> None:
    """Instances of steps of code, and of no-op steps, in turn: one at a time, end to end."""
    async with new_app(linear(STEPS), _code(STEPS)) as (app, _):
        for _ in range(WARMING // STEPS):
            await _instance(app, f"linear_{STEPS}")
            await _instance(app, CODE_FLOW)
        plain, code = [], []
        for _ in range(INSTANCES):
            plain.append(await _instance(app, f"linear_{STEPS}"))
            code.append(await _instance(app, CODE_FLOW))
    report.add(NO_OP, statistics.median(plain))
    report.add(STEP, statistics.median(code))
    report.add(BEYOND, statistics.median(code) - statistics.median(plain))


async def _instance(app: Tenuto, workflow: str) -> float:
    """Milliseconds of one step of an instance."""
    began = time.perf_counter()
    await (await app.start(workflow, CTX["input"])).result(60)
    return (time.perf_counter() - began) * 1000 / STEPS


def _code(steps: int) -> Object:
    """The same chain as that of no-op steps."""
    chain: list[JSON] = [
        {
            "stepId": f"s{number}",
            "type": "JAVASCRIPT",
            "code": CODE,
            "transitions": {} if number == steps - 1 else {"default": f"s{number + 1}"},
        }
        for number in range(steps)
    ]
    return {"id": CODE_FLOW, "steps": chain}


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
