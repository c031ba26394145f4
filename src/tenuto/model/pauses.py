"""The places in long work on one value where it may pause, so that others go on.

Work that input makes long is done in a thread, in parts. Between two parts it calls
`between_parts`, which does nothing unless the thread has been given a pace
(`engine/definitions/large_documents.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

PACE: Final[ContextVar[Callable[[], None] | None]] = ContextVar("pace", default=None)
"""Called between the parts of the work of this thread."""


def between_parts() -> None:
    """A part of long work is done; the next one may wait."""
    pace = PACE.get()
    if pace is not None:
        pace()
