"""Why a node, or an instance, did not succeed."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from tenuto.model.json import JSON

INTERNAL = "INTERNAL"
LOST = "LOST"
STOPPED = "STOPPED"
POISON = "POISON"
CANCELLED = "CANCELLED"
TERMINATED = "TERMINATED"
TIMEOUT = "TIMEOUT"
HEARTBEAT_TIMEOUT = "HEARTBEAT_TIMEOUT"
WAIT_TIMEOUT = "WAIT_TIMEOUT"
EXPRESSION_ERROR = "EXPRESSION_ERROR"
NOT_JSON = "NOT_JSON"
NOT_STORABLE = "NOT_STORABLE"
TOO_LARGE = "TOO_LARGE"
LOOP_SOURCE = "LOOP_SOURCE"
LOOP_LIMIT = "LOOP_LIMIT"
UNKNOWN_TASK = "UNKNOWN_TASK"
UNKNOWN_SECRET = "UNKNOWN_SECRET"  # noqa: S105 - a code
SECRET_NOT_ALLOWED = "SECRET_NOT_ALLOWED"  # noqa: S105 - a code
SECRET_UNREADABLE = "SECRET_UNREADABLE"  # noqa: S105 - a code
UNKNOWN_HANDLE = "UNKNOWN_HANDLE"
MUTEX_SELF = "MUTEX_SELF"
"""The step asks for a mutex that a step around it has."""
INVALID_DELAY = "INVALID_DELAY"
UNKNOWN_WORKFLOW = "UNKNOWN_WORKFLOW"
UNKNOWN_CALENDAR = "UNKNOWN_CALENDAR"
NOT_AVAILABLE = "NOT_AVAILABLE"
INVALID_INPUT = "INVALID_INPUT"
INVALID_OUTPUT = "INVALID_OUTPUT"
CHILD_FAILED = "CHILD_FAILED"
CHILD_CANCELLED = "CHILD_CANCELLED"
CHILD_DEPTH = "CHILD_DEPTH"
SLOT_DEADLOCK = "SLOT_DEADLOCK"
TOO_MANY_DESCENDANTS = "TOO_MANY_DESCENDANTS"
INVALID_EVENT = "INVALID_EVENT"
CHILD_NOT_UNDONE = "CHILD_NOT_UNDONE"
JAVASCRIPT_ERROR = "JAVASCRIPT_ERROR"
JAVASCRIPT_SYNTAX = "JAVASCRIPT_SYNTAX"
JAVASCRIPT_NEVER_ENDS = "JAVASCRIPT_NEVER_ENDS"
MEMORY_EXCEEDED = "MEMORY_EXCEEDED"
DATABASE_UNAVAILABLE = "DATABASE_UNAVAILABLE"
QUERY_FAILED = "QUERY_FAILED"
TOO_MANY_ROWS = "TOO_MANY_ROWS"
UNKNOWN_QUERY = "UNKNOWN_QUERY"
INVALID_REQUEST = "INVALID_REQUEST"
INVALID_RESPONSE = "INVALID_RESPONSE"
ADDRESS_REFUSED = "ADDRESS_REFUSED"
CONNECTION_FAILED = "CONNECTION_FAILED"

IN_THE_DEFINITION = frozenset(
    {EXPRESSION_ERROR, INVALID_EVENT, INVALID_INPUT, LOOP_LIMIT, LOOP_SOURCE, NOT_AVAILABLE}
)
"""Codes whose cause another version of the definition mends; a retry uses the same one."""


def status_code(status: int) -> str:
    """The code of a response whose status is no success: `HTTP_404`."""
    return f"HTTP_{status}"


def failed_child(code: str, details: JSON) -> tuple[str, str, JSON] | None:
    """The child whose failure an error is: its id, the code of its own error, and the details."""
    if code != CHILD_FAILED or not isinstance(details, dict):
        return None
    id, error = details.get("childId"), details.get("error")
    if not isinstance(id, str) or not isinstance(error, dict):
        return None
    return id, str(error.get("code")), error.get("details")


def is_in_the_definition(code: str, details: JSON) -> bool:
    """Whether another version of a definition mends an error: of its own, or that of a child."""
    while (child := failed_child(code, details)) is not None:
        _, code, details = child
    return code in IN_THE_DEFINITION


class Failure(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    """What an attempt reports when it did not succeed; `code` is what `onError` matches."""

    code: str
    message: str
    details: JSON = None
    retryable: bool = True
    was_done: bool = False
    """Whether the work was done and only its output was refused: then it may be undone."""


class LastError(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    """A failure with its place in the instance, as users see it."""

    code: str
    message: str
    step_id: str | None
    at: datetime
    details: JSON = None
    iteration: str = ""
    attempt: int = 1


Source = Literal["API", "EVENT", "TIMEOUT", "PARENT", "COLLAPSED", "REJECTED", "DEADLOCK"]
"""COLLAPSED: another instance with the same key took its place; REJECTED: its limit was full;
DEADLOCK: every slot of its limit was held by instances that wait for such as it."""


class Cancellation(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    """Who requested a cancellation, why, when, and from where."""

    reason: str | None
    requested_by: str
    requested_at: datetime
    source: Source
    should_compensate: bool
    event_id: str | None = None


CUT = "…"
"""What stands where a text was cut: by it the values of secrets are found that the cut divided."""


def clipped(text: str, most: int) -> str:
    """A text of at most so many characters, and a mark where it was cut."""
    return text if len(text) <= most else f"{text[:most]}{CUT}"
