"""The row port of cold records, over a disk in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenuto.model.durations import from_epoch_ms
from tenuto.store.cold.port import Ask, Insert, Parameters, Row, Value
from tenuto.store.columns import InstanceColumns
from tenuto.store.memory.context import Context
from tenuto.store.memory.disk import unpack
from tenuto.store.memory.mailbox import put_mail
from tenuto.store.parts.mailbox import Mail
from tenuto.store.sqlite.row_port import SqliteRowPort
from tenuto.store.sqlite.session import Session

T = TypeVar("T")


class MemoryRowPort(SqliteRowPort):
    """Statements on the database of the disk, which has the instances that records refer to."""

    def __init__(self, context: Context) -> None:
        super().__init__(_Database(context))
        self._disk = context.disk

    async def rows(self, name: str, parameters: Parameters) -> list[Row]:
        if name == "processes_behind":
            return self._behind(parameters["changes"])
        return await super().rows(name, parameters)

    def _behind(self, changes: Value) -> list[Row]:
        assert isinstance(changes, int)
        disk = self._disk
        living = [id for id in sorted(disk.processes) if disk.lives(id) and id not in disk.guests]
        return [(id,) for id in living if disk.limits_known.get(id, 0) < changes]

    def _written(self, session: Session, asked: Ask | Insert) -> list[Row]:
        if isinstance(asked, Insert) and asked.name in ("insert_mail", "insert_grants"):
            # The mailbox is no cold record: here it is no table of this database.
            mail = [_mail(*row[:4]) for row in asked.rows]
            for each in mail:
                put_mail(self._disk, each)
            return [(each.instance_id, self._disk.owner_of(each.instance_id)) for each in mail]
        if isinstance(asked, Ask) and asked.name == "know_limits":
            # Processes are no cold records either.
            id, changes = asked.parameters["process_id"], asked.parameters["changes"]
            assert isinstance(id, str)
            assert isinstance(changes, int)
            self._disk.limits_known[id] = max(changes, self._disk.limits_known.get(id, 0))
            return []
        named = asked.parameters.get("instance_id") if isinstance(asked, Ask) else None
        instance = self._disk.instances.get(named) if isinstance(named, str) else None
        if instance is not None:
            self._disk.cold.refer_to(unpack(InstanceColumns, instance))
        return super()._written(session, asked)


def _mail(id: Value, instance_id: Value, input: Value, created_at: Value) -> Mail:
    assert isinstance(id, str)
    assert isinstance(instance_id, str)
    assert isinstance(input, bytes)
    assert isinstance(created_at, int)
    return Mail(
        id=id,
        instance_id=instance_id,
        input=input,
        created_at=from_epoch_ms(created_at),
        for_owner=True,
    )


class _Database:
    """The database of a store's disk. Nothing in it waits: schedules of tests stay the same."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._disk = context.disk

    async def look(self, job: Callable[[Session], T]) -> T:
        session = self._disk.cold.reader
        return session.look(lambda: job(session))

    async def write_beside(self, job: Callable[[Session], T]) -> T:
        self.require_writer()
        session = self._disk.cold.session
        with self._disk.transaction():
            return session.write(lambda: job(session))

    def require_writer(self) -> str:
        return self._context.require_open()
