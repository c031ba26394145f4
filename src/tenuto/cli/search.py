"""The search of instances, as in the web UI: `status:failed workflow:order since:1h`.

`-q` of commands and the search box of the pages have one language; `tests/cli/searches.json` is
read by the tests of both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenuto.model.durations import in_utc
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.workspace.values import ANY_INSTANCE, InstanceFilter

OPTION: Final = "-q"
_CODE: Final = "TEN-2000"
_ALIASES: Final[Mapping[str, tuple[Status, ...]]] = {
    "waiting": (Status.WAITING_FOR_EVENT,),
    "queued": (Status.CREATED,),
    "done": (Status.COMPLETED,),
    "active": (Status.CREATED, Status.RUNNING, Status.WAITING_FOR_EVENT, Status.PAUSED),
    "ended": (Status.COMPLETED, Status.FAILED, Status.CANCELLED),
}
_TEXTS: Final = {
    "workflow": "workflow",
    "step": "current_step",
    "correlation": "correlation_id",
    "key": "key",
    "event": "waiting_for",
    "parent": "parent_id",
    "text": "text",
}
"""Qualifiers whose value is a text, and the fields of a filter."""
_MOMENTS: Final = {
    "since": "created_from",
    "before": "created_before",
    "changed-since": "updated_from",
    "changed-before": "updated_before",
}
EXAMPLES: Final = {
    "status": "status:failed,cancelled",
    "workflow": "workflow:order",
    "step": "step:charge",
    "correlation": "correlation:ORD-17",
    "key": "key:order-17",
    "id": "id:019b7d4f-…",
    "event": "event:payment.received",
    "parent": "parent:019b7d4f-…",
    "text": 'text:"card declined"',
    "var": "var.region=eu",
    **dict.fromkeys(("since", "before", "changed-since", "changed-before"), "since:1h"),
    "is": "is:any",
}
"""Every qualifier, with an example."""
_HEAD: Final = re.compile(r"(?:var\.([^\s:=\"]+)|([A-Za-z][\w-]*))[:=]")
_AGO: Final = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+")
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_LITERAL: Final = re.compile(r"-?\d|(?:true|false|null)\Z|[\[{]")
_MOMENT: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?"
)


class Search(NamedTuple):
    """What a text asks for."""

    which: InstanceFilter
    variables: Object | None


class Term(Struct, frozen=True, kw_only=True):
    """One part of a text: `qualifier:value`, `var.name=value`, or a word alone."""

    qualifier: str
    """Empty for a word alone; `var` for a variable."""
    name: str
    """Of a variable."""
    value: str
    is_quoted: bool
    begin: int
    end: int


def read_search(text: str, now: datetime) -> Search:
    """The filter that a text stands for; InvalidInput with every problem and its place.

    Without a word about it roots alone are found, unless instances are named.
    """
    return _Reading(text, now).search()


class _Reading:
    """Reads one text."""

    def __init__(self, text: str, now: datetime) -> None:
        self._text = text
        self._now = now
        self._problems: list[Problem] = []
        self._fields: dict[str, Any] = {}
        self._statuses: set[Status] = set()
        self._ids: dict[str, None] = {}
        self._variables: Object = {}
        self._scope: str | None = None

    def search(self) -> Search:
        terms = self._terms()
        for term in terms:
            self._read(term)
        variable = next((term for term in terms if term.qualifier == "var"), None)
        if variable is not None and "workflow" not in self._fields:
            self._refuse(
                variable,
                "variables are found within one workflow",
                "Add `workflow:` with its id.",
            )
        if self._problems:
            raise InvalidInput("the search cannot be read", self._problems)
        is_narrow = bool(self._ids) or "parent_id" in self._fields or "key" in self._fields
        which = replace(
            ANY_INSTANCE,
            **self._fields,
            ids=tuple(self._ids),
            status=tuple(each for each in Status if each in self._statuses),
            roots=self._scope == "root" or (self._scope is None and not is_narrow),
        )
        return Search(which, self._variables or None)

    # -- the parts of the text

    def _terms(self) -> list[Term]:
        terms: list[Term] = []
        at = 0
        while at < len(self._text):
            if self._text[at].isspace():
                at += 1
                continue
            head = _HEAD.match(self._text, at)
            begin, at = at, at if head is None else head.end()
            value, at, is_quoted = self._value(at)
            qualifier = ""
            if head is not None:
                qualifier = "var" if head[1] is not None else head[2].lower()
            terms.append(
                Term(
                    qualifier=qualifier,
                    name="" if head is None else head[1] or "",
                    value=value,
                    is_quoted=is_quoted,
                    begin=begin,
                    end=at,
                )
            )
        return terms

    def _value(self, begin: int) -> tuple[str, int, bool]:
        """A value, where it ends, and whether it is in quotation marks."""
        text = self._text
        if not text.startswith('"', begin):
            end = begin
            while end < len(text) and not text[end].isspace():
                end += 1
            return text[begin:end], end, False
        value, at = "", begin + 1
        while at < len(text) and text[at] != '"':
            if text[at] == "\\" and at + 1 < len(text):
                at += 1
            value += text[at]
            at += 1
        if at == len(text):
            advice = 'Add `"` at the end of the value.'
            self._refuse_at(begin, at, "the quotation mark is not closed", advice)
        return value, min(at + 1, len(text)), True

    # -- their meaning

    def _read(self, term: Term) -> None:
        qualifier, value = term.qualifier, term.value
        if qualifier not in ("", "var") and not value:
            advice = f"Write `{EXAMPLES[qualifier]}`." if qualifier in EXAMPLES else "Remove it."
            self._refuse(term, f"`{qualifier}` has no value", advice)
        elif qualifier == "status":
            self._read_statuses(term)
        elif qualifier == "id":
            self._ids |= dict.fromkeys(each for each in value.split(",") if each)
        elif qualifier in _TEXTS:
            self._set(term, _TEXTS[qualifier], value)
        elif qualifier in _MOMENTS:
            self._read_moment(term)
        elif qualifier == "var":
            if term.name in self._variables:
                self._refuse(term, f"`var.{term.name}` is given twice", "Keep one of them.")
            self._variables[term.name] = value if term.is_quoted else _literal(value)
        elif qualifier == "is":
            if value not in ("root", "any"):
                self._refuse(term, f"`is:{value}` is not known", "It is `is:root` or `is:any`.")
            self._scope = value
        elif qualifier:
            self._refuse(term, f"`{qualifier}` is not a qualifier", _advice(qualifier))
        else:
            self._read_word(term)

    def _read_statuses(self, term: Term) -> None:
        for word in filter(None, term.value.split(",")):
            found = _statuses(word)
            self._statuses |= {*found}
            if not found:
                known = ", ".join(each.value.lower() for each in Status)
                self._refuse(term, f"`{word}` is not a status", f"It is one of {known}.")

    def _read_moment(self, term: Term) -> None:
        moment = _moment(term.value, self._now)
        if moment is None:
            advice = "Write a duration such as `1h` or `2d`, or a date such as `2026-11-01`."
            self._refuse(term, f"`{term.value}` is not a time", advice)
        else:
            self._set(term, _MOMENTS[term.qualifier], moment)

    def _read_word(self, term: Term) -> None:
        word = term.value
        with suppress(ValueError):
            if str(UUID(word)) == word.lower():
                self._ids[word.lower()] = None
                return
        if not term.is_quoted and _statuses(word):
            self._refuse(term, f"`{word}` is a status", f"Write `status:{word.lower()}`.")
        elif word:
            self._set(term, "correlation_id", word)

    def _set(self, term: Term, field: str, value: str | datetime) -> None:
        if self._fields.setdefault(field, value) != value:
            named = f"`{term.qualifier}`" if term.qualifier else "a word"
            self._refuse(term, f"{named} is given twice", "Keep one of them.")

    def _refuse(self, term: Term, message: str, advice: str) -> None:
        self._refuse_at(term.begin, term.end, message, advice)

    def _refuse_at(self, begin: int, end: int, message: str, advice: str) -> None:
        path = f"{OPTION} {self._text[begin:end]}"
        self._problems.append(Problem(code=_CODE, path=path, message=message, advice=advice))


def _advice(qualifier: str) -> str:
    near = [name for name in EXAMPLES if name.startswith(qualifier) or qualifier.startswith(name)]
    if near:
        return f"Did you mean {' or '.join(f'`{name}`' for name in near)}?"
    return f"Qualifiers are {', '.join(EXAMPLES)}; quote other words."


def _statuses(word: str) -> tuple[Status, ...]:
    spelled = word.upper().replace("-", "_")
    return _ALIASES.get(word.lower()) or tuple(each for each in Status if each.value == spelled)


def _moment(text: str, now: datetime) -> datetime | None:
    """A duration before `now`, a date or a timestamp, `today`; None: it is none."""
    with suppress(ValueError, OverflowError):
        if text == "today":
            return now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
        if _AGO.fullmatch(text):
            seconds = sum(float(count) * _UNITS[unit] for count, unit in _PART.findall(text))
            return now - timedelta(seconds=seconds)
        if _MOMENT.fullmatch(text):
            # Without a zone it is the user's: a date alone is their midnight.
            return in_utc(datetime.fromisoformat(text).astimezone())
    return None


def _literal(text: str) -> JSON:
    if not _LITERAL.match(text):
        return text
    try:
        value: JSON = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return value
