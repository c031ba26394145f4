"""Turns of the event loop: how a test lets others go on without a clock."""

from __future__ import annotations

import asyncio


async def turns(count: int = 10) -> None:
    """Let the loop do what it has to do, so many times."""
    for _ in range(count):
        await asyncio.sleep(0)
