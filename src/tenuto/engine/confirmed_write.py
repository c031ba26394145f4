"""Repeats a write with an unknown outcome until it is confirmed.

Only for writes with an id of their own: a repetition has no further effect.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenuto.model.errors import MAY_BE_WRITTEN, StoreUnavailable
from tenuto.ports import Clock

T = TypeVar("T")

_PAUSES = (0.1, 0.5, 2.0)
"""Seconds between tries: a caller waits for the answer."""


async def confirmed_write(write: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """The result of `write`; StoreUnavailable at once where nothing can have been written."""
    doubt: StoreUnavailable | None = None
    for pause in (*_PAUSES, None):
        try:
            return await write()
        except StoreUnavailable as error:
            if error.code == MAY_BE_WRITTEN:
                doubt = error
            elif doubt is None:
                raise
        if pause is not None:
            await clock.sleep(pause)
    # That this try was not even sent says nothing about the tries before.
    assert doubt is not None
    raise doubt
