"""The values of data sources and data queries that cross the workspace protocol."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tenuto.model.errors import Problem
from tenuto.model.json import JSON, Object
from tenuto.workspace.schedule_values import RecordMetadata


class DataSourceUses(Struct, frozen=True, kw_only=True, rename="camel"):
    """What names a data source; at most 100."""

    queries: list[str] = []


class DataQueryUses(Struct, frozen=True, kw_only=True, rename="camel"):
    """What runs a data query; at most 100."""

    workflows: list[str] = []


class SavedDataSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A data source as it is saved; it has no password in it."""

    id: str
    version: int
    """Rises with each change."""
    kind: Literal["postgresql", "mysql", "sqlite"]
    read_only: bool
    """Whether the session of a query can write nothing."""
    max_connections: int
    """The most connections of one process."""
    statement_timeout: str
    """How long a statement may take, as ISO 8601."""
    metadata: RecordMetadata
    name: str | None = None
    description: str | None = None
    url: str | None = None
    host: str | None = None
    port: int | None = None
    database: str | None = None
    user: str | None = None
    tls: Literal["verify", "require", "off"] | None = None
    file: str | None = None
    """Of SQLite: a file below the folder of the tenant."""
    secret_ref: str | None = None
    """The name of the secret that is the password."""
    limits: Object | None = None
    """`{concurrency?, ratePerSecond?}`, for all processes together."""
    breaker: Object | None = None
    """`{failures?, openFor?}`: when the database counts as dead."""
    used_by: DataSourceUses | None = None
    """Where it was asked for."""
    problems: tuple[Problem, ...] = ()
    """Warnings about what was saved."""


class SavedDataQuery(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A data query as it is saved."""

    id: str
    version: int
    """Rises with each change."""
    data_source_id: str
    sql: str
    """One statement, with parameters `:name`."""
    max_rows: int
    metadata: RecordMetadata
    name: str | None = None
    description: str | None = None
    parameters: JSON = None
    """The JSON Schema of its arguments."""
    cache: Object | None = None
    """`{ttl}`: for how long a process may answer from its memory."""
    used_by: DataQueryUses | None = None
    """Where it was asked for."""
    problems: tuple[Problem, ...] = ()
    """Warnings about what was saved."""


class QueryError(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why a query, or a connection, failed; as a step would fail with."""

    code: str
    message: str
    retryable: bool
    details: JSON = None


class QueryRun(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer of a query that was tried."""

    rows: list[Object]
    row_count: int
    duration_ms: int
    cached: bool
    """Whether the rows are those of an earlier run."""
    error: QueryError | None = None
    """Then there are no rows."""


class SourceTest(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether a database can be connected to."""

    ok: bool
    server: str | None
    """The name and version of the database."""
    duration_ms: int
    error: QueryError | None = None
