"""Parts of the workspace of a store that need an engine, or a store that is made first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Literal, ParamSpec

from tenuto.cli.backends.by_engine import by_engine, starting
from tenuto.cli.backends.place import ACTOR
from tenuto.cli.backends.reader import make_room
from tenuto.cli.backends.recorded import recorded
from tenuto.compose import MEMORY, is_postgres, migrate_store, sqlite_path
from tenuto.model.json import Object
from tenuto.workspace import audit_values, protocol
from tenuto.workspace.data_sources import DataQueries, DataSources
from tenuto.workspace.keys import TenantKeys
from tenuto.workspace.stored_calendars import StoredCalendars
from tenuto.workspace.stored_limits import StoredLimits
from tenuto.workspace.stored_schedules import StoredSchedules
from tenuto.workspace.values import BulkOperation, ListedTask, Page

if TYPE_CHECKING:
    from tenuto.cli.backends.store_workspace import StoreWorkspace
    from tenuto.workspace.engine_workspace import EngineWorkspace

P = ParamSpec("P")


class _Part:
    """A part of a workspace; `name` is its property there."""

    name: ClassVar[str]

    def __init__(self, space: StoreWorkspace) -> None:
        self.space = space

    @asynccontextmanager
    async def lent(self, *, is_new: bool = False) -> AsyncIterator[object]:
        """The same part with an engine."""
        async with self.space.lent(is_new=is_new) as space:
            yield getattr(space, self.name)


@recorded(protocol.TaskDefinitions)
class StoreTaskDefinitions(_Part):
    """Tasks that the tenant has declared."""

    name = "task_definitions"

    add = by_engine(protocol.TaskDefinitions.add)
    put = by_engine(protocol.TaskDefinitions.put)
    get = by_engine(protocol.TaskDefinitions.get)
    remove = by_engine(protocol.TaskDefinitions.remove)
    execute = starting(protocol.TaskDefinitions.execute)
    list = by_engine(protocol.TaskDefinitions.list)

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[ListedTask]:
        """A page of tasks that are declared or taken by workers, read beside an engine."""
        from tenuto.tasks.registry import Registry
        from tenuto.workspace.known_tasks import known_tasks

        space = self.space
        seen, now = space.reader.store.seen_by(space.tenant), space.reader.clock.now()
        # This process runs no task: what it has imported does not count.
        return await known_tasks(seen, space.tenant, now, Registry(), limit=limit, cursor=cursor)


@recorded(protocol.Schedules, audit_values.schedule_before)
class StoreSchedules(StoredSchedules):
    """What is started at certain times: changes need an engine, which runs backfills too."""

    def __init__(self, space: StoreWorkspace) -> None:
        super().__init__(space.reader, space.tenant, space.calendars)
        self.space = space

    @asynccontextmanager
    async def lent(self, *, is_new: bool = False) -> AsyncIterator[object]:
        """The same part with an engine."""
        async with self.space.lent(is_new=is_new) as space:
            yield space.schedules

    save = by_engine(protocol.Schedules.save, is_new=True)
    pause = by_engine(protocol.Schedules.pause)
    resume = by_engine(protocol.Schedules.resume)
    trigger = by_engine(protocol.Schedules.trigger)
    preview_document = by_engine(protocol.Schedules.preview_document)
    remove = by_engine(protocol.Schedules.remove)
    _count = by_engine(protocol.Schedules.backfill)

    async def backfill(
        self,
        id: str,
        start: datetime,
        end: datetime,
        *,
        concurrency: int = 10,
        overlap: Literal["allow", "skip", "queue", "cancel-running"] = "allow",
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Start the ticks of a range that were not started; run here, unless a process does."""
        if dry_run:
            return await self._count(
                id, start, end, concurrency=concurrency, overlap=overlap, dry_run=True
            )
        made = await self.space.in_bulk(
            lambda space: space.schedules.backfill(
                id, start, end, concurrency=concurrency, overlap=overlap, key=key
            )
        )
        assert made.id is not None
        return await self.space.bulk.get(made.id)


@recorded(protocol.Calendars, audit_values.calendar_before)
class StoreCalendars(StoredCalendars):
    """Business calendars: changes need an engine."""

    def __init__(self, space: StoreWorkspace) -> None:
        super().__init__(space.reader, space.tenant)
        self.space = space

    @asynccontextmanager
    async def lent(self, *, is_new: bool = False) -> AsyncIterator[object]:
        """The same part with an engine."""
        async with self.space.lent(is_new=is_new) as space:
            yield space.calendars

    save = by_engine(protocol.Calendars.save, is_new=True)
    import_dates = by_engine(protocol.Calendars.import_dates)
    remove = by_engine(protocol.Calendars.remove)


