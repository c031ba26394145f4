"""Where a page ends, as text that callers hand back without reading it."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from tenuto.model.errors import InvalidInput, Problem

T = TypeVar("T")

Number: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
"""In a cursor: what is counted; no store has more, and none takes whatever somebody makes up."""
Milliseconds: TypeAlias = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]
"""In a cursor: a moment, up to the end of the year 9999."""
_LARGEST = 2**62


def write_cursor(place: object) -> str:
    """The cursor that continues after `place`."""
    return urlsafe_b64encode(msgspec.json.encode(place)).decode("ascii").rstrip("=")


def read_cursor(text: str | None, wanted: type[T]) -> T | None:
    """What `write_cursor` wrote of that type; InvalidInput for anything else."""
    if text is None:
        return None
    try:
        padded = text + "=" * (-len(text) % 4)
        return _checked(msgspec.json.decode(urlsafe_b64decode(padded), type=wanted))
    except (ValueError, RecursionError):
        problem = Problem(
            code="TEN-2009",
            path="$.cursor",
            message="this is not a cursor of this list",
            advice="Pass what the page before gave as `nextCursor`, unchanged.",
        )
        raise InvalidInput("the list cannot be continued", [problem]) from None


def _checked(place: T) -> T:
    """The same; ValueError for what no store keeps, so that no page can have ended with it."""
    for each in place if isinstance(place, tuple) else (place,):
        if isinstance(each, int) and abs(each) > _LARGEST:
            raise ValueError("no such number")
        if isinstance(each, str) and "\0" in each:
            raise ValueError("no such text")
    return place
