"""Tasks that child processes run in the tests."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tenuto.model.errors import TaskError
from tenuto.tasks import Context, Registry, Result

registry = Registry()
tenant = contextvars.ContextVar("tenant", default="nobody")


@registry.task(isolation="process")
def double(number: int) -> dict[str, int]:
    return {"double": 2 * number, "pid": os.getpid()}


@registry.task(isolation="process")
async def double_later(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


@registry.task(isolation="process")
def look(ctx: Context) -> list[Any]:
    ctx.heartbeat({"percent": 50})
    return [
        ctx.instance_id,
        ctx.step_id,
        ctx.attempt,
        ctx.idempotency_key,
        ctx.correlation_id,
        str(ctx.deadline),
        ctx.cancelled,
        ctx.previous_outputs,
    ]


@registry.task(isolation="process")
def shout(text: str) -> str:
    print(text, flush=True)
    os.write(1, b"\xff\xff\xff\xff raw bytes\n")
    sys.stdout.write("x" * 100_000 + "\n")
    return sys.stdin.read()


@registry.task(isolation="process")
def write(how: str) -> None:
    written(how)


@registry.task(isolation="process")
def write_and_die(how: str) -> None:
    written(how)
    os._exit(3)


def written(how: str) -> None:
    """Write a line in one of the ways in which tasks do."""
    match how:
        case "print":
            print("a line")
        case "stderr":
            print("a line", file=sys.stderr)
        case _:
            logging.getLogger("shop").warning("a %s", "line")


@registry.task(isolation="process")
def give(what: str) -> object:
    match what:
        case "set":
            return {"a": {1, 2}}
        case "large":
            return "x" * 50_000_000
        case "handle":
            return Result({"n": 1}, handle="fast")
        case "raise":
            raise TaskError("OUT_OF_STOCK", "none", details={"n": 1}, retryable=False)
        case "exit":
            sys.exit(3)
        case _:
            raise ValueError(what)


@registry.task(isolation="process")
def take(a: int, b: int) -> None: ...


@registry.task(isolation="process")
def die(how: str) -> None:
    match how:
        case "exit":
            os._exit(3)
        case "segfault":
            ctypes.string_at(0)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case _:
            raise ValueError(how)


@registry.task(isolation="process")
def hang(mark: str) -> None:
    Path(mark).write_text(str(os.getpid()), encoding="utf-8")
    while True:
        threading.Event().wait()


@registry.task(isolation="process")
def hang_with_child(mark: str) -> None:
    nap = "import time; time.sleep(600)"
    started = subprocess.Popen([sys.executable, "-c", nap])
    Path(mark).write_text(f"{os.getpid()} {started.pid}", encoding="utf-8")
    started.wait()


@registry.task(isolation="process")
def obey(ctx: Context) -> None:
    ctx.heartbeat("ready")
    while True:
        threading.Event().wait(0.001)
        ctx.heartbeat("ready")


@registry.task(isolation="process")
async def obey_later(ctx: Context) -> None:
    ctx.heartbeat("ready")
    await asyncio.Event().wait()


@registry.task(isolation="process")
def echo(ctx: Context, text: str) -> int:
    return len(text) + len(str(ctx.previous_outputs["before"]))


@registry.task(isolation="process")
def enter(name: str) -> str:
    before = tenant.get()
    tenant.set(name)
    return before


@double.undo(isolation="process")
def halve(ctx: Context, given: Any) -> list[Any]:  # noqa: ANN401 - what any step gave
    undo = ctx.undo
    assert undo is not None
    return [
        given,
        undo.step_id,
        undo.iteration,
        undo.original_output,
        undo.workflow_input,
        undo.workflow_state,
        undo.cancellation,
        undo.reason,
    ]


@registry.task(isolation="process")
def take_parts(amount: int, paymentId: str) -> list[Any]:  # noqa: N803 - as JSON has it
    return [paymentId, amount]


double_later.undo(take_parts)


@registry.task(isolation="process")
def repeat_all(given: dict[str, Any]) -> dict[str, Any]:
    """Print what it is given, and give it back."""
    print("in a process", given, flush=True)
    print(f"on the error stream {given}", file=sys.stderr, flush=True)
    return {"again": given}
