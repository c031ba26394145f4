"""The side of a process that a reloading one has started: waits for its turn, ends with it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from tenuto.cli.exits import Interrupted


class ParentProcess:
    """The process that holds the other end of stdin, and reads the pipe `ready`."""

    def __init__(self, ready: int) -> None:
        self._ready = ready

    async def hand_over(self) -> None:
        """Say that this process can do the work, and wait until the older one has ended."""
        loop = asyncio.get_running_loop()
        may_go: asyncio.Future[bytes] = loop.create_future()

        def answered() -> None:
            loop.remove_reader(0)
            may_go.set_result(os.read(0, 1))

        loop.add_reader(0, answered)
        os.write(self._ready, b"1")
        if not await may_go:
            raise Interrupted

    def begun(self) -> None:
        """Say that this process does the work now."""
        try:
            os.write(self._ready, b"1")
        except BrokenPipeError:
            pass  # `stop_with_it` sees the same
        finally:
            os.close(self._ready)

    def stop_with_it(self, stop: Callable[[], None]) -> None:
        """Stop when it is gone, however it ended: stdin is closed then."""
        loop = asyncio.get_running_loop()

        def ended() -> None:
            loop.remove_reader(0)
            stop()

        loop.add_reader(0, ended)
