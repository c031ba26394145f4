"""Writes the lines that tasks log and print, in batches and beside the turns.

They are a diagnostic: no step waits for them. Lines that are not written when the process dies, or
when the store is unavailable for long, are lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from typing import NamedTuple

import msgspec

from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.policy import OUTAGE_RETRY_SECONDS
from tenuto.model.task_logs import LogChunk, arrived_chunk, recorded_chunk
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
_MOST_BYTES = 16_000_000
"""The most chunks, and bytes of them, that wait for the store; beyond, the oldest are lost."""
_BYTES_AT_ONCE = 100_000
"""After cleaning so many the loop may go on with something else."""
_LAST_WRITES = 2.0
"""Seconds for the last lines when the engine stops."""

_encode = msgspec.json.Encoder().encode


class _Waiting(NamedTuple):
    key: Key
    chunk: LogChunk
    size: int


class TaskLogRecorder:
    """Lines on their way to the store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        spawn: Callable[[Coroutine[None, None, None]], asyncio.Task[None]],
        stored: Callable[[str, int], None],
    ) -> None:
        """`stored` is called with the bytes that a tenant has more."""
        self._stored = stored
        self._store = store
        self._clock = clock
        self._spawn = spawn
        self._waiting: deque[_Waiting] = deque()
        self._size = 0
        self._lost = 0
        """Chunks that found no room since that was last said."""
        self._writing: asyncio.Task[None] | None = None
        self._is_last = asyncio.Event()

    def keep(self, key: Key, chunk: LogChunk) -> None:
        """Write lines of an attempt a little later."""
        bounded = arrived_chunk(chunk)
        size = sum(line.size for line in bounded.lines)
        self._waiting.append(_Waiting(key, bounded, size))
        self._size += size
        self._drop_oldest()
        if self._writing is None or self._writing.done():
            # This may be called by code of an attempt: what a driver logs is none of its lines.
            self._writing = Context().run(self._spawn, self._write())

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
            batch = [self._taken() for _ in range(min(len(self._waiting), _AT_ONCE))]
            now = self._clock.now()
            try:
                stored = await self._store.task_logs.add(await self._rows(batch), now)
            except StoreUnavailable as error:
                self._waiting.extendleft(reversed(batch))
                self._size += sum(each.size for each in batch)
                self._drop_oldest()
                if self._is_last.is_set():
                    log.warning("lines of %d attempts are lost: %s", len(batch), error.message)
                    return
                await self._clock.wait(self._is_last, OUTAGE_RETRY_SECONDS)
            except TenutoError as error:
                log.warning("lines of %d attempts are lost: %s", len(batch), error.message)
            else:
                self._say_lost()
                for tenant, size in stored.items():
                    self._stored(tenant, size)

    async def _rows(self, batch: Sequence[_Waiting]) -> list[TaskLogRow]:
        rows: list[TaskLogRow] = []
        cleaned = 0
        for each in batch:
            row = _row(each.key, each.chunk)
            if row is not None:
                rows.append(row)
            cleaned += each.size
            if cleaned > _BYTES_AT_ONCE:
                cleaned = 0
                await self._clock.sleep(0)
        return rows

    def _taken(self) -> _Waiting:
        taken = self._waiting.popleft()
        self._size -= taken.size
        return taken

    def _drop_oldest(self) -> None:
        while len(self._waiting) > _MOST or self._size > _MOST_BYTES:
            self._taken()
            self._lost += 1

    def _say_lost(self) -> None:
        """Once for many: they get lost while the store is away, or slower than the tasks."""
        if self._lost:
            log.warning("lines of %d attempts are lost: too many waited for the store", self._lost)
            self._lost = 0


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
