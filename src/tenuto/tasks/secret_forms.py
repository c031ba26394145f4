"""The forms in which the value of a secret can stand in a text: as it is, escaped and encoded."""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from os.path import commonprefix
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus

_LEAST_LINE: Final = 12
"""Characters of a line of a value of several lines that is looked for by itself."""
_FRAME: Final = "-----"
"""How lines around a key or a certificate begin, which are no secret."""
_LEAST_PART: Final = 6
"""Characters of what base64 makes of a value that does not begin where a group does."""
_SKIPPED: Final = (0, 2, 3)
"""Characters of base64 that also depend on so many bytes before the value: none, one, two."""
_HEAD: Final = 32
"""Characters of a form that are searched for; what follows is compared where they are found."""
_STEP: Final = 1_000
"""Characters that are compared at once."""
_MOST_STEPS: Final = 10_000
"""Times that forms are compared further in one text: some 30 ms."""
_LAST: Final = "\U0010ffff"
_ALPHABET: Final = str.maketrans("+/", "-_")
_HEX: Final = re.compile(r"%[0-9A-F]{2}")


def forms_of(value: str) -> frozenset[str]:
    """Every form of a value that is looked for; none is shorter than the value may be."""
    whole = frozenset().union(*map(_of_text, (value, *_lines(value))))
    return whole | _of_bytes(value.encode())


def _lines(value: str) -> list[str]:
    """The lines of a value of several: logs and tracebacks show each by itself."""
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) == 1:
        return []
    return [line for line in lines if len(line) >= _LEAST_LINE and not line.startswith(_FRAME)]


def _of_text(text: str) -> set[str]:
    found = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    found.add(repr(text)[1:-1])
    # A slash may be escaped in JSON, and may stay as it is in a URL.
    found |= {each.replace("/", "\\/") for each in tuple(found)}
    encoded = {quote(text, safe=""), quote(text), quote(text, safe="!'()*"), quote_plus(text)}
    found |= encoded | {_HEX.sub(lambda found: found[0].lower(), each) for each in encoded}
    return found


