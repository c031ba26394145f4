"""Fields that all log lines of one request share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_ABOUT: ContextVar[Mapping[str, object] | None] = ContextVar("tenuto_log_about", default=None)


@contextmanager
def about(**fields: object) -> Iterator[None]:
    """Add these fields to each line logged inside, also by tasks that are started there."""
    token = _ABOUT.set({**(_ABOUT.get() or {}), **fields})
    try:
        yield
    finally:
        _ABOUT.reset(token)


def fields_of_context() -> Mapping[str, object]:
    return _ABOUT.get() or {}
