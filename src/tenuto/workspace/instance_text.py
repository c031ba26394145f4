"""Text search in instances, as lists show them: no index has their texts, so that rows are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from tenuto.model.json import JSON
from tenuto.store.parts.instances import InstanceRow

MOST_SEARCHED: Final = 10_000
"""So many instances are searched for one page; its cursor goes on from there."""
_OF_ERRORS: Final = ("code", "message", "stepId")
_OF_CANCELLATIONS: Final = ("reason", "by")


def has_text(row: InstanceRow, text: str) -> bool:
    """Whether a text is in the names, steps, error or cancellation of an instance; any case."""
    wanted = text.casefold()
    return any(wanted in each.casefold() for each in _texts(row))


def _texts(row: InstanceRow) -> Iterator[str]:
    yield row.definition_id
    yield row.correlation_id or ""
    yield from row.current_steps
    for stored, names in ((row.last_error, _OF_ERRORS), (row.cancellation, _OF_CANCELLATIONS)):
        found: JSON = msgspec.json.decode(stored) if stored else None
        if isinstance(found, dict):
            yield from (text for name in names if isinstance(text := found.get(name), str))
