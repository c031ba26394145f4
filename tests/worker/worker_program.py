"""A worker that says what it has begun, and is done with it a line later."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta

from tenuto.ports import SystemClock
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import Registry
from tenuto.worker import HttpDesk, Worker, run_until_told


async def ship(ctx: Context) -> None:
    sys.stdout.write(f"{ctx.instance_id} {ctx.attempt}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)


async def main(url: str, key: str) -> None:
    registry = Registry()
    registry.add(TaskFunction(ship, name="ship"))
    desk = HttpDesk(url, key=key)
    lease = timedelta(seconds=1)
    worker = Worker(desk, registry, worker_id="w1", clock=SystemClock(), lease=lease)
    await run_until_told(worker, grace=20.0)
    await desk.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
