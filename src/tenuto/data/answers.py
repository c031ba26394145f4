"""Rows of an answer, converted and counted while they are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from tenuto.data.failures import refused, too_large, too_many_rows
from tenuto.data.json_values import NotShown, json_value
from tenuto.data.source import Bounds, Rows

_size = msgspec.json.Encoder().encode


class Answer:
    """The rows so far."""

    def __init__(self, names: Sequence[str], bounds: Bounds) -> None:
        """`names` of the columns; QueryFailed where two are the same."""
        twice = next((each for each in names if names.count(each) > 1), None)
        if twice is not None:
            raise refused(f"two columns of the answer are called {twice!r}: name one with AS")
        self.rows: Rows = []
        self._names = names
        self._bounds = bounds
        self._left = bounds.bytes

    def add(self, rows: Iterable[Sequence[object]]) -> None:
        """Take further rows; QueryFailed beyond the bounds."""
        for row in rows:
            if len(self.rows) >= self._bounds.rows:
                raise too_many_rows(self._bounds.rows)
            try:
                found = {
                    name: json_value(value) for name, value in zip(self._names, row, strict=True)
                }
            except NotShown as error:
                raise refused(str(error)) from None
            self._left -= len(_size(found)) + 1
            if self._left < 0:
                raise too_large(self._bounds.bytes)
            self.rows.append(found)
