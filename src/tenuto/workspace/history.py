"""Entries of an instance's log, as users see them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec import inspect

from tenuto.model.durations import from_epoch_ms, iso
from tenuto.model.json import JSON, Object
from tenuto.model.log import KINDS, SHAPE_KEY, LogRow
from tenuto.model.moments import moments_in


def history_view(row: LogRow) -> Object:
    """An entry of the log in JSON."""
    payload: Object = msgspec.json.decode(row.payload) if row.payload else {}
    payload.pop(SHAPE_KEY, None)
    for path in _MOMENTS.get(row.event_type, ()):
        _spell(payload, path)
    return {
        "seq": row.seq,
        "eventType": row.event_type,
        "nodeId": row.node_id,
        "iteration": row.iteration,
        "attempt": None if row.node_id is None else row.attempt,
        "nodeStatus": row.node_status,
        "outputVariable": row.output_variable,
        "payload": payload,
        "errorMessage": row.error_message,
        "at": iso(from_epoch_ms(row.at_ms)),
    }


def _spell(value: JSON, path: tuple[str, ...]) -> None:
    """Write the moment at `path`, if there is one, as every other moment is written."""
    *inner, last = path
    for name in inner:
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, dict) and isinstance(text := value.get(last), str):
        value[last] = iso(msgspec.convert(text, datetime))


_MOMENTS: Mapping[str, list[tuple[str, ...]]] = {
    name: list(moments_in(inspect.type_info(kind))) for name, kind in KINDS.items()
}
