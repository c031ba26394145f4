"""Problem details of a server as the errors that the app raises."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from tenuto.model.errors import (
    Conflict,
    Forbidden,
    InvalidDefinition,
    InvalidInput,
    NotFound,
    Overloaded,
    Problem,
    StoreUnavailable,
    TenutoError,
    Unauthenticated,
)
from tenuto.model.status import read_status

STRANGE: Final = "TEN-4031"
_LONGEST_QUOTE: Final = 200
_DEFINITIONS: Final = "TEN-1"

_BY_STATUS: Final[dict[int, type[TenutoError]]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    429: Overloaded,
    503: StoreUnavailable,
}


class Refused(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a server says of a request, or of one of several things, that it refuses."""

    status: int
    code: str
    detail: str
    advice: str = ""
    problems: tuple[Problem, ...] = ()
    current_status: str | None = None
    instance_id: str | None = None


def error_from(status: int, body: bytes, server: str) -> TenutoError:
    """The error behind an answer that is none of success."""
    try:
        return error_of(msgspec.json.decode(body, type=Refused))
    except msgspec.MsgspecError:
        said = " ".join(body[:_LONGEST_QUOTE].decode("utf-8", "replace").split())
        # A proxy, or a program that is not ours; what the status says is still worth something.
        kind = _BY_STATUS.get(status, StoreUnavailable)
        return kind(f"{server} answered {status}: {said or 'nothing'}", code=STRANGE)


def error_of(refused: Refused) -> TenutoError:
    """The error that the app raises in the same place."""
    if refused.problems:
        if refused.code.startswith(_DEFINITIONS):
            return _coded(InvalidDefinition(refused.detail, refused.problems), refused)
        return _coded(InvalidInput(refused.detail, refused.problems), refused)
    if refused.status in (409, 412):
        return Conflict(
            refused.detail,
            code=refused.code,
            advice=refused.advice,
            status=None if refused.current_status is None else read_status(refused.current_status),
            instance_id=refused.instance_id,
        )
    if refused.status in (400, 413, 415, 422):
        return _coded(InvalidInput(refused.detail, ()), refused)
    kind_of = _BY_STATUS.get(refused.status, TenutoError)
    return kind_of(refused.detail, code=refused.code, advice=refused.advice)


def _coded(error: TenutoError, refused: Refused) -> TenutoError:
    error.code = refused.code
    if refused.advice:
        error.advice = refused.advice
    return error
