"""Refuses what no JSON document can carry, before anything looks at it more closely."""

from __future__ import annotations

import math
import re

from tenuto.definition.report import Place, kind_of
from tenuto.model.json import JSON

DEEPEST = 100
MOST_BYTES = 16_000_000

UNFIT = re.compile("[\x00\ud800-\udfff]")
"""NUL and lone surrogates."""


def is_sound(document: JSON, place: Place) -> bool:
    """Whether the document can be read further; every unfit value in it is reported."""
    size = 0
    readable = True
    todo: list[tuple[JSON, Place, int]] = [(document, place, 1)]
    while todo:
        value, there, depth = todo.pop()
        if isinstance(value, str):
            size += len(value) + 2
            _check_text(value, there)
        elif isinstance(value, dict | list):
            size += 2
            if depth > DEEPEST:
                there.wrong("TEN-1005", f"nested more than {DEEPEST} deep")
                readable = False
                continue
            items = list(value.items() if isinstance(value, dict) else enumerate(value))
            for key, inner in reversed(items):
                size += 1 + _key_size(key, there)
                todo.append((inner, there.at(key if isinstance(key, int) else str(key)), depth + 1))
        else:
            size += 4
            _check_scalar(value, there)
    if size > MOST_BYTES:
        place.wrong("TEN-1004", f"the definition has more than {MOST_BYTES // 1_000_000} MB")
        readable = False
    return readable


def _key_size(key: object, place: Place) -> int:
    if isinstance(key, int):
        return 0
    if not isinstance(key, str):
        place.wrong("TEN-1003", f"a key is {kind_of(key)}, not text")
        return 0
    _check_text(key, place)
    return len(key) + 3


def _check_text(text: str, place: Place) -> None:
    if UNFIT.search(text):
        place.wrong("TEN-1003", "the text has a NUL character or a lone surrogate")


def _check_scalar(value: JSON, place: Place) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        place.wrong("TEN-1003", f"{value} is not a JSON number")
    elif value is not None and not isinstance(value, bool | int | float):
        place.wrong("TEN-1003", f"{kind_of(value)} is not a JSON value")