@recorded(protocol.DataSources, audit_values.data_source_before)
class StoreDataSources(DataSources):
    """Databases that data queries read: this process tries them with an engine."""

    def __init__(self, space: StoreWorkspace) -> None:
        super().__init__(space.reader, space.tenant, ACTOR)
        self.space = space

    @asynccontextmanager
    async def lent(self, *, is_new: bool = False) -> AsyncIterator[object]:
        """The same part with an engine."""
        async with self.space.lent(is_new=is_new) as space:
            yield space.data_sources

    test = by_engine(protocol.DataSources.test)


@recorded(protocol.DataQueries, audit_values.data_query_before)
class StoreDataQueries(DataQueries):
    """Statements that workflows run by their ids: this process tries them with an engine."""

    def __init__(self, space: StoreWorkspace) -> None:
        super().__init__(space.reader, space.tenant, ACTOR)
        self.space = space

    @asynccontextmanager
    async def lent(self, *, is_new: bool = False) -> AsyncIterator[object]:
        """The same part with an engine."""
        async with self.space.lent(is_new=is_new) as space:
            yield space.data_queries

    run = by_engine(protocol.DataQueries.run)


@recorded(protocol.Limits)
class StoreLimits(StoredLimits):
    """Limits and queue: changes need an engine."""

    def __init__(self, space: StoreWorkspace) -> None:
        super().__init__(space.reader, space.tenant)
        self.space = space

    @asynccontextmanager
    async def lent(self, *, is_new: bool = False) -> AsyncIterator[object]:
        """The same part with an engine."""
        async with self.space.lent(is_new=is_new) as space:
            yield space.limits

    set = by_engine(protocol.Limits.set)
    promote = by_engine(protocol.Limits.promote)
    hold = by_engine(protocol.Limits.hold)
    release = by_engine(protocol.Limits.release)
    add_rule = by_engine(protocol.Limits.add_rule)
    remove_rule = by_engine(protocol.Limits.remove_rule)


@recorded(protocol.TestRuns)
class StoreTestRuns(_Part):
    """Runs of definitions that are not saved."""

    name = "test_runs"

    start = by_engine(protocol.TestRuns.start)
    publish = by_engine(protocol.TestRuns.publish)
    stop = by_engine(protocol.TestRuns.stop)


def _run_here(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, BulkOperation]],
) -> Callable[Concatenate[StoreBulk, P], Coroutine[Any, Any, BulkOperation]]:
    """A method that gives an operation work: it is run here, unless a process does that."""
    ask = by_engine(method)

    @wraps(method)
    async def called(self: StoreBulk, /, *args: P.args, **kwargs: P.kwargs) -> BulkOperation:
        if kwargs.get("dry_run"):
            return await ask(self, *args, **kwargs)

        def start(space: EngineWorkspace) -> Awaitable[BulkOperation]:
            made: Awaitable[BulkOperation] = getattr(space.bulk, method.__name__)(*args, **kwargs)
            return made

        made = await self.space.in_bulk(start)
        assert made.id is not None
        return await self.get(made.id)

    return called


@recorded(protocol.Bulk)
class StoreBulk(_Part):
    """The bulk operations of a tenant.

    Processes that work on the store run them; where there is none, this process does, before the
    call returns.
    """

    name = "bulk"

    start = _run_here(protocol.Bulk.start)
    start_on_dead_letters = _run_here(protocol.Bulk.start_on_dead_letters)
    cancel = _run_here(protocol.Bulk.cancel)
    get = by_engine(protocol.Bulk.get)
    list = by_engine(protocol.Bulk.list)


class StoreKeys(TenantKeys):
    """The API keys of a tenant."""

    def __init__(self, space: StoreWorkspace) -> None:
        reader = space.reader
        super().__init__(
            reader.store,
            reader.clock,
            reader.ids,
            tenant=space.tenant,
            actor=ACTOR,
            reason=space.reason,
        )
        self._url = space.url

    async def create(
        self,
        name: str,
        *,
        role: str,
        scopes: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> Object:
        """Make a key, which is shown this once; a file that does not exist is made."""
        url = self._url
        if url != MEMORY and not is_postgres(url) and not sqlite_path(url).exists():
            make_room(url)
            await migrate_store(url)
        return await super().create(name, role=role, scopes=scopes, expires_at=expires_at)
