"""What every line is about that is written on behalf of the same request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_ABOUT: ContextVar[Mapping[str, object] | None] = ContextVar("tenuto_log_about", default=None)


@contextmanager
def about(**fields: object) -> Iterator[None]:
    """Give these fields to each line that is written inside, also by what is begun there."""
    token = _ABOUT.set({**(_ABOUT.get() or {}), **fields})
    try:
        yield
    finally:
        _ABOUT.reset(token)


def fields_of_context() -> Mapping[str, object]:
    return _ABOUT.get() or {}
