"""Deployed definitions as a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from tenuto.cli.views.tables import cell, table_of
from tenuto.cli.views.terminal import ago
from tenuto.model.json import Object

if TYPE_CHECKING:
    from rich.text import Text


def definitions_table(found: Sequence[Object], now: datetime) -> Text:
    """Definitions, a line each."""
    cells: list[list[str | Text]] = [
        [
            str(each["id"]),
            str(each["version"]),
            ago(datetime.fromisoformat(str(each["createdAt"])), now),
            cell(each["name"] or "", 60),
            cell(each["description"] or "", 80),
        ]
        for each in found
    ]
    return table_of(("ID", "VERSION", "SAVED", "NAME", "DESCRIPTION"), cells, whole=3)
