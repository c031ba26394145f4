"""Runs data queries: reads their records, checks arguments, asks the database, keeps answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import msgspec
from msgspec import Struct

from tenuto.data.arguments import argument_problems, bound
from tenuto.data.cache import AnswerCache
from tenuto.data.databases import Databases
from tenuto.data.documents import stored_query, stored_source
from tenuto.data.failures import (
    QueryFailed,
    refused,
    unavailable,
    unknown_query,
    wrong_arguments,
)
from tenuto.data.named_parameters import SqlFault, Statement, split
from tenuto.data.pool import Pool
from tenuto.data.source import Bounds, DataQuery, DataSource, Rows
from tenuto.definition.report import did_you_mean
from tenuto.model.durations import epoch_ms
from tenuto.model.failure import DATABASE_UNAVAILABLE
from tenuto.model.json import JSON
from tenuto.model.task_definition import BreakerPolicy, TaskLimits
from tenuto.ports import Clock
from tenuto.store.parts.data_sources import DataSourceRow
from tenuto.store.protocol import Store
from tenuto.targets.gate import Gate, NotAdmitted, Passage, Place
from tenuto.targets.names import target_key
from tenuto.targets.state import TargetPolicy

_MOST_NAMES: Final = 200
_MILLISECOND: Final = timedelta(milliseconds=1)


class Ran(Struct, frozen=True, kw_only=True):
    """The answer of a query."""

    rows: Rows
    data_source_id: str
    seconds: float
    is_cached: bool = False


class Tried(Struct, frozen=True, kw_only=True):
    """A connection to a database."""

    version: str
    seconds: float


class _Found(Struct, frozen=True):
    query: DataQuery
    source: DataSource
    statement: Statement
    version: tuple[int, int]
    """Of the source."""
    key: tuple[object, ...]
    """Of the query and its source, in these versions."""


class QueryRunner:
    """Runs the queries of all tenants."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        databases: Databases,
        *,
        most_bytes: int,
        gate: Gate,
    ) -> None:
        """`gate` admits queries: each data source has a breaker, and limits of all processes."""
        self._store = store
        self._clock = clock
        self._databases = databases
        self._most_bytes = most_bytes
        self._gate = gate
        self._cache = AnswerCache()

    async def run(
        self,
        tenant: str,
        id: str,
        args: JSON,
        *,
        seconds: float,
        place: Place | None = None,
        begin: Callable[[], None] = lambda: None,
    ) -> Ran:
        """The rows of a query; QueryFailed.

        `place` is the attempt that waits where the data source admits no query now. `begin` is
        called once it does: from then on it may take so many seconds.
        """
        begun = self._clock.ticks()
        found = await self._find(tenant, id)
        query, source, statement = found.query, found.source, found.statement
        given = {} if args is None else args
        problems = argument_problems(query, statement, given)
        if problems or not isinstance(given, dict):
            raise wrong_arguments(problems)
        key = (*found.key, msgspec.json.encode(given, order="deterministic"))
        if query.cache is not None:
            kept = self._cache.get(key, begun)
            if kept is not None:
                return self._ran(kept, source, begun, is_cached=True)
        limit = min(seconds, source.statement_timeout.total_seconds())
        pool = await self._databases.pool(tenant, source, found.version)
        passage = await self._admitted(tenant, source, place, seconds)
        is_well: bool | None = None
        try:
            begin()
            rows = await self._rows(
                pool,
                source,
                statement,
                bound(statement, given),
                bounds=Bounds(rows=query.max_rows, bytes=self._most_bytes),
                seconds=limit,
            )
            is_well = True
        except QueryFailed as error:
            # A database that refuses a statement works.
            is_well = error.is_well
            raise
        finally:
            self._gate.leave(passage, is_well=is_well)
        if query.cache is not None:
            until = self._clock.ticks() + query.cache.ttl.total_seconds()
            self._cache.put(key, rows, until)
        return self._ran(rows, source, begun)

    async def try_source(self, tenant: str, source_id: str, *, seconds: float) -> Tried:
        """Connect to a database; QueryFailed."""
        row = await self._store.seen_by(tenant).data_sources.get(tenant, source_id)
        source = None if row is None else stored_source(msgspec.json.decode(row.document))
        if source is None:
            raise refused(f"there is no data source {source_id}")
        begun = self._clock.ticks()
        driver = await self._databases.driver(tenant, source)
        connection = await driver.connect(seconds)
        try:
            version = await connection.version()
        finally:
            await connection.close()
        return Tried(version=version, seconds=self._clock.ticks() - begun)

    async def close(self) -> None:
        await self._databases.close()

    async def _admitted(
        self, tenant: str, source: DataSource, place: Place | None, seconds: float
    ) -> Passage:
        """Wait for the gate; a query that is tried waits no longer than it may take."""
        limits, breaker = source.limits, source.breaker
        policy = TargetPolicy(
            TaskLimits(concurrency=limits.concurrency, rate_per_second=limits.rate_per_second),
            BreakerPolicy(failures=breaker.failures, open_for=breaker.open_for / _MILLISECOND),
        )
        key = target_key(tenant, "data", source.id)
        patience = seconds if place is None else math.inf
        entered = await self._gate.enter(key, policy, place=place, seconds=patience)
        if isinstance(entered, NotAdmitted):
            left = f"{entered.seconds:.0f} s"
            raise unavailable(f"the data source has failed too often, and is probed in {left}")
        return entered

    async def _rows(
        self,
        pool: Pool,
        source: DataSource,
        statement: Statement,
        args: dict[str, JSON],
        **how: Any,  # noqa: ANN401 - as a connection takes it
    ) -> Rows:
        seconds: float = how["seconds"]
        async with pool.lease(seconds) as lease:
            try:
                return await lease.connection.run(statement, args, **how)
            except QueryFailed as error:
                # The server may have closed a kept connection long ago. What reads is repeated.
                is_lost = error.failure.code == DATABASE_UNAVAILABLE
                if lease.is_new or not source.read_only or not is_lost:
                    raise
        async with pool.lease(seconds, is_new=True) as lease:
            return await lease.connection.run(statement, args, **how)

    async def _find(self, tenant: str, id: str) -> _Found:
        seen = self._store.seen_by(tenant)
        row = await seen.data_queries.get(tenant, id)
        if row is None:
            known = await seen.data_queries.ids(tenant, _MOST_NAMES)
            advice = did_you_mean(id, known, "")
            raise unknown_query(id, advice)
        of = await seen.data_sources.get(tenant, row.data_source_id)
        if of is None:
            raise unavailable(f"there is no data source {row.data_source_id}", retryable=False)
        query = stored_query(msgspec.json.decode(row.document))
        source = stored_source(msgspec.json.decode(of.document))
        if query is None or source is None:
            raise refused(f"the data query {id} cannot be read by this version; save it again")
        try:
            statement = split(query.sql, source.kind)
        except SqlFault as fault:
            raise refused(f"the statement cannot be read: {fault}") from None
        version = _version(of)
        key = (tenant, id, row.version, epoch_ms(row.created_at), source.id, version)
        return _Found(query, source, statement, version, key)

    def _ran(self, rows: Rows, source: DataSource, begun: float, *, is_cached: bool = False) -> Ran:
        return Ran(
            rows=rows,
            data_source_id=source.id,
            seconds=self._clock.ticks() - begun,
            is_cached=is_cached,
        )


def _version(row: DataSourceRow) -> tuple[int, int]:
    return (row.version, epoch_ms(row.created_at))
