"""Stops a worker in good order when its process gets SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import signal

from tenuto.worker.worker import Worker

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def run_until_signalled(worker: Worker, grace: float = 10.0) -> None:
    """Run a worker until SIGTERM or SIGINT; what runs then has `grace` seconds to end.

    A second signal ends the waiting.
    """
    loop = asyncio.get_running_loop()

    def signalled() -> None:
        if worker.is_stopping:
            worker.hurry()
        else:
            worker.stop()

    for number in _SIGNALS:
        loop.add_signal_handler(number, signalled)
    try:
        await worker.run(grace)
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
