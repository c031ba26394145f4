"""Listeners: the recipients of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.outbox_columns import (
    ListenerColumns,
    delivery_bounds,
    delivery_in,
    listener_columns,
    listener_of,
)
from tenuto.store.parts.listeners import (
    HASTENED,
    Backlog,
    Delivery,
    DeliveryPlace,
    Listener,
    ListenerKind,
)
from tenuto.store.sqlite.outbox_writes import Heard, heard
from tenuto.store.sqlite.part import SqlitePart, looks
from tenuto.store.sqlite.rows import with_bytes
from tenuto.store.sqlite.session import Column, Session

T = TypeVar("T")


class SqliteListeners(SqlitePart):
    """Listeners in a table of the file. What they listen for is kept in memory for turns."""

    async def put(self, listener: Listener) -> None:
        await self._changed(lambda session: session.run("put_listener", listener_columns(listener)))

    async def enable(self, listener: Listener) -> bool:
        columns = listener_columns(listener)._asdict()
        return await self._changed(lambda session: bool(session.rows("enable_listener", columns)))

    async def change(self, listener: Listener) -> bool:
        columns = listener_columns(listener)._asdict()
        return await self._changed(lambda session: bool(session.rows("change_listener", columns)))

    async def remove(self, tenant: str, kind: ListenerKind, id: str) -> bool:
        def remove(session: Session) -> bool:
            was_there = bool(session.rows("delete_listener", (tenant, kind, id)))
            if was_there:
                session.run("delete_postings_of", (id,))
            return was_there

        return await self._changed(remove)

    @looks
    def of(self, session: Session, tenant: str | None) -> list[Listener]:
        everybodys = tenant is None
        rows = (
            session.packed("all_listeners")
            if everybodys
            else session.packed("listeners", (tenant,))
        )
        found = [listener_in(row) for row in rows]
        return sorted(found, key=lambda each: (each.created_at, each.id))

    async def version(self) -> int:
        file = self._file

        def look(session: Session) -> tuple[int, Heard | None]:
            [(version,)] = session.rows("listening")
            return version, None if version == file.listening else heard(session)

        version, found = await file.read(look)
        if found is not None:
            # Other processes may have added some; this process sees the removals itself.
            file.heard = file.heard.together_with(found)
            file.listening = version
        return version

    @looks
    def backlogs(self, session: Session, tenant: str) -> dict[str, Backlog]:
        return {
            id: Backlog(count, from_epoch_ms(oldest))
            for id, count, oldest in session.packed("backlogs", (tenant,))
        }

    @looks
    def deliveries(
        self,
        session: Session,
        tenant: str,
        id: str,
        *,
        after: DeliveryPlace | None = None,
        limit: int = 100,
    ) -> list[Delivery]:
        which = delivery_bounds(tenant, id, after, limit)
        return [delivery_in(row) for row in session.rows("postings_to", which)]

    async def hasten(self, tenant: str, id: str, now: datetime) -> int:
        which: dict[str, Column] = {
            "tenant": tenant,
            "id": id,
            "now": epoch_ms(now),
            "most": HASTENED,
        }
        count, last = 0, HASTENED
        while last == HASTENED:
            last = await self._file.write_beside(
                lambda session: len(session.rows("hasten_postings", which))
            )
            count += last
        return count

    async def _changed(self, change: Callable[[Session], T]) -> T:
        """Change the listeners, and update what this process knows of them at once."""

        def work(session: Session) -> tuple[T, Heard]:
            return change(session), heard(session)

        result, self._file.heard = await self._file.write_beside(work)
        return result


def listener_in(row: Sequence[Any]) -> Listener:
    """A listener as its row was packed."""
    return listener_of(ListenerColumns._make(with_bytes(row, 6, 7)))
