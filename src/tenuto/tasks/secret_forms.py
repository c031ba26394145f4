"""The forms in which the value of a secret can stand in a text: as it is, escaped and encoded."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
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


def pattern_of(forms: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds any of the forms, the longest one where several begin alike.

    They are grouped by their first characters, so that a search does not try each at every place.
    """
    return re.compile(_grouped(frozenset(forms), depth=3), re.DOTALL)


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
