"""Reads large documents in a thread, one at a time, so that the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from tenuto.model.errors import Overloaded

Made = TypeVar("Made")

LARGE = 100_000
"""From how many bytes a document counts as large: smaller ones take milliseconds."""
_MOST_WAITING = 20
"""The most large documents that may wait: each is kept in memory until its turn."""


class LargeDocuments:
    """The thread for large documents. A second one at a time would only slow the loop further."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def read(self, size: int, work: Callable[[], Made], *, may_refuse: bool = True) -> Made:
        """What `work` makes of a document of so many bytes; Overloaded, if it may be refused."""
        if size < LARGE:
            return work()
        if may_refuse and self._waiting >= _MOST_WAITING:
            raise Overloaded("too many large definitions are being read")
        self._waiting += 1
        try:
            await self._turn.acquire()
            return await self._in_thread(work)
        finally:
            self._waiting -= 1

    def _in_thread(self, work: Callable[[], Made]) -> asyncio.Future[Made]:
        """What `work` makes; the turn is over when the thread is, also if nothing waits for it.

        A thread of its own, which ends with the process: a stop does not wait for it.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Made] = loop.create_future()

        def ended(made: Made | None, error: BaseException | None) -> None:
            self._turn.release()
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(made)  # type: ignore[arg-type]

        def run() -> None:
            made, error = None, None
            try:
                made = work()
            except BaseException as raised:  # noqa: BLE001 - it is raised where the result is awaited
                error = raised
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(partial(ended, made, error))

        threading.Thread(target=run, name="large document", daemon=True).start()
        return future
