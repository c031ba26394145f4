"""Entries of an instance's log, as users see them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import get_args

import msgspec
from msgspec import inspect

from tenuto.model.durations import from_epoch_ms, iso
from tenuto.model.entries import Entry
from tenuto.model.json import JSON, Object
from tenuto.model.log import SHAPE_KEY, LogRow
from tenuto.model.moments import EACH, moments_in


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
    """Write the moments at `path`, if there are any, as every other moment is written."""
    name, *rest = path
    if name == EACH:
        if isinstance(value, list):
            for index, each in enumerate(value):
                value[index] = _spelled(each, tuple(rest))
    elif isinstance(value, dict) and name in value:
        value[name] = _spelled(value[name], tuple(rest))


def _spelled(value: JSON, rest: tuple[str, ...]) -> JSON:
    """A moment as it is written; anything else with the moments inside of it."""
    if rest:
        _spell(value, rest)
        return value
    return iso(msgspec.convert(value, datetime)) if isinstance(value, str) else value


def _moments() -> Mapping[str, set[tuple[str, ...]]]:
    """Where moments are in payloads, by the type of the entry; all kinds of a type together."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for kind in get_args(Entry):
        found.setdefault(kind.event_type, set()).update(moments_in(inspect.type_info(kind)))
    return found


_MOMENTS = _moments()
