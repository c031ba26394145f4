"""Refuses values that no JSON document can carry, before all other checks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from tenuto.definition.report import Place
from tenuto.model.json import JSON, kind_of
from tenuto.model.pauses import between_parts

DEEPEST = 100
MOST_BYTES = 16_000_000
MOST_BITS = 13_000
"""Of a whole number: about 3,900 digits."""

UNFIT = re.compile("[\x00\ud800-\udfff]")
"""NUL and lone surrogates."""


def is_sound(document: JSON, place: Place) -> bool:
    """Whether the document can be checked further; every unfit value in it is reported."""
    walk = _Walk(place)
    walk.value(document)
    while walk.open and walk.size <= MOST_BYTES:
        walk.go_on()
    if walk.size > MOST_BYTES:
        place.wrong("TEN-1004", f"the definition has more than {MOST_BYTES // 1_000_000} MB")
    return walk.is_readable and walk.size <= MOST_BYTES


class _Walk:
    """A walk over every value that keeps only the path to the present one."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.open: list[Iterator[tuple[str | int, object]]] = []
        self._keys: list[str | int] = []
        self.size = 0
        """About how many bytes the document has as text."""
        self.is_readable = True

    def go_on(self) -> None:
        """Look at the next value of the innermost container, or leave it."""
        between_parts()
        for key, inner in self.open[-1]:
            self._keys[-1] = key
            if isinstance(key, str):
                self.size += len(key) + 4
                self._text(key)
            if self.value(inner):
                return
        self.open.pop()
        self._keys.pop()

    def value(self, value: object) -> bool:
        """Look at a value; whether it is a container that was entered."""
        self.size += 2
        match value:
            case str():
                self.size += len(value)
                self._text(value)
            case dict() | list() if len(self.open) == DEEPEST:
                self._refuse("TEN-1005", f"nested more than {DEEPEST} deep")
                self.is_readable = False
            case dict() if not all(isinstance(key, str) for key in value):
                self._refuse("TEN-1003", "a key is not text")
                self.is_readable = False
            case dict():
                self._enter(iter(value.items()))
                return True
            case list():
                self._enter(enumerate(value))
                return True
            case float() if not math.isfinite(value):
                self._refuse("TEN-1003", f"{value} is not a JSON number")
            case int() if value.bit_length() > MOST_BITS:
                self._refuse("TEN-1003", "the number has too many digits")
            case None | bool() | int() | float():
                pass
            case _:
                self._refuse("TEN-1003", f"{kind_of(value)} is not a JSON value")
        return False

    def _enter(self, items: Iterator[tuple[str | int, object]]) -> None:
        self.open.append(items)
        self._keys.append(0)

    def _text(self, text: str) -> None:
        if UNFIT.search(text):
            self._refuse("TEN-1003", "the text has a NUL character or a lone surrogate")

    def _refuse(self, code: str, message: str) -> None:
        place = self._place
        for key in self._keys:
            place = place.at(key)
        place.wrong(code, message)
