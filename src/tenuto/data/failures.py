"""Failures of queries: what a step fails with, without credentials and addresses."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from tenuto.model.errors import Problem
from tenuto.model.failure import (
    DATABASE_UNAVAILABLE,
    INVALID_INPUT,
    QUERY_FAILED,
    SECRET_UNREADABLE,
    TIMEOUT,
    TOO_LARGE,
    TOO_MANY_ROWS,
    UNKNOWN_QUERY,
    Failure,
    clipped,
)
from tenuto.model.json import JSON

_LONGEST: Final = 500
_SHORTEST_SECRET: Final = 3
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]+")


class QueryFailed(Exception):
    """A query did not succeed."""

    def __init__(self, failure: Failure, *, is_well: bool | None = True) -> None:
        """`is_well`: whether the database works, for its breaker; None: it was not asked."""
        super().__init__(failure.message)
        self.failure = failure
        self.is_well = is_well


def unavailable(message: str, *, retryable: bool = True) -> QueryFailed:
    """The database does not answer, or refuses to be used."""
    failure = Failure(code=DATABASE_UNAVAILABLE, message=message, retryable=retryable)
    return QueryFailed(failure, is_well=not retryable)


def too_slow(seconds: float) -> QueryFailed:
    """The statement was stopped."""
    message = f"the statement did not end within {seconds:g} s, and was stopped"
    return QueryFailed(Failure(code=TIMEOUT, message=message), is_well=False)


def too_busy(seconds: float) -> QueryFailed:
    """Other statements of this process have all connections."""
    message = f"no connection of the data source (`maxConnections`) was free for {seconds:g} s"
    return QueryFailed(Failure(code=TIMEOUT, message=message), is_well=None)


def refused(message: str, *, details: JSON = None, retryable: bool = False) -> QueryFailed:
    """The database refuses the statement."""
    failure = Failure(code=QUERY_FAILED, message=message, details=details, retryable=retryable)
    return QueryFailed(failure)


def too_many_rows(most: int) -> QueryFailed:
    message = f"the answer has more than {most:,} rows, the limit of the query"
    return QueryFailed(Failure(code=TOO_MANY_ROWS, message=message, retryable=False))


def too_large(most: int) -> QueryFailed:
    message = f"the answer has more than {most:,} bytes, the limit of an output"
    return QueryFailed(Failure(code=TOO_LARGE, message=message, retryable=False))


def wrong_arguments(problems: Collection[Problem]) -> QueryFailed:
    """The arguments do not fit the parameters."""
    shown = [f"{each.path}: {each.message}" for each in problems]
    more = f" (and {len(shown) - 1} more)" if len(shown) > 1 else ""
    details: JSON = {
        "problems": [
            {"code": each.code, "path": each.path, "message": each.message} for each in problems
        ]
    }
    message = f"the arguments do not fit the parameters: {shown[0]}{more}"
    return QueryFailed(
        Failure(code=INVALID_INPUT, message=message, details=details, retryable=False)
    )


def unknown_query(id: str, advice: str = "") -> QueryFailed:
    message = f"there is no data query {id}. {advice}".strip()
    return QueryFailed(Failure(code=UNKNOWN_QUERY, message=message, retryable=False))


def no_secret(code: str, message: str) -> QueryFailed:
    """The password of the data source is not given."""
    # Another process may have the key of one that cannot be read.
    retryable = code == SECRET_UNREADABLE
    return QueryFailed(Failure(code=code, message=message, retryable=retryable), is_well=None)


def told(text: str, hidden: Collection[str]) -> str:
    """The words of a database for users: short, on one line, without what is hidden."""
    for each in sorted(hidden, key=len, reverse=True):
        if len(each) >= _SHORTEST_SECRET:
            text = text.replace(each, "…")
    return clipped(_UNPRINTABLE.sub(" ", text).strip(), _LONGEST)
