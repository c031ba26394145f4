"""Failures of attempts, made from exceptions."""

from __future__ import annotations

import traceback

from tenuto.model.errors import TaskError
from tenuto.model.failure import (
    CANCELLED,
    CUT,
    HEARTBEAT_TIMEOUT,
    TIMEOUT,
    Failure,
    clipped,
)
from tenuto.model.json import JSON
from tenuto.tasks.output import Unusable, to_json

INVALID_INPUT = "INVALID_INPUT"
"""The input does not fit the parameters of the function."""
PROCESS_DIED = "PROCESS_DIED"
"""The child process that ran the task ended by itself."""

_CODE_LENGTH = 200
_MESSAGE_LENGTH = 4_000
_TRACEBACK_LENGTH = 4_000
_TRACEBACK_FRAMES = 20
_DETAILS_BYTES = 64_000


class Refused(Exception):
    """Ends an attempt with a failure that Tenuto itself has found."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(error: BaseException) -> Failure:
    """The failure of an exception, which may hold any object of the user."""
    if isinstance(error, Refused):
        return error.failure
    if isinstance(error, Unusable):
        # It returned: the work was done.
        return Failure(code=error.code, message=error.message, retryable=False, was_done=True)
    if isinstance(error, TaskError):
        code = _clip(_text(error.code), _CODE_LENGTH) or type(error).__name__
        return Failure(
            code=code,
            message=_clip(_text(error.message), _MESSAGE_LENGTH) or code,
            details=details_of(error.details),
            retryable=bool(error.retryable),
        )
    return Failure(
        code=type(error).__name__,
        message=_clip(_text(error), _MESSAGE_LENGTH) or type(error).__name__,
        details={"traceback": _traceback(error)},
    )


def cancelled() -> Failure:
    return Failure(code=CANCELLED, message="the task stopped as requested", retryable=False)


def too_late(seconds: float) -> Failure:
    return Failure(code=TIMEOUT, message=f"the task did not end within {seconds:g} s")


def too_silent(seconds: float, details: object) -> Failure:
    """`details`: those of the last heartbeat."""
    return Failure(
        code=HEARTBEAT_TIMEOUT,
        message=f"the task gave no heartbeat for {seconds:g} s",
        details={"lastHeartbeat": details_of(details)},
    )


def details_of(details: object) -> JSON:
    """`details` as JSON; a failure must not be lost because its details are not JSON."""
    try:
        return to_json(details, _DETAILS_BYTES)
    except Unusable as error:
        return {"leftOut": error.message}


def _text(value: object) -> str:
    try:
        return value if type(value) is str else str(value)
    except Exception:  # noqa: BLE001 - __str__ of a user's exception may do anything
        return f"<{type(value).__name__} without text>"


def _traceback(error: BaseException) -> str:
    try:
        lines = traceback.TracebackException.from_exception(
            error, limit=-_TRACEBACK_FRAMES, compact=True
        ).format()
        text = "".join(lines)
    except Exception:  # noqa: BLE001 - it asks the exception for its text
        return ""
    # The innermost frames and the message are at the end.
    return storable(text if len(text) <= _TRACEBACK_LENGTH else f"{CUT}{text[-_TRACEBACK_LENGTH:]}")


def _clip(text: str, length: int) -> str:
    return storable(clipped(text, length))


def storable(text: str) -> str:
    """`text` without NUL and lone surrogates, which no store can keep."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
