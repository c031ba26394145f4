"""A store over a PostgreSQL database that several processes share."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from tenuto.model.errors import StoreUnavailable
from tenuto.store.parts.members import BEAT_EVERY
from tenuto.store.postgres.address import LISTEN_URL, read_address
from tenuto.store.postgres.database import Database, TenantDatabase
from tenuto.store.postgres.members import enter, leave
from tenuto.store.postgres.migrations import checked_version, migrate, require_newest
from tenuto.store.postgres.queries import Column
from tenuto.store.postgres.record import PostgresParts
from tenuto.store.postgres.rhythm import DEAD_AFTER, checked_rhythm
from tenuto.store.postgres.row_security import UnguardedReads, reader_of, row_security_of
from tenuto.store.postgres.server import Server
from tenuto.store.postgres.session import Session
from tenuto.store.protocol import Parts, Store
from tenuto.store.retry_budget import RetryCounts
from tenuto.store.tenant_view import tenant_view

_POOL_PATIENCE = timedelta(seconds=30)
_MOST_VIEWS = 1_000


class PostgresStore(PostgresParts, Store):
    """Keeps everything in one schema of a database; any number of processes may have it open."""

    is_shared = True

    def __init__(
        self,
        url: str,
        *,
        lanes: int = 2,
        listen_url: str | None = None,
        schema: str | None = None,
        connections: int = 4,
        patience: timedelta = _POOL_PATIENCE,
        beat_every: timedelta = BEAT_EVERY,
        dead_after: timedelta = DEAD_AFTER,
    ) -> None:
        """`listen_url` is the server itself where `url` is a pooler, which passes on no hints.

        A process beats every `beat_every`; after `dead_after` of silence, which is three times as
        long or longer, others may take over from it: both are the same in all processes. Calls
        other than commits and heartbeats wait for one of `connections` for `patience` at most.
        """
        self.lanes = lanes
        self.beat_every = beat_every
        address = read_address(url, schema)
        self._shown = address.shown
        self._database = Database(
            address,
            read_address(listen_url, address.schema, what=LISTEN_URL) if listen_url else address,
            checked_rhythm(beat_every, dead_after),
            lanes=lanes,
            connections=connections,
            patience=patience.total_seconds(),
        )
        self._unguarded: UnguardedReads | None = None
        self._views: dict[str, Parts] = {}
        """The records of parts by tenant, kept because each request needs one."""
        super().__init__(self._database)

    @classmethod
    def reader(cls, url: str, *, schema: str | None = None) -> PostgresStore:
        """A store for processes beside the engines: it reads everything, and can only send mail."""
        store = cls(url, schema=schema)
        store._database.may_write = False
        return store

    def __repr__(self) -> str:
        return f"<PostgresStore {self._database.address.shown}>"

    @property
    def statements(self) -> int:
        """How many statements were sent since the store was opened."""
        return self._database.statements

    def record(self, recorder: Callable[[int, str, Sequence[Column]], None]) -> None:
        """Record the statements of each lane, with the lane's number, for measurements."""
        for number, lane in enumerate(self._database.lanes):
            lane.recorder = partial(recorder, number)

    @property
    def is_listening(self) -> bool:
        """Whether hints arrive at the moment."""
        return self._database.process_id is not None and self._database.listener.is_listening

    @property
    def retries(self) -> RetryCounts:
        if self._database.process_id is None:
            return RetryCounts()
        return self._database.heartbeat.server.budget.counts

    @property
    def has_hints(self) -> bool:
        # Behind a pooler without a URL of the server itself there is nothing to listen to.
        return self.is_listening or not self._database.listener.is_wanted

    @property
    def files_at(self) -> Path | None:
        # The same path for all processes of this user on this machine, and for no other user.
        folder = Path(tempfile.gettempdir()) / f"tenuto-{os.getuid()}"
        return folder / hashlib.sha256(self._shown.encode()).hexdigest()[:16]

    @property
    def most_connections(self) -> int:
        """How many connections are opened, beside those of commits and heartbeats."""
        return self._database.most_connections

    @property
    def is_pooled(self) -> bool:
        return self._database.connections.is_pooled

    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        database = self._database
        if database.process_id is not None:
            raise StoreUnavailable("the store is open already", code="TEN-4002")
        database.is_guest = is_guest
        self._unguarded = None
        self._views.clear()
        database.start(process_id)
        session = database.heartbeat
        try:
            if not database.may_write:
                await require_newest(session, await checked_version(session))
                return now
            await migrate(session, dead_after=database.rhythm.dead_after)
            await self._guard(session)
            return await enter(session, process_id, now, is_guest=is_guest)
        except BaseException:
            self.abandon()
            raise

    async def _guard(self, session: Session) -> None:
        reader = await reader_of(session)
        if reader.is_ready:
            self._database.guard(reader.name)
        else:
            advice = await row_security_of(session, reader)
            self._unguarded = UnguardedReads(self._database.address.shown, advice)

    async def close(self, now: datetime, *, clean: bool) -> None:
        database = self._database
        if database.process_id is None:
            return
        try:
            await database.listener.stop()
            if database.may_write:
                session, rhythm = database.heartbeat, database.rhythm
                await leave(session, database.process_id, now, rhythm, clean=clean)
            await self._say_goodbye()
        finally:
            self.abandon()

    async def _say_goodbye(self) -> None:
        # A courtesy, for which a process waits no longer than for a heartbeat.
        with suppress(TimeoutError):
            async with asyncio.timeout(self._database.rhythm.patience):
                if self._database.may_write:
                    # Another process takes over the open work: at once, if the hint arrives.
                    with suppress(StoreUnavailable):
                        await self.members.hint(())
                await self._database.close()

    def abandon(self) -> None:
        """Like SIGKILL: nothing is handed over, and sockets close without a goodbye message."""
        self._database.abandon()

    async def migrate(self, *, is_beside_older: bool = False) -> list[str]:
        """Migrate the schema of a store that is not open; returns the names of the migrations.

        `is_beside_older`: also beside processes whose program the new schema does not support.
        """
        session = Session(Server(self._database.address))
        dead_after = self._database.rhythm.dead_after
        try:
            done = await migrate(session, dead_after=dead_after, is_beside_older=is_beside_older)
        finally:
            await session.close()
        return [f"{each.version:04} {each.name}" for each in done]

    async def settings(self) -> dict[str, str]:
        """The settings that decide how fast and how safe this is, for people to see."""
        found = await self._database.connections.rows("settings_in_force")
        return {name: str(value) for name, value in found}

    def seen_by(self, tenant: str) -> Parts:
        guarded = self._database.guarded
        if guarded is None:
            if self._unguarded is not None:
                self._unguarded.read_for(tenant)
            tenant = ""  # one view for all
        view = self._views.get(tenant)
        if view is None:
            if len(self._views) >= _MOST_VIEWS:
                self._views.clear()
            parts: Parts = PostgresParts(TenantDatabase(self._database, guarded, tenant))
            if self.around is not None:
                parts = self.around(parts)
            view = tenant_view(parts)
            self._views[tenant] = view
        return view
