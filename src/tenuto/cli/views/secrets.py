"""Secrets as a table and as JSON, without their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from tenuto.cli.views.tables import table_of
from tenuto.model.durations import iso
from tenuto.model.json import Object
from tenuto.model.moments import spelled
from tenuto.workspace.secret_values import Secret

if TYPE_CHECKING:
    from rich.text import Text


def secrets_table(found: Sequence[Secret]) -> Text:
    """Secrets, a line each."""
    cells: list[list[str | Text]] = [
        [
            each.name,
            iso(each.changed_at),
            each.changed_by or "",
            "every step" if each.destinations is None else ", ".join(each.destinations),
            ", ".join([*each.used_by.workflows, *each.used_by.data_sources]),
        ]
        for each in found
    ]
    return table_of(("NAME", "CHANGED", "BY", "FOR", "USED BY"), cells, whole=2)


def as_json(found: Secret) -> Object:
    """A secret with the names of the API."""
    return cast("Object", spelled(found))
