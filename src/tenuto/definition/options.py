"""Reads `options`, the settings of a whole definition."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from tenuto.definition.fields import UNUSABLE, Field, Fields, Record
from tenuto.definition.language_kinds import Template
from tenuto.definition.plain_kinds import Flag, ListOf, OneOf, Text, Whole
from tenuto.definition.report import Place, shown
from tenuto.definition.settings import RETRY, SLA
from tenuto.definition.time_kinds import InCalendar, Length, MomentOrTemplate, Span
from tenuto.model.encrypted import is_encrypted
from tenuto.model.graph import Concurrency, Debounce, Options, Rate
from tenuto.model.json import JSON, Object, kind_of
from tenuto.model.slots import MOST_AT_ONCE

_FIELDS = Fields(Field("fields", "fields", ListOf(Text()), required=True))


class Encrypt:
    """All values (`true`), or an object: its `fields` are paths that are never searchable."""

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, bool):
            return value
        if isinstance(value, list):
            names = ListOf(Text()).read(value, place)
            return value if isinstance(names, tuple) else UNUSABLE
        if isinstance(value, dict):
            return UNUSABLE if _FIELDS.read(value, place) is None else value
        place.wrong(
            "TEN-1010", f"expected true, false or an object with fields, found {kind_of(value)}"
        )
        return UNUSABLE

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"anyOf": [{"type": "boolean"}, _FIELDS.schema(), ListOf(Text()).schema()]}


def refuse_searchable(options: Options, place: Place) -> None:
    """Report the names of `searchable` that are encrypted."""
    for index, name in enumerate(options.searchable):
        if is_encrypted(options.encrypt, name):
            said = f"`{name}` is encrypted, and instances are to be found by it"
            place.at("searchable").at(index).wrong("TEN-1680", said)


_KEY = Template("text", is_of_start=True)

_CONCURRENCY = Record(
    Concurrency,
    Fields(
        Field("limit", "limit", Whole(least=1, most=MOST_AT_ONCE), required=True),
        Field("key", "key", _KEY),
        Field("holdWhileWaiting", "hold_while_waiting", Flag()),
        Field("onFull", "on_full", OneOf("queue", "reject", "replace-oldest", "keep-newest")),
    ),
)

LONGEST_PACE = timedelta(days=31)
"""The longest time of `debounce` and `rate`."""


class Pace(Span):
    """A time over which starts are counted."""

    def __init__(self) -> None:
        super().__init__(may_be_zero=False)

    def read(self, value: JSON, place: Place) -> object:
        span = super().read(value, place)
        if isinstance(span, timedelta) and not _SHORTEST_PACE <= span <= LONGEST_PACE:
            advice = "It must be from `PT0.001S` to `P31D`."
            place.wrong("TEN-1014", f"{shown(value)} is out of bounds", advice)
            return UNUSABLE
        return span


_SHORTEST_PACE = timedelta(milliseconds=1)


class Debouncing(Record):
    """`debounce`: its `max` is not shorter than its `period`."""

    def read(self, value: JSON, place: Place) -> object:
        debounce = super().read(value, place)
        is_short = (
            isinstance(debounce, Debounce)
            and debounce.max is not None
            and debounce.max < debounce.period
        )
        if is_short:
            advice = "Make `max` at least as long as `period`, or leave it out."
            place.at("max").wrong("TEN-1014", "it is shorter than `period`", advice)
            return UNUSABLE
        return debounce


_DEBOUNCE = Debouncing(
    Debounce,
    Fields(
        Field("period", "period", Pace(), required=True),
        Field("key", "key", _KEY),
        Field("max", "max", Pace()),
    ),
)
_RATE = Record(
    Rate,
    Fields(
        Field("limit", "limit", Whole(least=1, most=MOST_AT_ONCE), required=True),
        Field("per", "per", Pace(), required=True),
        Field("key", "key", _KEY),
    ),
)

OPTIONS = Record(
    Options,
    Fields(
        Field("compensateOnFailure", "compensate_on_failure", Flag()),
        Field("timeout", "timeout", InCalendar(Length())),
        Field("sla", "sla", SLA),
        Field("deadline", "deadline", MomentOrTemplate()),
        Field("cancelGrace", "cancel_grace", Span()),
        Field("retry", "retry", RETRY),
        Field("concurrency", "concurrency", _CONCURRENCY),
        Field("debounce", "debounce", _DEBOUNCE),
        Field("rate", "rate", _RATE),
        Field("retention", "retention", Length()),
        Field("searchable", "searchable", ListOf(Text())),
        Field("encrypt", "encrypt", Encrypt()),
    ),
)
