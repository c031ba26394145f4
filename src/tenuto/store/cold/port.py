"""How cold records reach their tables: statements by name, whatever the database.

A statement stands in `cold/queries.sql`, for all databases alike, or by the same name in the
`queries.sql` of the one that needs another. Parameters have names; a list is an array, or JSON
where a database has no arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

T = TypeVar("T")

Value: TypeAlias = object
"""Text, a whole number, bytes, a truth value, None, or a list of these."""
Parameters: TypeAlias = Mapping[str, Value]
Row: TypeAlias = tuple[Any, ...]


class Ask(NamedTuple):
    """A statement that a script asks for."""

    name: str
    parameters: Parameters


class Insert(NamedTuple):
    """Many rows that a script inserts with one statement."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Value]]


class Together(NamedTuple):
    """Statements that are sent at once: none sees what another one writes.

    No two of them write the same row. The script is sent the rows of each.
    """

    statements: Sequence[Ask | Insert]


class Each(NamedTuple):
    """A statement that reads, once for each of these rows of parameters, all sent at once.

    The script is sent the rows of each time. Parameters are texts and whole numbers.
    """

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str | int]]


Script: TypeAlias = Generator[Ask | Insert | Together | Each, list[Any], T]
"""Statements of one transaction: it yields each, and is sent the rows."""


class RowPort(Protocol):
    """Statements by name."""

    async def rows(self, name: str, parameters: Parameters) -> list[Row]:
        """The rows of one statement that reads."""
        ...

    async def write(self, name: str, parameters: Parameters) -> list[Row]:
        """The rows of one statement by the engine that changes rows; durable when this returns."""
        ...

    async def write_beside(self, name: str, parameters: Parameters) -> list[Row]:
        """The same, also by a process beside the engine, whose store was opened for reading."""
        ...

    async def transaction(self, script: Callable[[], Script[T]], *, is_pass: bool = False) -> T:
        """What a script returns, once its statements are durable; also beside the engine.

        The script may be begun several times. A pass begins with the lock of the limits.

        StoreUnavailable says so where it is not known whether they were written.
        """
        ...
