"""Where a page ends, as text that callers hand back without reading it."""

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
"""In a cursor: what is counted; no store has more, and none takes whatever somebody makes up."""
Milliseconds: TypeAlias = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]
"""In a cursor: a moment, up to the end of the year 9999."""


def write_cursor(place: object) -> str:
    """The cursor that continues after `place`."""
    return urlsafe_b64encode(msgspec.json.encode(place)).decode("ascii").rstrip("=")


def read_cursor(text: str | None, wanted: type[T]) -> T | None:
    """What `write_cursor` wrote of that type; InvalidInput for anything else."""
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
    """Whether a store could have it: what none takes it cannot be asked for either."""
    if isinstance(place, int):
        return -_MOST <= place < _MOST
    if isinstance(place, str):
        return json_problem(place) is None
    return not isinstance(place, tuple) or all(map(_could_be_kept, place))
