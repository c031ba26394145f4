"""The data sources and data queries of one tenant: saved, listed, removed, tried."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from tenuto.data.documents import read_query, read_source, stored_source, write_query, write_source
from tenuto.data.failures import QueryFailed
from tenuto.definition.report import did_you_mean
from tenuto.definition.slug import slug
from tenuto.model.checks import within
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Problem, TenutoError
from tenuto.model.failure import INVALID_INPUT
from tenuto.model.json import JSON, Given, Object, as_json
from tenuto.model.quotas import refuse_beyond
from tenuto.store.parts.data_queries import DataQueryRow
from tenuto.store.parts.data_sources import DataSourceRow
from tenuto.store.protocol import Parts
from tenuto.workspace.data_uses import listed, queries_of, workflows_of
from tenuto.workspace.data_values import (
    DataQueryUses,
    DataSourceUses,
    QueryError,
    QueryRun,
    SavedDataQuery,
    SavedDataSource,
    SourceTest,
)
from tenuto.workspace.definitions import candidate_ids
from tenuto.workspace.portions import page_by_name, size_of_parts
from tenuto.workspace.schedule_values import RecordMetadata
from tenuto.workspace.source import Source
from tenuto.workspace.values import MOST_ITEMS, Page

if TYPE_CHECKING:
    from tenuto.data.queries import QueryRunner

_MOST_TRIES = 10
_LONGEST_RUN = 60.0
"""Seconds that a query may take that is tried."""
_LONGEST_TEST = 10.0


R = TypeVar("R", DataSourceRow, DataQueryRow)
S = TypeVar("S", SavedDataSource, SavedDataQuery)


class _Records(ABC, Generic[R, S]):
    """What data sources and data queries have in common: documents with versions."""

    what: str
    command: str
    missing: str
    taken: str
    changed: str

    def __init__(
        self,
        source: Source,
        tenant: str,
        actor: str,
        runner: Callable[[], QueryRunner | None] = lambda: None,
    ) -> None:
        """`runner` gives what runs queries in this process; None: nothing does."""
        self._source = source
        self._tenant = tenant
        self._actor = actor
        self._runner = runner

    async def save(self, document: JSON, *, only_after: int | None = None) -> S:
        """Save one, new or not; without an id it is a new one. InvalidInput.

        The same content again makes no new version. With `only_after` it is saved only while that
        is its version; Conflict.
        """
        if isinstance(document, dict) and "id" not in document:
            return await self.create(document)
        return await self._save(document, only_after=only_after)

    async def is_saved(self, document: JSON) -> bool:
        """Whether saving a document would change nothing; false also where it is not valid."""
        try:
            content, fields, _ = await self._checked(document)
        except InvalidInput:
            return False
        before = await self._find(fields["id"])
        return before is not None and before.document == content

    async def create(self, document: JSON) -> S:
        """Save a new one; Conflict where its id is taken. One without an id gets a free one."""
        if not isinstance(document, dict) or "id" in document:
            return await self._save(document, is_new=True)
        base = slug(document, self.what.replace(" ", "-"))
        for id in candidate_ids(base, self._source.ids):
            if await self._find(id) is None:
                with suppress(Conflict):
                    return await self._save({"id": id, **document}, is_new=True)
        raise Conflict(f"there is a {self.what} {base}", code=self.taken)

    async def get(self, id: str) -> S:
        """One as it is saved; NotFound."""
        return self._shown(await self._row(id))

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[S]:
        """A page of them, ordered by id; long texts end it before its limit."""
        within(limit, "limit", 1, MOST_ITEMS)
        rows, next_cursor = await self._page(limit, cursor)
        return Page(items=[self._shown(row) for row in rows], next_cursor=next_cursor)

    async def list(self) -> list[S]:
        """All of them, ordered by id."""
        found: list[S] = []
        cursor: str | None = None
        while True:
            page = await self.page(limit=MOST_ITEMS, cursor=cursor)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                return found

    # -- inner

    async def _save(
        self, document: JSON, *, only_after: int | None = None, is_new: bool = False
    ) -> S:
        for _ in range(_MOST_TRIES):
            content, fields, problems = await self._checked(document)
            id: str = fields["id"]
            before = await self._find(id)
            if before is not None and is_new:
                raise Conflict(f"there is a {self.what} {id}", code=self.taken)
            present = 0 if before is None else before.version
            if only_after is not None and only_after != present:
                raise Conflict(
                    f"the version of the {self.what} {id} is {present}", code=self.changed
                )
            if before is not None and before.document == content:
                return self._shown(before, problems)
            if before is None:
                await self._refuse_beyond_quota()
            now = self._source.clock.now()
            row = self._made(
                tenant=self._tenant,
                version=present + 1,
                document=content,
                created_at=now if before is None else before.created_at,
                created_by=self._actor if before is None else before.created_by,
                changed_at=now,
                changed_by=self._actor,
                **fields,
            )
            more = len(content) - (0 if before is None else len(before.document))
            if await self._put(row, more):
                return self._shown(row, problems)
        raise Conflict(f"the {self.what} is changed by others all the time", code=self.changed)

    async def _row(self, id: str) -> R:
        row = await self._find(id)
        if row is None:
            rows, _ = await self._page(MOST_ITEMS, None)
            known = [each.id for each in rows]
            advice = did_you_mean(id, known, f"`tenuto {self.command} list` shows them.")
            raise NotFound(f"there is no {self.what} {id}", code=self.missing, advice=advice)
        return row

    async def _page(self, limit: int, cursor: str | None) -> tuple[Sequence[R], str | None]:
        return await page_by_name(
            limit,
            cursor,
            self._rows,
            name=attrgetter("id"),
            size=lambda row: size_of_parts(row.document),
        )

    @property
    def _seen(self) -> Parts:
        return self._source.store.seen_by(self._tenant)

    def _required_runner(self) -> QueryRunner:
        runner = self._runner()
        if runner is None:
            raise TenutoError("this process runs no data queries", code="TEN-4000")
        return runner

    @abstractmethod
    async def _checked(self, document: JSON) -> tuple[bytes, dict[str, Any], Iterable[Problem]]:
        """The content of a document, the columns of its row, and its problems."""

    @abstractmethod
    async def _find(self, id: str) -> R | None:
        """The row with an id."""

    @abstractmethod
    async def _rows(self, after: str, limit: int) -> Sequence[R]:
        """Rows behind an id, ordered by id."""

    @abstractmethod
    async def _put(self, row: R, more: int) -> bool:
        """Save a row with so many bytes more than before; False: another was saved meanwhile."""

    @abstractmethod
    def _made(self, **fields: Any) -> R:  # noqa: ANN401
        """A row of these columns."""

    @abstractmethod
    async def _refuse_beyond_quota(self) -> None:
        """QuotaExceeded where there is no room for another."""

    @abstractmethod
    def _shown(self, row: R, problems: Iterable[Problem] = ()) -> S:
        """A row as principals see it."""


class DataSources(_Records[DataSourceRow, SavedDataSource]):
    """The databases that queries of a tenant read."""

    what = "data source"
    command = "data-sources"
    missing = "TEN-3142"
    taken = "TEN-3143"
    changed = "TEN-3144"

    async def uses(self, id: str) -> DataSourceUses:
        """The data queries that name a data source; NotFound."""
        await self._row(id)
        return DataSourceUses(queries=await queries_of(self._seen, self._tenant, id))

    async def remove(self, id: str) -> None:
        """Remove a data source; Conflict while queries name it. NotFound."""
        await self._row(id)
        if await self._source.store.data_sources.remove(self._tenant, id):
            return
        used = await queries_of(self._seen, self._tenant, id)
        if used:
            said = listed("data query", used)
            raise Conflict(f"the data source {id} is used by {said}", code="TEN-3145")
        await self._row(id)

    async def test(self, id: str) -> SourceTest:
        """Connect to the database of a data source, by this process; NotFound."""
        await self._row(id)
        begun = self._source.clock.ticks()
        try:
            tried = await self._required_runner().try_source(
                self._tenant, id, seconds=_LONGEST_TEST
            )
        except QueryFailed as error:
            took = _milliseconds(self._source.clock.ticks() - begun)
            return SourceTest(ok=False, server=None, duration_ms=took, error=_error(error))
        return SourceTest(ok=True, server=tried.version, duration_ms=_milliseconds(tried.seconds))

    async def _checked(self, document: JSON) -> tuple[bytes, dict[str, Any], Iterable[Problem]]:
        read = read_source(document)
        if read.source is None:
            raise InvalidInput("the data source cannot be saved", list(read.problems))
        content = msgspec.json.encode(write_source(read.source), order="deterministic")
        return content, {"id": read.source.id}, read.problems

    async def _find(self, id: str) -> DataSourceRow | None:
        return await self._seen.data_sources.get(self._tenant, id)

    async def _rows(self, after: str, limit: int) -> Sequence[DataSourceRow]:
        return await self._seen.data_sources.page(self._tenant, after=after, limit=limit)

    async def _put(self, row: DataSourceRow, more: int) -> bool:
        _ = more  # a source is small
        return await self._source.store.data_sources.save(row)

    def _made(self, **fields: Any) -> DataSourceRow:  # noqa: ANN401
        return DataSourceRow(**fields)

    async def _refuse_beyond_quota(self) -> None:
        most = self._source.settings.quotas.data_sources
        used = await self._seen.data_sources.stored(self._tenant, most + 1)
        refuse_beyond("data_sources", used, most)

    def _shown(self, row: DataSourceRow, problems: Iterable[Problem] = ()) -> SavedDataSource:
        return msgspec.convert(
            {
                "readOnly": True,
                "maxConnections": 5,
                "statementTimeout": "PT30S",
                **msgspec.json.decode(row.document),
                **_common(row, problems),
            },
            SavedDataSource,
        )


class DataQueries(_Records[DataQueryRow, SavedDataQuery]):
    """Statements with named parameters, which workflows run by their ids."""

    what = "data query"
    command = "data-queries"
    missing = "TEN-3146"
    taken = "TEN-3147"
    changed = "TEN-3148"

    async def uses(self, id: str) -> DataQueryUses:
        """The workflows that run a data query; NotFound."""
        await self._row(id)
        return DataQueryUses(
            workflows=await workflows_of(self._seen, self._source.plans.values, self._tenant, id)
        )

    async def remove(self, id: str) -> None:
        """Remove a data query; Conflict while workflows run it. NotFound."""
        row = await self._row(id)
        used = await self._workflows(id)
        if used:
            said = listed("workflow", used)
            raise Conflict(f"the data query {id} is used by {said}", code="TEN-3149")
        if await self._source.store.data_queries.remove(self._tenant, id):
            self._source.document_bytes.removed("data_query_bytes", self._tenant, len(row.document))

    async def run(self, id: str, args: Given = None) -> QueryRun:
        """Try a data query, by this process; NotFound. InvalidInput where arguments do not fit."""
        await self._row(id)
        given = {} if args is None else as_json(args)
        begun = self._source.clock.ticks()
        try:
            ran = await self._required_runner().run(self._tenant, id, given, seconds=_LONGEST_RUN)
        except QueryFailed as error:
            if error.failure.code == INVALID_INPUT:
                raise InvalidInput(error.failure.message, _problems(error)) from None
            took = _milliseconds(self._source.clock.ticks() - begun)
            return QueryRun(
                rows=[], row_count=0, duration_ms=took, cached=False, error=_error(error)
            )
        return QueryRun(
            rows=ran.rows,
            row_count=len(ran.rows),
            duration_ms=_milliseconds(ran.seconds),
            cached=ran.is_cached,
        )

    async def _workflows(self, id: str) -> Sequence[str]:
        return await workflows_of(self._seen, self._source.plans.values, self._tenant, id)

    async def _checked(self, document: JSON) -> tuple[bytes, dict[str, Any], Iterable[Problem]]:
        given = document.get("dataSourceId") if isinstance(document, dict) else None
        of = None
        if isinstance(given, str):
            of = await self._seen.data_sources.get(self._tenant, given)
        source = None if of is None else stored_source(msgspec.json.decode(of.document))
        read = read_query(document, None if source is None else source.kind)
        problems = list(read.problems)
        if isinstance(given, str) and given and of is None:
            known = await self._seen.data_sources.page(self._tenant, limit=MOST_ITEMS)
            problems.append(
                Problem(
                    code="TEN-2778",
                    path="$.dataSourceId",
                    message=f"there is no data source {given[:128]!r}",
                    advice=did_you_mean(
                        given, [each.id for each in known], "Save the data source first."
                    ),
                )
            )
        if read.query is None or any(each.severity == "error" for each in problems):
            raise InvalidInput("the data query cannot be saved", problems)
        content = msgspec.json.encode(write_query(read.query), order="deterministic")
        fields = {"id": read.query.id, "data_source_id": read.query.data_source_id}
        return content, fields, problems

    async def _find(self, id: str) -> DataQueryRow | None:
        return await self._seen.data_queries.get(self._tenant, id)

    async def _rows(self, after: str, limit: int) -> Sequence[DataQueryRow]:
        return await self._seen.data_queries.page(self._tenant, after=after, limit=limit)

    async def _put(self, row: DataQueryRow, more: int) -> bool:
        save = partial(self._source.store.data_queries.save, row)
        return await self._source.document_bytes.keep("data_query_bytes", self._tenant, more, save)

    def _made(self, **fields: Any) -> DataQueryRow:  # noqa: ANN401
        return DataQueryRow(**fields)

    async def _refuse_beyond_quota(self) -> None:
        most = self._source.settings.quotas.data_queries
        used = await self._seen.data_queries.stored(self._tenant, most + 1)
        refuse_beyond("data_queries", used, most)

    def _shown(self, row: DataQueryRow, problems: Iterable[Problem] = ()) -> SavedDataQuery:
        return msgspec.convert(
            {"maxRows": 10_000, **msgspec.json.decode(row.document), **_common(row, problems)},
            SavedDataQuery,
        )


def _common(row: DataSourceRow | DataQueryRow, problems: Iterable[Problem]) -> dict[str, Any]:
    return {
        "id": row.id,
        "version": row.version,
        "metadata": RecordMetadata(
            created_by=row.created_by or "",
            created_at=row.created_at,
            last_modified_at=row.changed_at,
        ),
        "problems": tuple(each for each in problems if each.severity == "warning"),
    }


def _error(error: QueryFailed) -> QueryError:
    failure = error.failure
    return QueryError(
        code=failure.code,
        message=failure.message,
        retryable=failure.retryable,
        details=failure.details,
    )


def _problems(error: QueryFailed) -> list[Problem]:
    details: Object = error.failure.details if isinstance(error.failure.details, dict) else {}
    found = details.get("problems")
    return [
        Problem(
            code=str(each["code"]),
            path=str(each["path"]),
            message=str(each["message"]),
            advice="Give an object with a value for each parameter.",
        )
        for each in (found if isinstance(found, list) else [])
        if isinstance(each, dict)
    ]


def _milliseconds(seconds: float) -> int:
    return math.ceil(seconds * 1000)
