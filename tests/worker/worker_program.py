"""A worker that says what it has begun, and is done with it a line later."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta

from tenuto.ports import SystemClock
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import Registry
from tenuto.worker import HttpBrokerClient, Worker, run_until_signalled


async def ship(ctx: Context) -> None:
    sys.stdout.write(f"{ctx.instance_id} {ctx.attempt}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)


async def main(url: str, key: str) -> None:
    registry = Registry()
    registry.add(TaskFunction(ship, name="ship"))
    broker = HttpBrokerClient(url, key=key)
    lease = timedelta(seconds=1)
    worker = Worker(broker, registry, worker_id="w1", clock=SystemClock(), lease=lease)
    await run_until_signalled(worker, grace=20.0)
    await broker.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
