"""Waits for changes and for Ctrl-C beside other work."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from types import FrameType
from typing import NoReturn, TypeVar

T = TypeVar("T")

_also_killed: list[Callable[[], None]] = []
"""Kill processes that Ctrl-C does not reach."""


@asynccontextmanager
async def set_by(changes: AsyncGenerator[None, None]) -> AsyncIterator[asyncio.Event]:
    """An event that is set with each change, and once more when the changes end."""
    changed = asyncio.Event()

    async def work() -> None:
        try:
            async with aclosing(changes):
                async for _ in changes:
                    changed.set()
        finally:
            changed.set()

    task = asyncio.ensure_future(work())
    try:
        yield changed
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def first_of(
    stopped: asyncio.Event, changed: asyncio.Event, seconds: float | None = None
) -> bool:
    """Wait for either, but no longer than `seconds`; whether it is `stopped`."""
    waiting = [asyncio.ensure_future(each.wait()) for each in (stopped, changed)]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
    return stopped.is_set()


async def unless(
    stopped: asyncio.Event, work: Awaitable[T], seconds: float | None = None
) -> T | None:
    """The result of `work`; None where it is `stopped` first, or takes longer than `seconds`.

    A server may be unavailable for long.
    """
    waiting, working = asyncio.ensure_future(stopped.wait()), asyncio.ensure_future(work)
    try:
        await asyncio.wait((waiting, working), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        waiting.cancel()
        working.cancel()


@contextmanager
def interruptible() -> Iterator[asyncio.Event]:
    """An event that Ctrl-C sets; a second one ends the process at once, even after this context."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()

    def stop(number: int) -> None:
        stopped.set()
        loop.remove_signal_handler(number)
        if number == signal.SIGINT:
            signal.signal(number, _end_at_once)

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, stop, number)
    try:
        yield stopped
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def kill_at_second_interrupt(kill: Callable[[], None]) -> None:
    """Call this when a second Ctrl-C ends this process: that one is in a session of its own."""
    _also_killed.append(kill)


def _end_at_once(_number: int, _frame: FrameType | None) -> NoReturn:
    """End without KeyboardInterrupt: raised in a destructor, it is printed, and nothing ends."""
    try:
        for kill in _also_killed:
            with suppress(OSError):
                kill()
        if sys.stderr.isatty():
            # A live view that is cut off has hidden the cursor.
            os.write(sys.stderr.fileno(), b"\x1b[?25h")
    finally:
        os._exit(130)
