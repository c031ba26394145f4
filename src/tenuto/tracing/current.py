"""Which span the request at hand is measured by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CURRENT: ContextVar[str | None] = ContextVar("tenuto_traceparent", default=None)


def current_traceparent() -> str | None:
    """As W3C writes it; None where nothing is measured."""
    return _CURRENT.get()


@contextmanager
def within(traceparent: str) -> Iterator[None]:
    """What is begun inside follows from this."""
    token = _CURRENT.set(traceparent)
    try:
        yield
    finally:
        _CURRENT.reset(token)
