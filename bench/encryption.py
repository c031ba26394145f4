"""What encryption costs: the same steps with values, encrypted and not, in one run."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from bench.engine_runs import run_all
from bench.report import Report
from tenuto import Tenuto, task
from tenuto.encryption.key_ring import KeyRing, new_key
from tenuto.model.json import JSON, Object

STEPS = 10
PLAIN = "steps with values: plain, steps/s"
ENCRYPTED = "steps with values: encrypted, steps/s"
_ROUNDS = 3
"""Each is run so often in turn: a machine that is busy meanwhile slows both."""
_TEXT = "x" * 250


@task
async def with_values(input: JSON) -> JSON:
    """Returns a value as most tasks do."""
    return {"answer": _TEXT, "of": input}


def encryption(report: Report, *, instances: int = 400) -> None:
    """Instances of ten steps, each with an input and an output of its own."""
    plain, encrypted = asyncio.run(_run(instances))
    total = instances * STEPS * _ROUNDS
    report.add(PLAIN, total / plain)
    report.add(ENCRYPTED, total / encrypted)


def promise_encryption(report: Report) -> None:
    ratio = report.ratio(ENCRYPTED, PLAIN)
    report.promise("share of the throughput that is left with encryption", ratio, at_least=0.85)


async def _run(instances: int) -> tuple[float, float]:
    took = {"plain": 0.0, "encrypted": 0.0}
    with tempfile.TemporaryDirectory(prefix="tenuto-bench-") as folder:
        url = f"sqlite:///{Path(folder) / 'bench.db'}"
        async with Tenuto(url, encryption=KeyRing([new_key("bench")])) as app:
            for id in took:
                await app.deploy(_document(id))
                await run_all(app, id, 50)
            for _ in range(_ROUNDS):
                for id in took:
                    took[id] += await run_all(app, id, instances)
    return took["plain"], took["encrypted"]


def _document(id: str) -> Object:
    names = [f"s{number}" for number in range(STEPS)]
    steps: list[JSON] = [
        {
            "stepId": name,
            "type": "TASK",
            "taskId": "with_values",
            "input": {"n": "{{ctx.input.n}}", "text": _TEXT},
            "transitions": {"default": following},
        }
        for name, following in zip(names, [*names[1:], "end"], strict=True)
    ]
    steps.append({"stepId": "end", "type": "END"})
    return {"id": id, "options": {"encrypt": id == "encrypted"}, "steps": steps}
