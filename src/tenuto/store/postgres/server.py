"""The server, or the pooler in front of it, and how connections to it are made."""

from __future__ import annotations

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres.address import Address
from tenuto.store.postgres.driver import NOT_CONNECTED, Connection, connect
from tenuto.store.postgres.faults import (
    PROTOCOL_VIOLATION,
    sqlstate,
    translated,
    translated_connect,
)
from tenuto.store.postgres.queries import QUERIES
from tenuto.store.retry_budget import RetryBudget

OLDEST_SERVER = 140_000

_CONNECT_PATIENCE = 10.0

_SETTINGS = {
    "application_name": "tenuto",
    # A process that is stopped in the middle of a transaction must not stop the others, nor be
    # kept by it from being declared dead: this is over before any process is.
    "idle_in_transaction_session_timeout": "5s",
    "lock_timeout": "10s",
    "statement_timeout": "30s",
    # What waited for a lock goes on with the row as it is then; a database may have another level
    # as its default, in which it would be refused, or see what was there before.
    "default_transaction_isolation": "read committed",
    # Every statement here is a look-up in an index, also while a table's statistics are out of
    # date, and it is planned once.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}
_SETTINGS_OF_POOLED = {"application_name": "tenuto"}
"""Poolers refuse the others."""


class Server:
    """Makes connections; detects with the first one whether it reaches a server or a pooler."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.is_pooled = False
        """Whether it is a pooler like PgBouncer, which keeps no session state."""
        self._is_known = False
        self.budget = RetryBudget()
        """For all connections together."""

    @property
    def shown(self) -> str:
        return self.address.shown

    async def connect(self) -> Connection:
        """A connection that is ready for use; StoreUnavailable when there is none to be had."""
        try:
            connection = await self._connect()
        except NOT_CONNECTED as error:
            # Not "from error": the driver's message may quote the URL.
            raise translated_connect(error, self.address) from None
        if not self._is_known:
            try:
                connection = await self._introduced(connection)
            except BaseException as error:
                connection.terminate()
                if not isinstance(error, Exception):
                    raise
                known = translated(error, self.address)
                if known is error:
                    raise
                raise known from error
        return connection

    async def _connect(self) -> Connection:
        try:
            return await connect(
                self.address.dsn,
                settings=_SETTINGS_OF_POOLED if self.is_pooled else _SETTINGS,
                keeps_statements=not self.is_pooled,
                patience=_CONNECT_PATIENCE,
            )
        except Exception as error:
            if self.is_pooled or sqlstate(error) != PROTOCOL_VIOLATION:
                raise
            refusal = error
        # It refused the settings: so it is a pooler.
        self.is_pooled = True
        try:
            return await self._connect()
        except TimeoutError:
            if "parameter" in str(refusal):
                raise
        # It accepted the parameters: PgBouncer reports an error once, and then lets clients wait.
        raise refusal

    async def _introduced(self, connection: Connection) -> Connection:
        await connection.execute(QUERIES["begin"].sql)
        [row] = await connection.fetch(QUERIES["server"].sql)
        await connection.execute(QUERIES["commit"].sql)
        pid, version, encoding = row[0], row[1], row[2]
        if version < OLDEST_SERVER:
            raise StoreUnavailable(
                f"{self.shown} is PostgreSQL {version // 10_000}",
                code="TEN-4009",
                advice="Tenuto needs PostgreSQL 14 or newer.",
            )
        if encoding != "UTF8":
            raise StoreUnavailable(
                f"{self.shown} keeps text as {encoding}",
                code="TEN-4009",
                advice="Create a new one: createdb --encoding=UTF8 --template=template0 NAME.",
            )
        self._is_known = True
        if not self.is_pooled and pid != connection.get_server_pid():
            # A pooler that took the settings and ignores them: start again as with any other.
            self.is_pooled = True
            connection.terminate()
            return await self._connect()
        return connection
