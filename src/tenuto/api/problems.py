"""Errors as RFC 9457 problem details, with one table from errors to statuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import (
    OVER_QUOTA,
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

MEDIA = "application/problem+json"
TOO_LARGE = "TEN-2005"
BROKEN = "TEN-4000"
_RETRY_SECONDS = 1

_STATUSES: tuple[tuple[type[TenutoError], int], ...] = (
    (InvalidDefinition, 422),
    (InvalidInput, 422),
    (NotFound, 404),
    (Conflict, 409),
    (Forbidden, 403),
    (Unauthenticated, 401),
    (Overloaded, 429),
    (StoreUnavailable, 503),
)
_OF_CODES: Mapping[str, int] = {"TEN-2004": 422, TOO_LARGE: 413, "TEN-4290": 429}
_OF_RANGES: Mapping[str, int] = {"TEN-1": 422, "TEN-2": 422, "TEN-3": 409, "TEN-5": 403}


class Refusal(TenutoError):
    """A request that is refused by the service itself, with a status of its own."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        advice: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if advice is None and code in CATALOGUE:
            advice = CATALOGUE[code].advice
        super().__init__(message, code=code, advice=advice)
        self.status = status
        self.headers = dict(headers or {})


class ProblemItem(Struct, frozen=True, kw_only=True):
    """One of several problems."""

    code: str
    path: str
    """JSONPath of the place, `$` for the whole."""
    message: str
    advice: str
    severity: str = "error"


class ProblemDetails(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why a request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    advice: str
    instance: str
    """The path of the request."""
    request_id: str
    reason: str | UnsetType = UNSET
    """The run-time code that it is about, such as `TOO_LARGE`, where it is about one."""
    problems: tuple[ProblemItem, ...] | UnsetType = UNSET
    """All problems, where there may be several."""
    current_status: str | UnsetType = UNSET
    """Of a conflict: where the workflow instance stands."""
    instance_id: str | UnsetType = UNSET
    """Of a key that was used before: the workflow instance that has it."""


class ProblemAnswer(NamedTuple):
    """The body and the headers of a refusal."""

    details: ProblemDetails
    headers: dict[str, str]


def problem_answer(error: TenutoError, path: str, request_id: str) -> ProblemAnswer:
    """The answer for an error."""
    known = CATALOGUE.get(error.code)
    item = error_item(error)
    details = ProblemDetails(
        **{
            **asdict(item),
            "type": f"urn:tenuto:problem:{error.code}",
            "title": known.title if known is not None else "Refused",
            "instance": path,
            "request_id": request_id,
        }
    )
    status = item.status
    headers = dict(error.headers) if isinstance(error, Refusal) else {}
    if isinstance(error, Overloaded) and error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    if status in (429, 503) and error.code != OVER_QUOTA:
        headers.setdefault("retry-after", str(_RETRY_SECONDS))
    if status == 401:
        headers["www-authenticate"] = 'Bearer realm="tenuto"'
    return ProblemAnswer(details, headers)


def broken(path: str, request_id: str) -> ProblemAnswer:
    """The answer for a bug: the request id to find it in the log by, and no details."""
    error = Refusal(500, BROKEN, "the service has failed; its log says where, by the request")
    return problem_answer(error, path, request_id)


def status_of(error: TenutoError) -> int:
    """The status for an error: its own, by its code, its class, or the range of its code."""
    if isinstance(error, Refusal):
        return error.status
    if error.code in _OF_CODES:
        return _OF_CODES[error.code]
    for kind, status in _STATUSES:
        if isinstance(error, kind):
            return status
    return _OF_RANGES.get(error.code[:5], 500)


def item_of(problem: Problem) -> ProblemItem:
    """A problem in JSON, always with its severity."""
    return ProblemItem(
        code=problem.code,
        path=problem.path,
        message=problem.message,
        advice=problem.advice,
        severity=problem.severity,
    )


class ErrorItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why one of several was refused."""

    status: int
    code: str
    detail: str
    advice: str
    reason: str | UnsetType = UNSET
    """As problem details have it."""
    problems: tuple[ProblemItem, ...] | UnsetType = UNSET
    current_status: str | UnsetType = UNSET
    instance_id: str | UnsetType = UNSET
    """Of a key that was used before: the workflow instance that has it."""


def error_item(error: TenutoError) -> ErrorItem:
    """The error of one item of a batch."""
    return ErrorItem(
        status=status_of(error),
        code=error.code,
        detail=error.public_message,
        advice=error.public_advice,
        reason=error.reason or UNSET,
        problems=_problems(error),
        **_of_conflict(error),
    )


def _problems(error: TenutoError) -> tuple[ProblemItem, ...] | UnsetType:
    if isinstance(error, InvalidDefinition | InvalidInput):
        return tuple(map(item_of, error.problems))
    return UNSET


def _of_conflict(error: TenutoError) -> dict[str, str]:
    if not isinstance(error, Conflict):
        return {}
    found: dict[str, str] = {}
    if error.status is not None:
        found["current_status"] = error.status.value
    if error.instance_id is not None:
        found["instance_id"] = error.instance_id
    return found
