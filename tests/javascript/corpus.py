"""The hostile programs of `hostile.toml`, and what is seen of a call of each."""

from __future__ import annotations

import json
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from tenuto.model.json import JSON
from tenuto.sandbox.outcomes import FailedCall, Limits, Outcome
from tenuto.sandbox.sandbox import Sandbox

LIMITS = Limits(time=timedelta(seconds=0.3), memory=32 << 20)
WITHIN = LIMITS.time + timedelta(seconds=1)
CTX: JSON = {"input": {"items": [{"id": 1}]}}
_TRIES = 3


class Program(NamedTuple):
    """A program that wants to break out, to take everything or never to end."""

    name: str
    code: str
    ends: tuple[str, ...]
    """How a call of it may end: `value`, or a code."""
    returns: str | None
    """What it returns where it returns, in JSON."""


def programs() -> list[Program]:
    table = tomllib.loads((Path(__file__).parent / "hostile.toml").read_text(encoding="utf-8"))
    return [
        Program(
            name=each["name"],
            code=each["code"]
            + each.get("repeated", "") * each.get("times", 0)
            + each.get("end", ""),
            ends=tuple(each["ends"]),
            returns=each.get("returns"),
        )
        for each in table["program"]
    ]


def some(count: int, first: int = 0) -> list[Program]:
    """So many programs from all parts of the table."""
    every = programs()
    return every[first :: max(len(every) // count, 1)][:count]


async def surprise(sandbox: Sandbox, program: Program) -> str | None:
    """What a call of it did that it must not do."""
    took = []
    for _ in range(_TRIES):
        outcome = await sandbox.run(program.code, tenant="hostile", ctx=CTX, limits=LIMITS)
        # A machine that is busy with something else may come too late.
        if outcome.took <= WITHIN:
            return _surprise(program, outcome)
        took.append(str(outcome.took))
    return f"{program.name}: it took {took}"


def _surprise(program: Program, outcome: Outcome | FailedCall) -> str | None:
    if isinstance(outcome, FailedCall):
        if outcome.failure.code not in program.ends:
            return f"{program.name}: {outcome.failure}"
        return None
    if "value" not in program.ends:
        return f"{program.name}: it returned {str(outcome.value)[:200]}"
    if program.returns is not None and outcome.value != json.loads(program.returns):
        return f"{program.name}: it returned {str(outcome.value)[:200]}"
    return None
