"""The same no-op steps on Restate, served by one process in its own environment."""

from __future__ import annotations

import asyncio
import sys

import restate  # type: ignore[import-not-found]
from hypercorn.asyncio import serve  # type: ignore[import-not-found]
from hypercorn.config import Config  # type: ignore[import-not-found]

STEPS = 10

linear = restate.Workflow("linear")


async def noop() -> None:
    """Does nothing."""


@linear.main()  # type: ignore[untyped-decorator]
async def run(ctx: restate.WorkflowContext, n: int) -> None:
    """One step after the other; each is durable before the next begins."""
    for step in range(STEPS):
        await ctx.run_typed(f"s{step}", noop)


if __name__ == "__main__":
    config = Config()
    config.bind = [f"127.0.0.1:{sys.argv[1]}"]
    config.accesslog = None
    config.errorlog = None
    asyncio.run(serve(restate.app([linear]), config))
