"""Entries of a log that were read as JSON, as the values that the core folds."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tenuto.model.durations import epoch_ms
from tenuto.model.json import Object
from tenuto.model.log import LogRow


class _Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    seq: int
    event_type: str
    node_id: str | None
    iteration: str
    attempt: int | None
    node_status: str | None
    output_variable: str | None
    payload: object
    error_message: str | None
    at: datetime


def log_row(item: Object) -> LogRow:
    """A row of the log, from an item of the history of an instance."""
    view = msgspec.convert(item, _Entry)
    return LogRow(
        seq=view.seq,
        event_type=view.event_type,
        node_id=view.node_id,
        iteration=view.iteration,
        attempt=view.attempt or 0,
        node_status=view.node_status,
        output_variable=view.output_variable,
        payload=msgspec.json.encode(view.payload) if view.payload else None,
        error_message=view.error_message,
        at_ms=epoch_ms(view.at),
    )
