"""Cursors: the place where a page ends, as opaque text."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import json_problem

T = TypeVar("T")
_MOST = 2**63

Number: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
"""A count in a cursor; larger numbers are made up, and no store takes them."""
Milliseconds: TypeAlias = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]
"""A time in a cursor, up to the end of the year 9999."""


def write_cursor(place: object) -> str:
    """The cursor that continues after `place`."""
    return urlsafe_b64encode(msgspec.json.encode(place)).decode("ascii").rstrip("=")


def read_cursor(text: str | None, wanted: type[T]) -> T | None:
    """The place that `write_cursor` wrote; InvalidInput for any other text."""
    if text is None:
        return None
    try:
        padded = text + "=" * (-len(text) % 4)
        place = msgspec.json.decode(urlsafe_b64decode(padded), type=wanted)
    except (ValueError, RecursionError):
        place = None
    if place is None or not _could_be_kept(place):
        problem = Problem(
            code="TEN-2009",
            path="$.cursor",
            message="this is not a cursor of this list",
            advice="Pass what the page before gave as `nextCursor`, unchanged.",
        )
        raise InvalidInput("the list cannot be continued", [problem])
    return place


def _could_be_kept(place: object) -> bool:
    """Whether a store could hold it: else it could not be queried either."""
    if isinstance(place, int):
        return -_MOST <= place < _MOST
    if isinstance(place, str):
        return json_problem(place) is None
    return not isinstance(place, tuple) or all(map(_could_be_kept, place))
