"""The forms in which the value of a secret can stand in a text: as it is, escaped and encoded."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Final
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
    place.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names`: form → what stands there instead."""
        self._names = names
        self._by_head: dict[str, list[str]] = {}
        for form in sorted(names, key=lambda each: (-len(each), each)):
            self._by_head.setdefault(form[:_HEAD], []).append(form)
        self._pattern = re.compile(_grouped(frozenset(self._by_head), depth=3), re.DOTALL)

    def replaced(self, text: str) -> str:
        """A text with the names of all forms that are in it."""
        parts: list[str] = []
        written = at = 0
        while (found := self._pattern.search(text, at)) is not None:
            start = found.start()
            form = self._form_at(text, start, found[0])
            if form is None:
                at = start + 1
                continue
            parts += (text[written:start], self._names[form])
            written = at = start + len(form)
        return "".join((*parts, text[written:])) if parts else text

    def _form_at(self, text: str, start: int, head: str) -> str | None:
        """The longest form there, where the text begins like one."""
        for length in range(len(head), 0, -1):
            for form in self._by_head.get(head[:length], ()):
                if text.startswith(form, start):
                    return form
        return None


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
