"""Collects errors of workflow functions, so that a whole file is read before they are reported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from tenuto.model.errors import InvalidDefinition

_FAULTY: Final[ContextVar[list[InvalidDefinition] | None]] = ContextVar(
    "tenuto_faulty", default=None
)


@contextmanager
def collecting() -> Iterator[list[InvalidDefinition]]:
    """Functions that cannot be described are listed, and raise only when they are used."""
    found: list[InvalidDefinition] = []
    token = _FAULTY.set(found)
    try:
        yield found
    finally:
        _FAULTY.reset(token)


def is_collected(error: InvalidDefinition) -> bool:
    """Add an error to the collected ones; False if errors are not collected."""
    found = _FAULTY.get()
    if found is None:
        return False
    found.append(error)
    return True
