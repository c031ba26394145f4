"""Answers of queries that may be given again for a while, in the memory of one process."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

import msgspec

from tenuto.data.source import Rows

MOST_BYTES: Final = 32_000_000
"""Of all answers that are kept."""
_OVERHEAD: Final = 500


class _Kept(NamedTuple):
    rows: bytes
    until: float


class AnswerCache:
    """The newest answers, up to so many bytes."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[object, ...], _Kept] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[object, ...], now: float) -> Rows | None:
        """An answer, a copy of its own; None if there is none, or it is too old."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept.until <= now:
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        rows: Rows = msgspec.json.decode(kept.rows)
        return rows

    def put(self, key: tuple[object, ...], rows: Rows, until: float) -> None:
        """Keep an answer until then, unless it is large beside all others."""
        encoded = msgspec.json.encode(rows)
        if len(encoded) > self._most // 8:
            return
        self._drop(key)
        self._kept[key] = _Kept(encoded, until)
        self._bytes += len(encoded) + _OVERHEAD
        while self._bytes > self._most:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: tuple[object, ...]) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._bytes -= len(kept.rows) + _OVERHEAD
