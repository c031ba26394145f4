"""Room for the frames of Python calls, so that none of them costs a system call.

CPython has the frames of a thread in chunks of 16 KB. The call that meets the end of a chunk maps
another one, and its return gives it back: 25 µs and more instead of 0.1. A loop whose calls begin
just there pays that each time; so do calls of expressions on nested values, whose depth a tenant
chooses. A frame that is larger than a chunk gets a larger one, whose rest is for what it calls.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

_WORDS = 66_000
"""A little more than half of the megabyte that such a frame gets; what is not used is not there."""


def _called(call: Callable[..., object], /, *args: object, **kwargs: object) -> object:
    return call(*args, **kwargs)


_in_large_frame = FunctionType(_called.__code__.replace(co_stacksize=_WORDS), {})


def with_call_room(call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """What `call` returns; some thousand calls within each other need no further chunk."""
    return cast("T", _in_large_frame(call, *args, **kwargs))
