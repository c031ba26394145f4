"""What the parts of data queries expect of each other: connections, drivers, secrets, names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tenuto.data.named_parameters import Statement
from tenuto.data.source import Bounds, Rows
from tenuto.model.json import JSON


class Connection(Protocol):
    """A connection to a database, for one statement at a time."""

    @property
    def is_usable(self) -> bool:
        """Whether another statement may be run on it."""
        ...

    async def run(
        self, statement: Statement, args: Mapping[str, JSON], *, bounds: Bounds, seconds: float
    ) -> Rows:
        """The rows of a statement; QueryFailed. Cancelled, it stops the statement.

        Nothing of the statement is left in the session.
        """
        ...

    async def version(self) -> str:
        """The name and the version of the database."""
        ...

    async def close(self) -> None: ...


class Driver(Protocol):
    """Opens connections to one database."""

    async def connect(self, seconds: float) -> Connection:
        """A connection, which can write nothing if its source is read-only; QueryFailed."""
        ...


class SecretValues(Protocol):
    """The secrets of tenants."""

    async def value(self, tenant: str, name: str, *, destination: str) -> str:
        """The value of a secret for a data source, or its host; QueryFailed: there is none."""
        ...


class Names(Protocol):
    """Finds the addresses of a host."""

    async def addresses(self, host: str, port: int) -> list[str]:
        """Addresses that may be connected to; QueryFailed where there are none."""
        ...
