"""Pages of a list that is read whole, in the order in which what is in it was made."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar

from tenuto.api.cursors import Milliseconds, read_cursor, write_cursor
from tenuto.model.durations import epoch_ms


class Made(Protocol):
    """What has an id, and a moment at which it was made."""

    @property
    def id(self) -> str: ...

    @property
    def created_at(self) -> datetime: ...


T = TypeVar("T", bound=Made)


class Place(NamedTuple):
    """Where a page ends."""

    at_ms: Milliseconds
    id: str


def place_of(made: Made) -> Place:
    """Where a page ends whose last this is."""
    return Place(epoch_ms(made.created_at), made.id)


def oldest_first(whole: Iterable[T], cursor: str | None, limit: int) -> tuple[list[T], str | None]:
    """A page, and the cursor of the next one; None: it is the last.

    What is new may come from a process whose clock is behind: no count says where a page ended.
    """
    place = read_cursor(cursor, Place)
    rest = [each for each in whole if place is None or place_of(each) > place]
    has_more = len(rest) > limit
    return rest[:limit], write_cursor(place_of(rest[limit - 1])) if has_more else None
