"""Moves the write-ahead log into the database, in a thread of its own.

A checkpoint of 32 MB takes as long as a hundred commits. Were it made by the commit that fills the
log, all other writers would wait for it. Here commits go on meanwhile. What they have added is
moved with the next checkpoint: if nothing was added, the whole log is in the database, and the next
commit begins it anew. Where commits leave no such moment, the connection that writes moves the rest
between two of its commits, which waits for the disk. So that it is little, one checkpoint follows
the other before that, each of which has less to move.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import apsw

from tenuto.model.errors import TenutoError
from tenuto.store.sqlite.session import Session
from tenuto.store.sqlite.workers import Worker

log = logging.getLogger("tenuto.sqlite")

CHECKPOINT_PAGES = 2_500
"""So many new pages of the write-ahead log are moved at once: 10 MB."""
FULL_PAGES = 5_000
"""From so many pages on the log is begun anew, whether or not commits leave a moment for it."""
_LONG_PAGES = FULL_PAGES + 1_500
"""From so many pages on, commits are faster than the rounds, and another one would add more."""
LITTLE_PAGES = 100
"""What the connection that writes moves by itself, if possible."""
MOST_ROUNDS = 3
"""The most checkpoints beside commits before that."""


class Checkpoints:
    """Keeps the write-ahead log of one open file short."""

    def __init__(
        self, path: str, writing: Session, writer: Worker, threads: Callable[[str], Worker]
    ) -> None:
        self._writing = writing
        self._writer = writer
        self._moving = Session(path, "checkpointer_settings")
        self._mover = threads("tenuto-sqlite-checkpoints")
        self._moved = 0
        """How many pages of the log are in the database."""
        self._under_way: asyncio.Task[None] | None = None

    def committed(self) -> None:
        """A transaction is durable: move the log if it has become long."""
        pages = self._writing.log_pages
        if pages < self._moved:
            # It was begun anew.
            self._moved = 0
        if pages - self._moved >= CHECKPOINT_PAGES and self._under_way is None:
            self._under_way = asyncio.ensure_future(self._move())

    async def over(self) -> None:
        """Return once no checkpoint is under way: beside one, a commit cannot move the log."""
        if self._under_way is not None:
            await asyncio.wait([self._under_way])

    def stop(self) -> None:
        """End after a checkpoint that is under way; the rest is for the next process."""
        if self._under_way is not None:
            self._under_way.cancel()
            self._under_way = None
        self._mover.stop()
        self._moving.close()

    async def _move(self) -> None:
        try:
            left = self._writing.log_pages - self._moved
            for _ in range(MOST_ROUNDS):
                before = left
                self._moved = await self._mover.run(self._moving.checkpoint)
                left = self._writing.log_pages - self._moved
                is_worth_it = LITTLE_PAGES < left <= before // 2
                if not (is_worth_it and FULL_PAGES <= self._writing.log_pages < _LONG_PAGES):
                    break
            if self._writing.log_pages >= FULL_PAGES:
                self._moved = await self._writer.run(self._writing.checkpoint)
        except (TenutoError, apsw.Error) as error:
            # Nothing waits for it, and it is tried again after a commit.
            log.warning("store=%s: its write-ahead log stays long: %s", self._writing.path, error)
        finally:
            self._under_way = None
