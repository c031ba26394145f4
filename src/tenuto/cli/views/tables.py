"""Tables that fit a terminal: what names something is whole, what explains it is cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tenuto.cli.views.terminal import data

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_GAP: Final = 2
_LEAST: Final = 8


def table_of(names: Sequence[str], rows: Sequence[Sequence[str | Text]], *, whole: int) -> Table:
    """A table whose first `whole` columns are never cut; the others share what room is left."""
    from rich.table import Table
    from rich.text import Text

    widths = [max(len(name), *(len(row[at]) for row in rows)) for at, name in enumerate(names)]
    fitted = _fitted(widths, whole, data().width)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    if (needed := sum(fitted) + _GAP * len(fitted)) > data().width:
        # The terminal breaks such lines; cut, a name would be none.
        table.width = needed
    for name, width in zip(names, fitted, strict=True):
        table.add_column(name[:width], no_wrap=True, width=width)
    for row in rows:
        cells = [cell.copy() if isinstance(cell, Text) else Text(cell) for cell in row]
        for cell, width in zip(cells, fitted, strict=True):
            cell.truncate(width, overflow="ellipsis")
        table.add_row(*cells)
    return table


def is_narrow() -> bool:
    """Whether whole ids and long words would leave no room for anything else."""
    return data().width < 130


def _fitted(widths: Sequence[int], whole: int, room: int) -> list[int]:
    """Widths that fit; from the left, each column leaves a little to those after it."""
    room -= sum(widths[:whole]) + _GAP * len(widths)
    fitted = list(widths[:whole])
    for place in range(whole, len(widths)):
        left_for_others = _LEAST * (len(widths) - place - 1)
        fitted.append(max(min(widths[place], room - left_for_others), 1))
        room -= fitted[-1]
    return fitted
