"""An event as it is published, before it is stored in the inbox."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from tenuto.model.errors import Problem
from tenuto.model.json import JSON


class GivenEvent(Struct, frozen=True, kw_only=True):
    """A valid event that is not stored yet."""

    pattern: str
    payload: JSON = None
    id: str | None = None
    """None: it gets a new id, and is never a duplicate."""
    correlation_id: str | None = None
    timestamp: datetime | None = None


Reading: TypeAlias = GivenEvent | tuple[Problem, ...]
"""An event, or all its problems."""