def _of_bytes(data: bytes) -> set[str]:
    found = {data.hex(), data.hex().upper()}
    for before, skipped in enumerate(_SKIPPED):
        text = base64.b64encode(bytes(before) + data).decode()
        # The last group may go on with what follows: only what the value alone decides counts.
        part = text[skipped : (before + len(data)) * 8 // 6]
        if before == 0 or len(part) >= _LEAST_PART:
            found |= {part, part.translate(_ALPHABET)}
    return found


class Forms:
    """Finds any of the forms in a text, the longest one where several begin alike.

    The pattern has only the beginnings of long ones: a megabyte of secrets would take seconds to
    compile. They are grouped by their first characters, so that a search does not try each at every
    place. Which form it is, if any, is looked up where a beginning was found.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names`: form → what stands there instead."""
        self._names = names
        self._ordered = _Ordered(names)
        heads = frozenset(form[:_HEAD] for form in names)
        self._pattern = re.compile(_grouped(heads, depth=_HEAD), re.DOTALL)

    def replaced(self, text: str) -> str:
        """A text with the names of all forms that are in it.

        Where it has very many beginnings of forms that part one after the other, what follows one
        of them is left out: it would take seconds to know how far each goes.
        """
        parts: list[str] = []
        written = at = 0
        reading = _Reading(text)
        while (found := self._pattern.search(text, at)) is not None:
            start = found.start()
            form = reading.longest(self._ordered, start)
            if reading.given_up is not None:
                # A thousand characters of a secret stand there, and it is not known how many more.
                return "".join((*parts, text[written:start], self._names[reading.given_up]))
            if form is None:
                at = start + 1
                continue
            parts += (text[written:start], self._names[form])
            written = at = start + len(form)
        return "".join((*parts, text[written:])) if parts else text


class _Found(NamedTuple):
    """What stands where a text goes on like this, as far as it was compared."""

    form: str | None
    """The longest form that ends there."""
    beginning: str = ""
    """What all forms that go on have in common."""
    deeper: _Ordered | None = None
    """These forms."""
    some: str | None = None
    """One of them."""


_NOTHING: Final = _Found(None)


class _Ordered:
    """Forms in their order, where a text has its place before one and behind another.

    Those that begin alike are not tried one by one: the place alone tells the longest that the text
    begins with. Many secrets of one kind have a long beginning in common.
    """

    def __init__(self, forms: Iterable[str], depth: int = 0) -> None:
        """`depth`: characters that all have in common, which are not compared here."""
        ends: dict[str, str] = {}
        going_on: dict[str, list[str]] = {}
        for form in forms:
            cut = form[depth : depth + _STEP]
            further = going_on.setdefault(cut, [])
            if len(form) > depth + _STEP:
                further.append(form)
            else:
                ends[cut] = form
        places: dict[str, _Found] = {"": _NOTHING}
        around: list[tuple[str, _Found]] = []
        """What the texts at a place begin with: each begins with the one before."""

        def leave() -> None:
            if (behind := _behind(around.pop()[0])) is not None:
                places[behind] = around[-1][1] if around else _NOTHING

        for cut in sorted(going_on):
            while around and not cut.startswith(around[-1][0]):
                leave()
            longest = ends.get(cut, around[-1][1].form if around else None)
            found = _Found(longest, *_deeper(going_on[cut]))
            places[cut] = found
            around.append((cut, found))
        while around:
            leave()
        self._places = sorted(places)
        self._found = [places[each] for each in self._places]

    def at(self, text: str) -> _Found:
        """What a text begins with; it is cut where the forms are."""
        return self._found[bisect_right(self._places, text) - 1]


def _deeper(forms: list[str]) -> tuple[str, _Ordered | None, str | None]:
    if not forms:
        return "", None, None
    beginning = commonprefix([min(forms), max(forms)])  # noqa: RUF071 - of texts, not of paths
    return beginning, _Ordered(forms, len(beginning)), forms[0]


class _Reading:
    """One text in which forms are looked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next: dict[str, int] = {}
        """Where long beginnings stand next: they are not compared again at every place before."""
        self._steps_left = _MOST_STEPS
        self.given_up: str | None = None
        """A form of which at least the beginning stands there, where no steps were left."""

    def longest(self, ordered: _Ordered, start: int) -> str | None:
        """The longest form there."""
        longest: str | None = None
        at = start
        while True:
            found = ordered.at(self._text[at : at + _STEP])
            longest = found.form or longest
            if found.deeper is None or not self._stands(found.beginning, start):
                return longest
            self._steps_left -= 1
            if self._steps_left < 0:
                self.given_up = found.some
                return None
            ordered, at = found.deeper, start + len(found.beginning)

    def _stands(self, beginning: str, start: int) -> bool:
        place = self._next.get(beginning, -1)
        if place >= start:
            return place == start
        if self._text.startswith(beginning, start):
            return True
        place = self._text.find(beginning, start)
        self._next[beginning] = len(self._text) if place < 0 else place
        return False


def _behind(beginning: str) -> str | None:
    """The first text behind all that begin like this; None if there is none."""
    kept = beginning.rstrip(_LAST)
    return kept[:-1] + chr(ord(kept[-1]) + 1) if kept else None


def _grouped(forms: frozenset[str], depth: int) -> str:
    ordered = sorted(forms, key=lambda each: (-len(each), each))
    if depth == 0 or len(ordered) == 1:
        return "|".join(map(re.escape, ordered))
    groups: dict[str, set[str]] = {}
    for each in ordered:
        groups.setdefault(each[:1], set()).add(each[1:])
    parts = [
        f"{re.escape(first)}(?:{_grouped(frozenset(rest), depth - 1)})" if first else ""
        for first, rest in groups.items()
    ]
    return "|".join(parts)
