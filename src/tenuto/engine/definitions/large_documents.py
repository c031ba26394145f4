"""Checks large documents and values in a thread, one at a time: the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from tenuto.engine.bounds import DEFAULT_BOUNDS
from tenuto.model.errors import Overloaded

Made = TypeVar("Made")

LARGE = DEFAULT_BOUNDS.large_document
_MOST_WAITING = 20
"""The most large documents that may wait: each is kept in memory until its turn."""
_SWITCH_SECONDS = 0.0001
"""How long the thread keeps the interpreter from the loop, which needs it many times a request."""


class LargeDocuments:
    """The thread for large documents. A second one at a time would only slow the loop further."""

    def __init__(self, large: int = LARGE) -> None:
        """`large`: from how many bytes on a document is large; smaller ones take milliseconds."""
        self._large = large
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def read(self, size: int, work: Callable[[], Made], *, may_refuse: bool = True) -> Made:
        """What `work` makes of a document of so many bytes; Overloaded, if it may be refused."""
        if size < self._large:
            return work()
        if may_refuse and self._waiting >= _MOST_WAITING:
            raise Overloaded("too many large documents are being read")
        self._waiting += 1
        try:
            await self._turn.acquire()
            return await self._in_thread(work)
        finally:
            self._waiting -= 1

    async def check(self, value: object, work: Callable[[], Made]) -> Made:
        """What `work` makes of a value of any size; Overloaded."""
        return work() if is_small(value, self._large) else await self.read(self._large, work)

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
            usual = sys.getswitchinterval()
            sys.setswitchinterval(_SWITCH_SECONDS)
            try:
                made = work()
            except BaseException as raised:  # noqa: BLE001 - it is raised where the result is awaited
                error = raised
            finally:
                sys.setswitchinterval(usual)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(partial(ended, made, error))

        threading.Thread(target=run, name="large document", daemon=True).start()
        return future


def is_small(value: object, large: int) -> bool:
    """Whether a value has fewer characters and items than that; it is read no further."""
    count = 0
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, str):
            count += len(each)
        elif isinstance(each, dict):
            count += len(each)
            pending += each.keys()
            pending += each.values()
        elif isinstance(each, list | tuple):
            count += len(each)
            pending += each
        if count >= large:
            return False
    return True
