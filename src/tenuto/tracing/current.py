"""The span of the current request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CURRENT: ContextVar[str | None] = ContextVar("tenuto_traceparent", default=None)


def current_traceparent() -> str | None:
    """The W3C `traceparent`; None if there is no span."""
    return _CURRENT.get()


@contextmanager
def within(traceparent: str) -> Iterator[None]:
    """Use this as the parent of spans that begin inside."""
    token = _CURRENT.set(traceparent)
    try:
        yield
    finally:
        _CURRENT.reset(token)
