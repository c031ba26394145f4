"""An event as somebody hands it in, before it has a moment and a place in the inbox."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from tenuto.model.errors import Problem
from tenuto.model.json import JSON


class GivenEvent(Struct, frozen=True, kw_only=True):
    """An event that reads well; whether it is stored is another question."""

    pattern: str
    payload: JSON = None
    id: str | None = None
    """None: it gets one of its own, and is never taken for another."""
    correlation_id: str | None = None
    timestamp: datetime | None = None


Reading: TypeAlias = GivenEvent | tuple[Problem, ...]
"""An event, or all that is wrong with it."""
