"""Reads large documents in a thread, one at a time, so that the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
            async with self._turn:
                return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1
