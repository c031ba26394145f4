"""What tasks of tests do."""

from __future__ import annotations

import asyncio


async def spend(seconds: float) -> None:
    """Take so long, by the loop's own time."""
    await asyncio.sleep(seconds)
