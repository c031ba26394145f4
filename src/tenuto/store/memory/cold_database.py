"""Cold records of a disk in memory: an SQLite database, which is made for the first write."""

from __future__ import annotations

import threading
from collections.abc import Collection
from functools import cache

from tenuto.store.cold.port import Row
from tenuto.store.columns import InstanceColumns
from tenuto.store.sqlite.migrations import migrate
from tenuto.store.sqlite.session import IN_MEMORY, Parameters, Session, as_json


class ColdDatabase:
    """The tables of the SQLite store, of which cold records use theirs."""

    def __init__(self) -> None:
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        """The connection to it, for writing."""
        if self._session is None:
            self._session = _copy()
        return self._session

    @property
    def reader(self) -> Session:
        """The connection to it, or to an empty one as long as nothing was written."""
        if self._session is not None:
            return self._session
        if not hasattr(_this_thread, "empty"):
            _this_thread.empty = _copy()
        empty: Session = _this_thread.empty
        return empty

    def rows(self, name: str, parameters: Parameters) -> list[Row]:
        """The rows of a statement; none as long as no cold record was written."""
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


_this_thread = threading.local()
"""A simulation opens thousands of stores that write no cold record: they read one empty copy."""


def _copy() -> Session:
    session = _opened()
    session.connection.deserialize("main", _template())
    return session


@cache
def _template() -> bytes:
    """An empty database: copies of it are made faster than new ones."""
    session = _opened()
    migrate(session)
    made: bytes = session.connection.serialize("main")
    session.close()
    return made


def _opened() -> Session:
    return Session(IN_MEMORY, "writer_settings", may_create=True)
