"""A worker that stops in good order when its process is told to."""

from __future__ import annotations

import asyncio
import signal

from tenuto.worker.worker import Worker

_TOLD_BY = (signal.SIGTERM, signal.SIGINT)


async def run_until_signalled(worker: Worker, grace: float = 10.0) -> None:
    """Run a worker until SIGTERM or SIGINT; what runs then has `grace` seconds to end.

    Told again, it waits no longer.
    """
    loop = asyncio.get_running_loop()

    def told() -> None:
        if worker.is_stopping:
            worker.hurry()
        else:
            worker.stop()

    for number in _TOLD_BY:
        loop.add_signal_handler(number, told)
    try:
        await worker.run(grace)
    finally:
        for number in _TOLD_BY:
            loop.remove_signal_handler(number)
