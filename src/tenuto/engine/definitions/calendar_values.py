"""The calendars of one tenant as a value: each is read and resolved when it is first asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TypeVar

import msgspec
from msgspec import Struct

from tenuto.calendars import Calendar, Unresolved, WorkingCalendar, resolve
from tenuto.calendars.documents import stored_calendar
from tenuto.model.json import JSON, Object
from tenuto.store.parts.calendars import CalendarRow

Made = TypeVar("Made")

_RULE = 10_000
"""The holidays of a country cost as much as so many bytes of a document."""
_DATE = 50
_MOST_STEPS = 1_000
"""So many calendars that extend each other are followed; saved ones are fewer."""


class Head(Struct, frozen=True):
    """What a document says beside its dates and rules, which are counted and not read."""

    extends: str | None = None
    holidays: tuple[msgspec.Raw, ...] = ()
    dates: tuple[msgspec.Raw, ...] = ()


class Known(Struct, frozen=True):
    """What is known of one version of a calendar."""

    extends: str | None
    cost: int
    """About what it takes to resolve it alone, in bytes of a document."""


_head = msgspec.json.Decoder(Head).decode


class Read(Mapping[str, Calendar]):
    """Calendars by id, each read from its document when it is first asked for."""

    def __init__(
        self, rows: Mapping[str, CalendarRow], before: dict[str, tuple[CalendarRow, Calendar]]
    ) -> None:
        """`before`: those that were read before, with the rows that they were read from."""
        self._rows = rows
        self.read = _still_there(before, rows)

    def __getitem__(self, id: str) -> Calendar:
        row = self._rows[id]
        known = self.read.get(id)
        if known is None:
            known = self.read[id] = (row, calendar_of(row))
        return known[1]

    def __contains__(self, id: object) -> bool:
        # That of a Mapping would read the document.
        return id in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class WithOne(Mapping[str, Calendar]):
    """Calendars as they would be with another one, or with one that is changed."""

    def __init__(self, others: Mapping[str, Calendar], one: Calendar) -> None:
        self._others = others
        self._one = one

    def __getitem__(self, id: str) -> Calendar:
        return self._one if id == self._one.id else self._others[id]

    def __contains__(self, id: object) -> bool:
        return id == self._one.id or id in self._others

    def __iter__(self) -> Iterator[str]:
        yield from (id for id in self._others if id != self._one.id)
        yield self._one.id

    def __len__(self) -> int:
        return len(self._others) + (self._one.id not in self._others)


class Resolved(Mapping[str, WorkingCalendar]):
    """The calendars of a tenant in a year; it never changes."""

    def __init__(
        self, rows: Mapping[str, CalendarRow], year: int, before: Resolved | None = None
    ) -> None:
        """`before`: the value before a change; what was read and resolved then stays so."""
        self.rows = rows
        self.year = year
        self.size = sum(len(row.document) for row in rows.values())
        """The bytes of all documents."""
        self.calendars: Read = Read(rows, before.calendars.read if before is not None else {})
        self.heads: dict[str, tuple[CalendarRow, Known]] = {}
        """What was looked up in documents, for a later value."""
        self.found: dict[tuple[str, ...], WorkingCalendar | None] = {}
        """What was resolved, by the versions of a calendar and those it extends."""
        if before is not None:
            self.heads = _still_there(before.heads, rows)
        if before is not None and before.year == year:
            there = {f"{id}:{row.version}" for id, row in rows.items()}
            found = before.found.copy()  # in one step: threads add to it
            self.found = {key: one for key, one in found.items() if there.issuperset(key)}

    @cached_property
    def digest(self) -> str:
        """Of their versions, and of the year, from which holidays follow."""
        versions = sorted(f"{id} {row.version}" for id, row in self.rows.items())
        text = "\n".join([str(self.year), *versions])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def in_year(self, year: int) -> Resolved:
        """The same calendars with the holidays of another year."""
        return Resolved(self.rows, year, self)

    def with_rows(
        self, rows: Mapping[str, CalendarRow], calendar: Calendar | None = None
    ) -> Resolved:
        """After a change; `calendar`: what a changed one reads as, if that is known."""
        after = Resolved(rows, self.year, self)
        if calendar is not None and calendar.id in rows:
            after.calendars.read[calendar.id] = (rows[calendar.id], calendar)
        return after

    def chain(self, id: str) -> list[str]:
        """The ids of a calendar and of those that it extends, as far as they exist."""
        ids = [id]
        while (parent := self.extends(ids[-1])) is not None and parent not in ids:
            ids.append(parent)
            if parent not in self.rows or len(ids) > _MOST_STEPS:
                break
        return ids

    def extends(self, id: str) -> str | None:
        """The calendar that one extends, which is found without reading its dates."""
        return self._known(id).extends

    def heirs(self, id: str) -> list[str]:
        """The calendars that extend one, or another one that does."""
        return [each for each in self.rows if each != id and id in self.chain(each)]

    def cost(self, id: str) -> int:
        """About what it takes to resolve a calendar, in bytes of a document."""
        return sum(self._known(each).cost for each in self.chain(id))

    def _known(self, id: str) -> Known:
        row = self.rows.get(id)
        if row is None:
            return _NOTHING
        known = self.heads.get(id)
        if known is None:
            known = self.heads[id] = (row, _known_of(row))
        return known[1]

    def __getitem__(self, id: str) -> WorkingCalendar:
        calendar = self.calendars[id]
        key = tuple(f"{each}:{self._version(each)}" for each in self.chain(id))
        if key not in self.found:
            resolved = resolve(calendar, self.calendars, self.year)
            self.found[key] = None if isinstance(resolved, Unresolved) else resolved
        found = self.found[key]
        if found is None:
            raise KeyError(id)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    def _version(self, id: str) -> int:
        return self.rows[id].version if id in self.rows else 0


def _still_there(
    before: dict[str, tuple[CalendarRow, Made]], rows: Mapping[str, CalendarRow]
) -> dict[str, tuple[CalendarRow, Made]]:
    """What was made of rows that are still there; threads add to it meanwhile."""
    return {id: made for id, made in before.copy().items() if rows.get(id) is made[0]}


def calendar_of(row: CalendarRow) -> Calendar:
    """The calendar of a stored version, as it was written."""
    # One of a newer program, or with a zone that is gone, has no working time.
    return stored_calendar(document_of(row)) or Calendar(id=row.id)


def document_of(row: CalendarRow) -> Object:
    """The document of a stored version."""
    document: Object = msgspec.json.decode(row.document)
    return document


def cost_to_check(document: JSON, others: Resolved) -> int:
    """About what it takes to check a document, with the calendars that extend it."""
    if not isinstance(document, dict):
        return 0
    own = sum(
        each * len(value)
        for name, each in (("holidays", _RULE), ("dates", _DATE))
        if isinstance(value := document.get(name), list)
    )
    id, parent = document.get("id"), document.get("extends")
    if isinstance(parent, str) and parent in others.rows:
        own += others.cost(parent)
    heirs = others.heirs(id) if isinstance(id, str) else []
    return own * (1 + len(heirs)) + sum(map(others.cost, heirs))


def _known_of(row: CalendarRow) -> Known:
    with suppress(msgspec.MsgspecError):
        head = _head(row.document)
        return Known(head.extends, _RULE * len(head.holidays) + _DATE * len(head.dates))
    return _NOTHING


_NOTHING = Known(None, 0)
