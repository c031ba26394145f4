"""Cold records of a disk in memory: an SQLite database, which is made when it is first used."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from tenuto.store.cold.port import Row
from tenuto.store.columns import InstanceColumns
from tenuto.store.sqlite.migrations import migrate
from tenuto.store.sqlite.session import Parameters, Session, as_json


class ColdDatabase:
    """The tables of the SQLite store, of which cold records use theirs."""

    def __init__(self) -> None:
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        """The connection to it."""
        if self._session is None:
            self._session = _opened()
            self._session.connection.deserialize("main", _template())
        return self._session

    def rows(self, name: str, parameters: Parameters) -> list[Row]:
        """The rows of a statement; none as long as no cold record was asked for."""
        return [] if self._session is None else self._session.rows(name, parameters)

    def refer_to(self, instance: InstanceColumns) -> None:
        """Have a row for an instance, for statements and triggers that look for it by its id."""
        if not self.session.packed("instances_by_id", (as_json([instance.id]),)):
            resting = instance._replace(current_steps="[]")
            self.session.insert("insert_instances", [(*resting, None)])

    def erase(self, instance_ids: Collection[str]) -> None:
        """Delete the rows of instances, and by triggers the rows about them."""
        session = self._session
        if session is not None:
            ids = as_json(sorted(instance_ids))
            session.write(lambda: session.run("erase_instances", (ids,)))


@cache
def _template() -> bytes:
    """An empty database: copies of it are made faster than new ones."""
    session = _opened()
    migrate(session)
    made: bytes = session.connection.serialize("main")
    session.close()
    return made


def _opened() -> Session:
    return Session(":memory:", "writer_settings", may_create=True)
