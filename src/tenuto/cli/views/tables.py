"""Tables: aligned columns; in a narrow terminal a row goes on in a second line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tenuto.cli.views.terminal import data, one_line
from tenuto.model.json import JSON
from tenuto.model.unsafe_text import escaped_line

if TYPE_CHECKING:
    from rich.text import Text

_GAP: Final = 2
"""Blanks between the columns of a table."""
_INDENT: Final = 4
"""Blanks before the second line of a row."""
_LEAST: Final = 24
"""Characters to which a column is cut; where there are fewer, it goes into the next line."""


def table_of(names: Sequence[str], rows: Sequence[Sequence[str | Text]], *, whole: int) -> Text:
    """A table whose first `whole` columns are never cut; the others end in `…` where they are.

    A column without any value is left out. On a pipe every column is there, nothing is cut, and a
    row is one line.
    """
    from rich.text import Text

    # Escaped before the widths are known: a column is as wide as what is written, a row is a line.
    cells = [
        [Text(escaped_line(cell)) if isinstance(cell, str) else cell.copy() for cell in row]
        for row in rows
    ]
    widths = [max(len(name), *(row[at].cell_len for row in cells)) for at, name in enumerate(names)]
    head = [Text(name, style="bold") for name in names]
    lines = [(0, widths)]
    if data().is_terminal:
        used = [at for at in range(len(names)) if at < whole or any(row[at].plain for row in cells)]
        head, *cells = ([row[at] for at in used] for row in (head, *cells))
        lines = _lines([widths[at] for at in used], whole, data().width)
    table = Text("\n").join(written for row in (head, *cells) for written in _written(row, lines))
    table.no_wrap = True
    return table


def cell(value: JSON, most: int) -> str:
    """A value on one line of a table; cut where people read it, and whole on a pipe."""
    return one_line(value, most if data().is_terminal else None)


def is_narrow() -> bool:
    """Whether whole ids and long words would leave no room for anything else."""
    return data().width < 130


def _lines(widths: Sequence[int], whole: int, room: int) -> list[tuple[int, list[int]]]:
    """For each line of a row its first column, and the widths of its columns."""
    least = [width if place < whole else min(width, _LEAST) for place, width in enumerate(widths)]
    starts, used = [0], 0
    for place, width in enumerate(least):
        if used and used + _GAP + width > room:
            starts.append(place)
            used = _INDENT
        used += width + (_GAP if used and place != starts[-1] else 0)
    lines: list[tuple[int, list[int]]] = []
    for number, first in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(widths)
        within = room - (_INDENT if number else 0)
        lines.append((first, _fitted(widths[first:end], least[first:end], within)))
    return lines


def _fitted(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths that fit: from the left, each column leaves to those after it what they need."""
    room -= _GAP * (len(widths) - 1)
    fitted: list[int] = []
    for place, width in enumerate(widths):
        left = room - sum(fitted) - sum(least[place + 1 :])
        fitted.append(max(min(width, left), least[place]))
    return fitted


def _written(row: Sequence[Text], lines: Sequence[tuple[int, Sequence[int]]]) -> list[Text]:
    """A row in its lines; a second line that would be empty is left out."""
    from rich.text import Text

    found: list[Text] = []
    for first, widths in lines:
        cells = row[first : first + len(widths)]
        if found and not any(cell.plain for cell in cells):
            continue
        line = Text(" " * (_INDENT if found else 0))
        for place, (each, width) in enumerate(zip(cells, widths, strict=True)):
            each.truncate(width, overflow="ellipsis")
            line.append_text(each)
            if place + 1 < len(widths):
                line.append(" " * (width - each.cell_len + _GAP))
        line.rstrip()
        found.append(line)
    return found
