"""asyncpg as this store uses it: the one place that knows its names, which come without types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, cast

import asyncpg  # type: ignore[import-untyped]

Row: TypeAlias = Sequence[Any]


class ServerError(Protocol):
    """An error message of the server, with its code of five characters."""

    sqlstate: str
    severity: str


class Connection(Protocol):
    """A connection to a server, or to a pooler in front of one."""

    async def fetch(
        self,
        query: str,
        *args: object,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> list[Row]: ...
    async def execute(self, query: str, *, timeout: float | None = None) -> str: ...  # noqa: ASYNC109
    async def close(self, *, timeout: float | None = None) -> None: ...  # noqa: ASYNC109
    def terminate(self) -> None: ...
    def is_closed(self) -> bool: ...
    def is_in_transaction(self) -> bool: ...
    def get_server_pid(self) -> int: ...
    async def add_listener(self, channel: str, callback: Callable[..., None]) -> None: ...
    def add_termination_listener(self, callback: Callable[..., None]) -> None: ...


PostgresError: type[Exception] = asyncpg.PostgresError
DataError: type[Exception] = asyncpg.exceptions._base.DataError  # noqa: SLF001
"""Values that cannot even be sent; the server's own refusals have codes."""
ConfigurationError: type[Exception] = asyncpg.exceptions.ClientConfigurationError

BROKEN: tuple[type[Exception], ...] = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""Raised when a connection breaks during a statement, without an error message from the server.

After an error of the driver itself the connection must not be used again, either.
"""

NOT_CONNECTED: tuple[type[Exception], ...] = (*BROKEN, asyncpg.PostgresError, ValueError)
"""Raised when no connection can be made."""


async def connect(
    dsn: str, *, settings: Mapping[str, str], keeps_statements: bool, patience: float
) -> Connection:
    """Connect; a pooler hands out another server each time, so nothing may be kept there."""
    connection = await asyncpg.connect(
        dsn,
        timeout=patience,
        command_timeout=_COMMAND_PATIENCE,
        server_settings=dict(settings),
        statement_cache_size=_STATEMENTS_KEPT if keeps_statements else 0,
        max_cached_statement_lifetime=0,
        max_cacheable_statement_size=0,
    )
    return cast("Connection", connection)


_STATEMENTS_KEPT = 400
_COMMAND_PATIENCE = 45.0
"""Longer than the server's own statement time-out: without an answer by then it is gone."""
