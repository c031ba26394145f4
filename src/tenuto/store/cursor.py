"""Where a page of instances ends, as text that callers hand back without reading it."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

import msgspec

from tenuto.model.errors import InvalidInput, Problem


class Position(NamedTuple):
    """A place in the list of instances, which is ordered by creation and then id, newest first.

    In a list by time of change, `created_ms` is when the instance changed.
    """

    created_ms: int
    id: str


BEFORE_ALL = Position((1 << 63) - 1, "")
"""Newer than any instance: where a list without a cursor begins."""

_decoder = msgspec.json.Decoder(Position)


def write_cursor(position: Position) -> str:
    """The cursor that continues after `position`."""
    return urlsafe_b64encode(msgspec.json.encode(position)).decode("ascii")


def read_cursor(text: str) -> Position:
    """What `write_cursor` wrote; InvalidInput for anything else."""
    try:
        return _decoder.decode(urlsafe_b64decode(text))
    except ValueError as error:
        problem = Problem(
            code="TEN-2009",
            path="$.cursor",
            message="this is not a cursor",
            advice="Pass what the page before gave as its cursor, unchanged",
        )
        raise InvalidInput("the list cannot be continued", [problem]) from error
