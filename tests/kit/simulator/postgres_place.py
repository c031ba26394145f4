"""A real PostgreSQL database as the disk of simulated processes.

Virtual time cannot wait for a socket: each verb is done at once, in a thread with a loop of its
own, while the simulated world stands still.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from tenuto.store.parts.members import BEAT_EVERY
from tenuto.store.postgres import PostgresStore
from tenuto.store.protocol import Store
from tenuto.testing.wrapped_store import Call, WrappedStore
from tests.kit.postgres_database import connected, fresh_database
from tests.kit.simulator.places import SlotTables, slot_tables
from tests.kit.simulator.tables import OWED
from tests.store.postgres_place import TestedStore, let_time_pass

T = TypeVar("T")


class _Elsewhere:
    """A loop in a thread of its own, for the whole test run."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


_elsewhere: list[_Elsewhere] = []


def _run(work: Coroutine[Any, Any, T]) -> T:
    if not _elsewhere:
        _elsewhere.append(_Elsewhere())
    return _elsewhere[0].run(work)


class _Blocking(WrappedStore):
    """A store whose every verb has been done when it returns."""

    def __init__(self, inner: PostgresStore) -> None:
        super().__init__(inner)
        self.lanes = 1
        self.beat_every = BEAT_EVERY
        self.is_shared = False
        """Simulated processes come one after the other, and hear of each other's ends at once."""

    def abandon(self) -> None:
        async def leave() -> None:
            self.inner.abandon()

        _run(leave())

    async def called(self, call: Call) -> Any:  # noqa: ANN401
        return _run(call())


class PostgresTables:
    """What stands in a database, for whoever judges what was done with it."""

    def __init__(self, url: str) -> None:
        self.url = url

    def owners(self) -> dict[str, str]:
        return dict(self._pairs("SELECT instance_id, process_id FROM tenuto.owners"))

    def mail(self) -> list[tuple[str, str]]:
        return self._pairs("SELECT id, instance_id FROM tenuto.mailbox")

    def keys(self) -> dict[str, str]:
        return dict(self._pairs("SELECT instance_id, key FROM tenuto.idempotency_keys"))

    def definitions(self) -> dict[str, str]:
        return dict(self._pairs("SELECT id, definition_id FROM tenuto.workflow_instances"))

    def owed(self) -> list[tuple[str, str]]:
        rows = [f"SELECT '{table}', {column} FROM tenuto.{table}" for table, column in OWED.items()]
        return self._pairs(" UNION ALL ".join(rows))

    def slots(self) -> SlotTables:
        return slot_tables(self._rows, "tenuto.")

    def _pairs(self, sql: str) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self._rows(sql)]

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        async def read() -> Sequence[Sequence[Any]]:
            async with connected(self.url) as connection:
                return await connection.fetch(sql)

        return _run(read())


class InPostgres(PostgresTables):
    """Keeps everything in this test worker's database."""

    def __init__(self) -> None:
        super().__init__(_run(fresh_database("tenuto_simulated")))
        self._gone: list[str] = []

    def store(self) -> Store:
        return _Blocking(TestedStore(self.url, self._gone))

    def reader(self) -> Store:
        return _Blocking(PostgresStore.reader(self.url))

    def presume_dead(self, process_id: str) -> None:
        _run(let_time_pass(self.url, process_id))
