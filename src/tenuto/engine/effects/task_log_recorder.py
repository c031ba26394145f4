"""Writes the lines that tasks log and print, in batches and beside the turns.

They are a diagnostic: no step waits for them. Lines that are not written when the process dies, or
when the store is unavailable for long, are lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine

import msgspec

from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.policy import OUTAGE_RETRY_SECONDS
from tenuto.model.task_logs import LogChunk, recorded_chunk
from tenuto.ports import Clock
from tenuto.store.parts.task_logs import TaskLogRow
from tenuto.store.protocol import Store
from tenuto.tasks.attempt import Key

log = logging.getLogger("tenuto.task_logs")

_PAUSE = 0.2
"""Seconds in which lines of several attempts are collected."""
_AT_ONCE = 100
"""The most chunks of one transaction."""
_MOST = 1_000
"""The most chunks that wait for the store; beyond, the oldest are lost."""
_LAST_WRITES = 2.0
"""Seconds for the last lines when the engine stops."""

_encode = msgspec.json.Encoder().encode


class TaskLogRecorder:
    """Lines on their way to the store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        spawn: Callable[[Coroutine[None, None, None]], asyncio.Task[None]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._spawn = spawn
        self._waiting: deque[tuple[Key, LogChunk]] = deque(maxlen=_MOST)
        self._writing: asyncio.Task[None] | None = None
        self._is_last = asyncio.Event()

    def keep(self, key: Key, chunk: LogChunk) -> None:
        """Write lines of an attempt a little later."""
        self._waiting.append((key, chunk))
        if self._writing is None or self._writing.done():
            self._writing = self._spawn(self._write())

    async def written(self) -> None:
        """Wait until the lines that are kept now are written, or lost."""
        if self._writing is not None:
            await asyncio.wait({self._writing})

    async def finish(self) -> None:
        """Write what is left; what an unavailable store does not take now is lost."""
        self._is_last.set()
        if self._writing is not None and not self._writing.done():
            await asyncio.wait({self._writing}, timeout=_LAST_WRITES)

    async def _write(self) -> None:
        await self._clock.wait(self._is_last, _PAUSE)
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _AT_ONCE))]
            now = self._clock.now()
            rows = [_row(key, chunk) for key, chunk in batch]
            try:
                await self._store.task_logs.add([row for row in rows if row is not None], now)
            except StoreUnavailable as error:
                self._waiting.extendleft(reversed(batch[len(self._waiting) - _MOST :]))
                if self._is_last.is_set():
                    log.warning("lines of %d attempts are lost: %s", len(batch), error.message)
                    return
                await self._clock.wait(self._is_last, OUTAGE_RETRY_SECONDS)
            except TenutoError as error:
                log.warning("lines of %d attempts are lost: %s", len(batch), error.message)


def _row(key: Key, chunk: LogChunk) -> TaskLogRow | None:
    lines = recorded_chunk(chunk).lines
    if not lines:
        return None
    instance_id, step, iteration, attempt = key
    return TaskLogRow(
        instance_id=instance_id,
        step=step,
        iteration=iteration,
        attempt=attempt,
        first=chunk.first,
        size=sum(line.size for line in lines),
        lines=_encode(lines),
    )
