"""A process that runs a task with a limit, and notes each beginning and end in a pipe.

python -m tests.crash.limited_load URL PIPE STARTS LIMIT
"""

from __future__ import annotations

import asyncio
import os
import sys
from time import monotonic

from tenuto import Context, TaskLimits, Tenuto
from tests.crash.limited_load_flow import FLOW


async def main(url: str, path: str, starts: int, limit: int) -> None:
    out = os.open(path, os.O_WRONLY | os.O_APPEND)

    def note(*words: object) -> None:
        os.write(out, (" ".join(map(str, words)) + "\n").encode())

    async with Tenuto(url) as app:

        @app.task(limits=TaskLimits(concurrency=limit))
        async def busy(ctx: Context) -> None:
            name = f"{ctx.instance_id}:{ctx.attempt}"
            note("begin", os.getpid(), name, monotonic())
            await asyncio.sleep(0.02)
            note("end", os.getpid(), name, monotonic())

        await app.deploy(FLOW)
        for _ in range(starts):
            note("started", os.getpid(), (await app.start("limited")).id, monotonic())
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
