"""Lists as CSV (RFC 4180), for spreadsheets and scripts: a column for each name of the JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from tenuto.cli.views.terminal import show_as_it_is
from tenuto.model.json import JSON, Object
from tenuto.model.unsafe_text import escaped_line

_FORMULAS: Final = ("=", "+", "-", "@")
"""How a cell begins that a spreadsheet calculates."""


def show_csv(items: Sequence[Object]) -> None:
    """A line of names, and a line for each item; nothing of an empty list.

    A value that is null is an empty cell; an
    object or an array is JSON; a text that a spreadsheet would calculate begins with `'`.
    """
    names = [*dict.fromkeys(name for item in items for name in item)]
    if not names:
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(_cells(item, names) for item in items)
    show_as_it_is(text.getvalue().removesuffix("\n"))


def _cells(item: Object, names: Iterable[str]) -> list[str]:
    return [_cell(item.get(name)) for name in names]


def _cell(value: JSON) -> str:
    match value:
        case None:
            return ""
        case str():
            text = escaped_line(value)
            return f"'{text}" if text.startswith(_FORMULAS) else text
        case _:
            return escaped_line(msgspec.json.encode(value).decode())
