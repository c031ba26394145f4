"""Connections to one database: so many at once, and some kept open for the next statement."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from tenuto.data.failures import too_busy
from tenuto.data.protocol import Connection, Driver

IDLE_FOR: Final = 60.0
"""Seconds after which a connection is closed that was not used."""
CONNECTING: Final = 10.0
"""Seconds that a database has to take a connection."""


class _Idle(NamedTuple):
    connection: Connection
    since: float


class Lease(NamedTuple):
    """A connection for one statement."""

    connection: Connection
    is_new: bool


class Pool:
    """At most `size` connections of one process."""

    def __init__(
        self,
        driver: Driver,
        size: int,
        ticks: Callable[[], float],
        of_tenant: asyncio.Semaphore,
    ) -> None:
        """`of_tenant`: the room that a tenant has for statements in this process."""
        self._driver = driver
        self._room = asyncio.Semaphore(size)
        self._of_tenant = of_tenant
        self._ticks = ticks
        self._idle: list[_Idle] = []
        self._is_closed = False
        self.in_use = 0
        """Statements that have a connection, or wait for one."""

    @asynccontextmanager
    async def lease(self, seconds: float, *, is_new: bool = False) -> AsyncIterator[Lease]:
        """A connection, within so many seconds; QueryFailed. `is_new`: not one of before."""
        self.in_use += 1
        try:
            try:
                async with asyncio.timeout(seconds):
                    await self._room.acquire()
            except TimeoutError:
                raise too_busy(seconds) from None
            try:
                await self._enter_tenant(seconds)
            except BaseException:
                self._room.release()
                raise
            try:
                found = None if is_new else self._kept()
                connection = found or await self._driver.connect(min(seconds, CONNECTING))
                try:
                    yield Lease(connection, is_new=found is None)
                finally:
                    await self._put_back(connection)
            finally:
                self._of_tenant.release()
                self._room.release()
        finally:
            self.in_use -= 1

    async def close_idle(self, before: float) -> bool:
        """Close connections that are idle since then, or longer; whether some are left."""
        while self._idle and self._idle[0].since <= before:
            await self._idle.pop(0).connection.close()
        return bool(self._idle)

    async def close(self) -> None:
        """No statement follows; what still runs closes its connection itself."""
        self._is_closed = True
        await self.close_idle(float("inf"))

    async def _enter_tenant(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._of_tenant.acquire()
        except TimeoutError:
            raise too_busy(seconds) from None

    def _kept(self) -> Connection | None:
        while self._idle:
            # The last one: the others become idle for long enough to be closed.
            connection = self._idle.pop().connection
            if connection.is_usable:
                return connection
        return None

    async def _put_back(self, connection: Connection) -> None:
        if connection.is_usable and not self._is_closed:
            self._idle.append(_Idle(connection, self._ticks()))
        else:
            await connection.close()
