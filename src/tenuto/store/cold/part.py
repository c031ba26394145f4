"""The base of parts that keep cold records: one class for all stores, over a row port."""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from tenuto.store.cold.port import Parameters, RowPort
from tenuto.store.cold.rows import records_of
from tenuto.store.looking import looked_for

R = TypeVar("R", bound=Struct)


class ColdPart:
    """A part over the tables that a port reaches. `Parts` has an attribute of each such class."""

    def __init__(self, port: RowPort) -> None:
        self._port = port

    async def _found(self, kind: type[R], name: str, which: Parameters) -> list[R]:
        """The records that a statement reads; none by text or a number that cannot be stored."""
        return records_of(kind, await looked_for(self._port.rows(name, which), nothing=[]))

    async def _one(self, kind: type[R], name: str, which: Parameters) -> R | None:
        """The record that a statement reads, likewise."""
        found = await self._found(kind, name, which)
        return found[0] if found else None
