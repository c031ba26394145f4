"""Histories as they compare between runs and stores: without what differs by nature."""

from __future__ import annotations

import hashlib
import json

from tests.kit.checker.expression import Json
from tests.kit.checker.moments import moment_ms
from tests.kit.checker.record import Fields

_MOMENTS = frozenset({"due", "since", "timeoutAt", "failAt", "graceUntil", "until", "deadline"})


def normalised(history: list[Fields], instance_id: str) -> list[Fields]:
    """Rows with moments relative to the first row, and without the instance's own id."""
    origin = moment_ms(history[0]["at"]) or 0 if history else 0
    return [_relative(row, origin, instance_id) for row in history]


def digest(history: list[Fields], instance_id: str) -> str:
    """Equal exactly where `normalised` is (I47)."""
    text = json.dumps(normalised(history, instance_id), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _relative(value: Json, origin: int, instance_id: str) -> Json:
    if isinstance(value, dict):
        return {
            name: _moment(inner, origin)
            if name in _MOMENTS or name == "at"
            else _relative(inner, origin, instance_id)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_relative(inner, origin, instance_id) for inner in value]
    if isinstance(value, str):
        return value.replace(instance_id, "<instance>")
    return value


def _moment(value: Json, origin: int) -> Json:
    moment = moment_ms(value)
    return value if moment is None else moment - origin
