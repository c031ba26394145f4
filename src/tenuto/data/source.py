"""Data sources and data queries as values."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from tenuto.model.json import JSON, Object

DatabaseKind: TypeAlias = Literal["postgresql", "mysql", "sqlite"]
Tls: TypeAlias = Literal["verify", "require", "off"]

KINDS: Final[tuple[DatabaseKind, ...]] = ("postgresql", "mysql", "sqlite")
PORTS: Final[dict[DatabaseKind, int]] = {"postgresql": 5432, "mysql": 3306, "sqlite": 0}

MOST_ROWS: Final = 10_000
"""The rows of a query that sets no other limit."""
MOST_CONNECTIONS: Final = 5
STATEMENT_TIMEOUT: Final = timedelta(seconds=30)
BREAKER_FAILURES: Final = 5
BREAKER_OPEN_FOR: Final = timedelta(seconds=30)


class Server(Struct, frozen=True, kw_only=True):
    """Where a database is on a network, and as whom to sign in."""

    host: str
    port: int
    database: str
    user: str
    tls: Tls = "verify"


class SourceBreaker(Struct, frozen=True, kw_only=True):
    """When a database counts as dead."""

    failures: int = BREAKER_FAILURES
    """How many failures in a row open it."""
    open_for: timedelta = BREAKER_OPEN_FOR
    """How long it stays open, until one query probes the database."""


class SourceLimits(Struct, frozen=True, kw_only=True):
    """Limits of a data source, for all processes together."""

    concurrency: int | None = None
    """The most queries at once."""
    rate_per_second: float | None = None


class DataSource(Struct, frozen=True, kw_only=True):
    """A database of a tenant."""

    id: str
    kind: DatabaseKind
    name: str | None = None
    description: str | None = None
    url: str | None = None
    host: str | None = None
    port: int | None = None
    database: str | None = None
    user: str | None = None
    tls: Tls | None = None
    file: str | None = None
    """Of SQLite: a file below the folder of the tenant."""
    secret_ref: str | None = None
    """The secret that is the password."""
    read_only: bool = True
    max_connections: int = MOST_CONNECTIONS
    """Of one process."""
    statement_timeout: timedelta = STATEMENT_TIMEOUT
    limits: SourceLimits = SourceLimits()
    breaker: SourceBreaker = SourceBreaker()


class QueryCache(Struct, frozen=True, kw_only=True):
    """For how long a process may answer a query from its memory."""

    ttl: timedelta


class DataQuery(Struct, frozen=True, kw_only=True):
    """A stored statement with named parameters."""

    id: str
    data_source_id: str
    sql: str
    name: str | None = None
    description: str | None = None
    parameters: JSON = None
    """A JSON Schema of an object: one property for each parameter."""
    max_rows: int = MOST_ROWS
    cache: QueryCache | None = None


class Bounds(Struct, frozen=True, kw_only=True):
    """How much of an answer is read."""

    rows: int
    bytes: int


Rows: TypeAlias = list[Object]
