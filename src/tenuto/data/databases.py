"""The databases of all tenants that a process is connected to."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from msgspec import Struct

from tenuto.data.address import file_of, server_of
from tenuto.data.failures import QueryFailed, no_secret, unavailable
from tenuto.data.network import Network
from tenuto.data.pool import IDLE_FOR, Pool
from tenuto.data.protocol import Connection, Driver, SecretValues
from tenuto.data.source import DataSource, Server
from tenuto.model.failure import SECRET_NOT_ALLOWED, UNKNOWN_SECRET
from tenuto.model.secret_place import is_destination
from tenuto.ports import Clock, Timer

MOST_POOLS: Final = 500
"""Databases that a process is connected to at once."""
_STATEMENTS_OF_TENANT: Final = 100
"""Statements of one tenant at once, in one process."""
_FILE_THREADS: Final = 32
_FILES_OF_TENANT: Final = 4
"""Statements of one tenant on files at once: each has a thread, and no tenant has all of them."""


class NoSecrets:
    """Where no secrets are kept."""

    async def value(self, tenant: str, name: str, *, destination: str) -> str:  # noqa: ARG002
        raise no_secret(UNKNOWN_SECRET, f"there is no secret {name}")


class _Kept(Struct):
    version: tuple[int, int]
    pool: Pool


class Databases:
    """Makes pools of connections, and closes those that are not used."""

    def __init__(
        self,
        clock: Clock,
        secrets: SecretValues,
        network: Network,
        *,
        folder: str | None = None,
    ) -> None:
        """`folder`: where SQLite files are, in one for each tenant; None: there are none."""
        self._clock = clock
        self._folder = folder
        self._secrets = secrets
        self._network = network
        self._pools: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._rooms: WeakValueDictionary[tuple[str, bool], asyncio.Semaphore] = (
            WeakValueDictionary()
        )
        self._threads: ThreadPoolExecutor | None = None
        self._timer: Timer | None = None
        self._sweep: asyncio.Task[None] | None = None

    async def pool(self, tenant: str, source: DataSource, version: tuple[int, int]) -> Pool:
        """The connections to a database; `version` of its source: another one has others."""
        key = (tenant, source.id)
        kept = self._pools.get(key)
        if kept is None or kept.version != version:
            driver = _LateDriver(self, tenant, source)
            room = self._room(tenant, is_file=source.kind == "sqlite")
            pool = Pool(driver, source.max_connections, self._clock.ticks, room)
            self._pools[key] = _Kept(version, pool)
            if kept is not None:
                await kept.pool.close()
            await self._make_room()
        self._pools.move_to_end(key)
        if self._timer is None:
            self._timer = self._clock.call_later(IDLE_FOR, self._look)
        return self._pools[key].pool

    async def close_idle(self) -> None:
        """Close what has not been used for a while."""
        before = self._clock.ticks() - IDLE_FOR
        for key, kept in list(self._pools.items()):
            is_used = await kept.pool.close_idle(before) or kept.pool.in_use
            if not is_used and self._pools.get(key) is kept:
                del self._pools[key]

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._sweep is not None:
            self._sweep.cancel()
            await asyncio.gather(self._sweep, return_exceptions=True)
        for kept in self._pools.values():
            await kept.pool.close()
        self._pools.clear()
        if self._threads is not None:
            self._threads.shutdown(wait=False)
        await self._network.close()

    async def driver(self, tenant: str, source: DataSource) -> Driver:
        """What opens connections to a database, with its password as it is now; QueryFailed."""
        if source.kind == "sqlite":
            return self._file(tenant, source)
        server = server_of(source)
        password = await self._password(tenant, source, server)
        seconds = source.statement_timeout.total_seconds()
        if source.kind == "postgresql":
            from tenuto.data.drivers.postgresql import PostgresqlDriver  # noqa: PLC0415

            return PostgresqlDriver(
                server,
                names=self._network.of(tenant),
                password=password,
                read_only=source.read_only,
                statement_seconds=seconds,
            )
        try:
            from tenuto.data.drivers.mysql import MysqlDriver  # noqa: PLC0415
        except ImportError:
            raise unavailable(
                "this process has no driver for MySQL: pip install 'tenuto[mysql]'", retryable=False
            ) from None
        return MysqlDriver(
            server,
            names=self._network.of(tenant),
            password=password,
            read_only=source.read_only,
            statement_seconds=seconds,
        )

    async def _password(self, tenant: str, source: DataSource, server: Server) -> str:
        """The secret of a source, which may be for the source, or for its host alone."""
        name = source.secret_ref
        if name is None:
            return ""
        if is_destination(source.id):
            try:
                return await self._secrets.value(tenant, name, destination=source.id)
            except QueryFailed as error:
                if error.failure.code != SECRET_NOT_ALLOWED:
                    raise
        shown = f"[{server.host}]" if ":" in server.host else server.host
        return await self._secrets.value(tenant, name, destination=f"{shown}:{server.port}")

    def _file(self, tenant: str, source: DataSource) -> Driver:
        from tenuto.data.drivers.sqlite import SqliteDriver  # noqa: PLC0415

        if self._folder is None:
            raise unavailable(
                "this service reads no SQLite files: its operator has not set engine.data_folder",
                retryable=False,
            )
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_FILE_THREADS, thread_name_prefix="tenuto-data")
        return SqliteDriver(
            Path(self._folder) / tenant,
            file_of(source),
            self._threads,
            self._clock.ticks,
            read_only=source.read_only,
        )

    def _room(self, tenant: str, *, is_file: bool) -> asyncio.Semaphore:
        """The room of a tenant for statements, shared by its sources while there is a pool."""
        room = self._rooms.get((tenant, is_file))
        if room is None:
            size = _FILES_OF_TENANT if is_file else _STATEMENTS_OF_TENANT
            room = self._rooms[tenant, is_file] = asyncio.Semaphore(size)
        return room

    def _look(self) -> None:
        """Now and then, while there are pools."""
        self._timer = None
        self._sweep = asyncio.get_running_loop().create_task(self._close_idle())

    async def _close_idle(self) -> None:
        await self.close_idle()
        if self._pools and self._timer is None:
            self._timer = self._clock.call_later(IDLE_FOR, self._look)

    async def _make_room(self) -> None:
        while len(self._pools) > MOST_POOLS:
            _, kept = self._pools.popitem(last=False)
            await kept.pool.close()


class _LateDriver:
    """Asks for the password when a connection is opened: it may have changed."""

    def __init__(self, databases: Databases, tenant: str, source: DataSource) -> None:
        self._databases = databases
        self._tenant = tenant
        self._source = source

    async def connect(self, seconds: float) -> Connection:
        driver = await self._databases.driver(self._tenant, self._source)
        return await driver.connect(seconds)
