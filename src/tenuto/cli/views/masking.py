"""Values as people see them: without what the name of a field says is secret."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from tenuto.model.json import JSON, Object
from tenuto.model.secret_names import is_secret_name

MASK: Final = "••••"
_REVEALS: ContextVar[bool] = ContextVar("reveals", default=False)


@contextmanager
def revealing(*, is_asked: bool) -> Iterator[None]:
    """Show values as they are while inside, where that is asked for."""
    before = _REVEALS.set(is_asked)
    try:
        yield
    finally:
        _REVEALS.reset(before)


def masked(value: JSON) -> JSON:
    """A value whose secret fields are masked; numbers are kept, such as a count of tokens."""
    if _REVEALS.get():
        return value
    match value:
        case dict():
            return {
                name: MASK if _is_secret(name, each) else masked(each)
                for name, each in value.items()
            }
        case list():
            return [masked(each) for each in value]
        case _:
            return value


def masked_object(value: Object) -> Object:
    """The same, of an object."""
    found = masked(value)
    assert isinstance(found, dict)
    return found


def is_masked(value: JSON) -> bool:
    """Whether a mask is in it: what was read like that is no value to write."""
    match value:
        case str():
            return value == MASK
        case dict():
            return any(is_masked(each) for each in value.values())
        case list():
            return any(is_masked(each) for each in value)
        case _:
            return False


def _is_secret(name: str, value: JSON) -> bool:
    return isinstance(value, str) and value != "" and is_secret_name(name)
