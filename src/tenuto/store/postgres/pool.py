"""A few connections for everything but turns and heartbeats, and the refusal when all are busy."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Literal, TypeVar

from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.store.errors import CommitUnknown
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.queries import Parameters, Statement, statement
from tenuto.store.postgres.server import Server
from tenuto.store.postgres.session import Session, Transaction, repeated

T = TypeVar("T")

log = logging.getLogger(__name__)

_LONG_WAIT = 1.0


class Pool:
    """At most `size` connections; waiting too long for one is refused."""

    def __init__(self, server: Server, size: int, patience: float) -> None:
        self._server = server
        self._size = size
        self._patience = patience
        self._places = asyncio.Semaphore(size)
        self._has_warned = False
        """Until a connection is free again, once is enough."""
        self._idle: list[Session] = []
        self._all: list[Session] = []

    @property
    def statements(self) -> int:
        return sum(session.statements for session in self._all)

    @property
    def size(self) -> int:
        """How many connections there may be."""
        return self._size

    @property
    def in_use(self) -> int:
        """How many are at work."""
        return len(self._all) - len(self._idle)

    @property
    def is_pooled(self) -> bool:
        """Whether a pooler is at the other end, as far as is known."""
        return self._server.is_pooled

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        return await self.fetch(statement(name, self._server.address.schema), parameters or {})

    async def fetch(self, sent: Statement, parameters: Parameters) -> list[Row]:
        async with self.session() as session:
            return await session.fetch(sent, parameters)

    async def transaction(
        self, work: Callable[[Transaction], Awaitable[T]], *, first: str | None = None
    ) -> T:
        """Do `work` in one transaction; where it may be durable, StoreUnavailable says so.

        `first`: statements without parameters that are sent with its beginning.
        """

        async def once() -> T:
            async with self.session() as session:
                return await session.transaction(work, first=first)

        try:
            return await repeated(once, self._server.budget)
        except CommitUnknown as error:
            raise may_be_written(f"not known to be written: {error}") from error

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        await self._wait_for_place()
        # The one used last is the most likely to be awake.
        session = self._idle.pop() if self._idle else self._another()
        try:
            yield session
        finally:
            self._idle.append(session)
            self._places.release()

    async def close(self) -> None:
        for session in self._all:
            await session.close()

    def abandon(self) -> None:
        for session in self._all:
            session.abandon()

    def _another(self) -> Session:
        session = Session(self._server)
        self._all.append(session)
        return session

    def part(self, size: int) -> Pool:
        """The same connections, of which at most so many are taken: the rest is left to others."""
        return _Part(self, size)

    async def _wait_for_place(self) -> None:
        if not self._places.locked():
            self._has_warned = False
            await self._places.acquire()
            return
        waiting = asyncio.ensure_future(self._places.acquire())
        try:
            await self._patiently(waiting)
        except BaseException:
            if not waiting.cancel() and not waiting.cancelled():
                self._places.release()
            raise

    async def _patiently(self, waiting: asyncio.Task[Literal[True]]) -> None:
        done, _ = await asyncio.wait({waiting}, timeout=min(_LONG_WAIT, self._patience))
        if done:
            return
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "all %d shared connections to %s are busy; something has waited for over %g s",
                *(self._size, self._server.shown, min(_LONG_WAIT, self._patience)),
            )
        done, _ = await asyncio.wait({waiting}, timeout=max(0.0, self._patience - _LONG_WAIT))
        if not done:
            raise StoreUnavailable(
                f"no connection to {self._server.shown} became free within {self._patience:g} s: "
                f"all {self._size} shared ones are busy",
                code="TEN-4012",
                advice="Look at pg_stat_activity for slow statements, ask for smaller pages, or "
                "give the store more connections (connections=).",
            )


class _Part(Pool):
    """Some of the connections of a pool."""

    def __init__(self, whole: Pool, size: int) -> None:
        super().__init__(whole._server, size, whole._patience)  # noqa: SLF001 - a part of it
        self._whole = whole

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        await self._wait_for_place()
        try:
            async with self._whole.session() as session:
                yield session
        finally:
            self._places.release()
