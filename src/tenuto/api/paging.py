"""Pages of lists: which part a client asks for, and the page that it gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Annotated, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from msgspec import Meta

from tenuto.api.shapes import MOST_ITEMS, Answer, Query
from tenuto.model.durations import epoch_ms
from tenuto.workspace.cursors import Milliseconds, read_cursor, write_cursor

T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")

Limit: TypeAlias = Annotated[int, Meta(ge=1, le=MOST_ITEMS, description="Most items of a page.")]


class PageQuery(Query):
    """Which part of a list."""

    limit: Limit = 100
    cursor: str | None = None


class Page(Answer, Generic[T]):
    """A part of a list, and how to go on with it."""

    items: list[T]
    next_cursor: str | None

    def of(self, item: Callable[[T], S]) -> Page[S]:
        """The same page, with each item in another form."""
        return Page(items=list(map(item, self.items)), next_cursor=self.next_cursor)


def page_of(
    rows: Sequence[R],
    item: Callable[[R], T],
    place: Callable[[R], object],
    *,
    has_more: bool,
) -> Page[T]:
    """The page of these rows; where there are more, its cursor is the place of the last."""
    return Page(
        items=[item(row) for row in rows],
        next_cursor=write_cursor(place(rows[-1])) if has_more and rows else None,
    )


class Record(Protocol):
    """A record with an id and a creation time."""

    @property
    def id(self) -> str: ...

    @property
    def created_at(self) -> datetime: ...


RecordT = TypeVar("RecordT", bound=Record)


class Place(NamedTuple):
    """The last record of a page."""

    at_ms: Milliseconds
    id: str


def place_of(record: Record) -> Place:
    """The place of a record in a list that is ordered by creation time."""
    return Place(epoch_ms(record.created_at), record.id)


def oldest_first(records: Iterable[RecordT], asked: PageQuery) -> Page[RecordT]:
    """A page of a list that is read whole, in order of creation.

    The cursor names the last record and not a count: a new record may come from a process whose
    clock is behind.
    """
    place = read_cursor(asked.cursor, Place)
    rest = [each for each in records if place is None or place_of(each) > place]
    has_more = len(rest) > asked.limit
    return Page(
        items=rest[: asked.limit],
        next_cursor=write_cursor(place_of(rest[asked.limit - 1])) if has_more else None,
    )
