"""Waits beside other work until something may have happened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


@asynccontextmanager
async def hearing(
    listen: Callable[[asyncio.Event], Awaitable[None]],
) -> AsyncIterator[asyncio.Event]:
    """An event that `listen` sets for as long as this lasts; what ends it does so once more."""
    heard = asyncio.Event()

    async def work() -> None:
        try:
            await listen(heard)
        finally:
            heard.set()

    task = asyncio.ensure_future(work())
    try:
        yield heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def first_of(
    stopped: asyncio.Event, heard: asyncio.Event, seconds: float | None = None
) -> bool:
    """Wait for either, but no longer than `seconds`; whether it is `stopped`."""
    waiting = [asyncio.ensure_future(each.wait()) for each in (stopped, heard)]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
    return stopped.is_set()


async def unless(
    stopped: asyncio.Event, work: Awaitable[T], seconds: float | None = None
) -> T | None:
    """What comes of `work`; None where it is `stopped` first, or has not come within `seconds`.

    A server may be away for long.
    """
    waiting, working = asyncio.ensure_future(stopped.wait()), asyncio.ensure_future(work)
    try:
        await asyncio.wait((waiting, working), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        waiting.cancel()
        working.cancel()
