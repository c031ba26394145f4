"""Receives hints on a connection of its own, and reconnects when that breaks.

A hint says that there is something in the mailbox; it may get lost, and nothing depends on it but
haste. After each new connection it is as if there had been a hint: there may have been.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres.driver import NOT_CONNECTED, Connection, PostgresError
from tenuto.store.postgres.faults import DENIED, NOT_THERE, sqlstate, translated
from tenuto.store.postgres.queries import QUERIES, statement
from tenuto.store.postgres.server import Server

log = logging.getLogger(__name__)

EVERYBODY = ""
LONGEST_PAYLOAD = 7_999
"""The server's limit, in bytes."""

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
_QUIET = 30.0
"""After so many seconds without traffic the connection is checked."""
_AWAY = frozenset({"TEN-4001", "TEN-4008"})


def payload_for(process_ids: list[str]) -> str:
    """The processes that a hint is for, as one text; for all if that is too long."""
    payload = " ".join(process_ids)
    return payload if len(payload.encode()) <= LONGEST_PAYLOAD else EVERYBODY


class HintListener:
    """Calls `hear` on hints for one process, until it is stopped."""

    def __init__(
        self,
        server: Server,
        channel: str,
        process_id: Callable[[], str | None],
        *,
        is_apart: bool = False,
    ) -> None:
        """`is_apart`: it has a URL of its own, which may lead elsewhere than that of the store."""
        self._server = server
        self._is_apart = is_apart
        self._logged: str | None = None
        """Why no hints are received; each reason is logged once."""
        self._channel = channel
        self._process_id = process_id
        self._hear: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._connection: Connection | None = None
        self.is_listening = False
        """Whether hints arrive at the moment."""

    @property
    def is_wanted(self) -> bool:
        """Whether hints should arrive: behind a pooler there are none."""
        return self._hear is not None and not self._server.is_pooled

    async def start(self, hear: Callable[[], None]) -> None:
        """Start; returns once hints are received, or the first attempt to connect has failed."""
        self._hear = hear
        if self._task is None:
            tried = asyncio.Event()
            self._task = asyncio.create_task(self._listen(tried), name="tenuto-postgres-listener")
            await tried.wait()

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        self.abandon()

    def abandon(self) -> None:
        """Close the socket without a goodbye message."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self.is_listening = False
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    async def _listen(self, tried: asyncio.Event) -> None:
        try:
            await self._listen_for_ever(tried)
        except Exception:
            # Work is still found by looking, but operators should know.
            log.exception("hints are not heard any more")
        finally:
            self.is_listening = False
            tried.set()

    async def _listen_for_ever(self, tried: asyncio.Event) -> None:
        pause = _FIRST_PAUSE
        is_first = True
        while True:
            ended = asyncio.Event()
            try:
                connection = self._connection = await self._connected(ended)
            except StoreUnavailable as error:
                self._say(error)
                tried.set()
                if self._server.is_pooled:
                    return
                await _pass_or(ended, pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                is_first = False
                continue
            pause = _FIRST_PAUSE
            self._logged = None
            self.is_listening = True
            tried.set()
            if not is_first:
                log.info("hints are heard again")
                self._tell()
            is_first = False
            await self._until_ended(connection, ended)
            self.is_listening = False
            log.info("the connection that hears hints broke; another is made")
            connection.terminate()

    def _say(self, error: StoreUnavailable) -> None:
        # An outage of the store's server is logged by the code that uses it.
        level = logging.WARNING if self._is_apart or error.code not in _AWAY else logging.INFO
        logged, self._logged = self._logged, error.code
        if logged != error.code and not (logged in _AWAY and error.code in _AWAY):
            where = " (by listen_url)" if self._is_apart else ""
            log.log(level, "hints are not heard%s, work is found later: %s", where, error)

    async def _connected(self, ended: asyncio.Event) -> Connection:
        connection = await self._server.connect()
        if self._server.is_pooled:
            connection.terminate()
            raise StoreUnavailable(
                f"{self._server.shown} is a pooler, behind which nothing can be heard",
                code="TEN-4013",
                advice="Name the server itself for listening (listen_url=), or do without: "
                "work is then found by looking.",
            )
        try:
            if self._is_apart:
                await self._require_same_store(connection)
            connection.add_termination_listener(lambda _: ended.set())
            await connection.add_listener(self._channel, self._on_hint)
        except BaseException as error:
            # Also where the process stops in the midst of it.
            connection.terminate()
            if not isinstance(error, Exception):
                raise
            raise translated(error, self._server.address) from error
        return connection

    async def _require_same_store(self, connection: Connection) -> None:
        """That this process is known there; a role that may not look is not asked for more."""
        known = statement("knows_process", self._server.address.schema).sql
        try:
            if await connection.fetch(known, self._process_id()):
                return
        except PostgresError as error:
            if sqlstate(error) == DENIED:
                return
            if sqlstate(error) not in NOT_THERE:
                raise
        raise StoreUnavailable(
            f"the URL for listening leads to {self._server.shown}, which is not the database of "
            "the store",
            code="TEN-4018",
            advice="Name the database of the store in listen_url, or TENUTO_LISTEN_URL: the same "
            "server and database, without the pooler.",
        )

    async def _until_ended(self, connection: Connection, ended: asyncio.Event) -> None:
        while not ended.is_set():
            await _pass_or(ended, _QUIET)
            if not ended.is_set():
                try:
                    await connection.fetch(QUERIES["ping"].sql)
                except NOT_CONNECTED:
                    return

    def _on_hint(self, _connection: object, _pid: int, _channel: str, payload: str) -> None:
        if payload == EVERYBODY or self._process_id() in payload.split(" "):
            self._tell()

    def _tell(self) -> None:
        if self._hear is not None:
            self._hear()


async def _pass_or(ended: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(ended.wait(), seconds)
    except TimeoutError:
        return
