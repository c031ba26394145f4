"""A task that says that it has begun, and ends when it hears a line."""

from __future__ import annotations

import asyncio
import sys

from tenuto import Context, task


@task(name="pausing.ship")
async def ship(ctx: Context) -> dict[str, int]:
    sys.stdout.write(f"{ctx.instance_id} {ctx.attempt}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    return {"attempt": ctx.attempt}
