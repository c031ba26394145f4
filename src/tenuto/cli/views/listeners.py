"""Webhooks and subscriptions as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from tenuto.cli.views.tables import cell, table_of
from tenuto.cli.views.terminal import ago
from tenuto.model.json import Object
from tenuto.workspace.values import Subscription, Webhook

if TYPE_CHECKING:
    from rich.text import Text

_STYLES: Final = {
    "active": "green",
    "failing": "yellow",
    "disabled": "bold red",
    "unreadable": "bold red",
    "expired": "dim",
}


def listeners_table(found: Sequence[Webhook], now: datetime) -> Text:
    """Webhooks or subscriptions, a line each."""
    from rich.text import Text

    cells: list[list[str | Text]] = [
        [
            each.id,
            Text(_state(each), _STYLES[_state(each)]),
            str(each.pending),
            "-" if each.delivered_at is None else ago(each.delivered_at, now),
            each.url,
            " ".join(each.patterns),
            Text(cell(each.last_error or "", 80), "red"),
        ]
        for each in found
    ]
    names = ("ID", "STATE", "PENDING", "DELIVERED", "URL", "PATTERNS", "ERROR")
    return table_of(names, cells, whole=4)


def listener_json(shown: Webhook) -> Object:
    """One of them, without its secret."""
    item: Object = msgspec.to_builtins(shown)
    del item["secret"]
    if isinstance(shown, Subscription):
        del item["description"]
    return item


def _state(shown: Webhook) -> str:
    return "expired" if isinstance(shown, Subscription) and shown.expired else shown.state
