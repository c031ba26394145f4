"""Errors, sorted by who can act on them, each with a code and advice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from tenuto.model.codes import CATALOGUE
from tenuto.model.failure import Cancellation, LastError
from tenuto.model.status import Status

MAY_BE_WRITTEN: Final = "TEN-4019"
"""The code of a `StoreUnavailable` after which the write may be stored or not."""

OVER_QUOTA: Final = "TEN-4294"
"""The code of an `Overloaded` that does not pass by itself."""


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One problem of a request or a definition."""

    code: str
    path: str
    """JSONPath of the place, `$` for the whole."""
    message: str
    advice: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{self.code} {self.path}: {self.message}. {self.advice}"


class TenutoError(Exception):
    """Any error of Tenuto; `code` names it, `advice` says what to do."""

    code = "TEN-4000"
    advice = ""

    def __init__(self, message: str, *, code: str | None = None, advice: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        if advice is not None:
            self.advice = advice

    @property
    def reason(self) -> str | None:
        """The code of the same failure at run time, such as `TOO_LARGE`; None if there is none."""
        known = CATALOGUE.get(self.code)
        return None if known is None else known.reason

    @property
    def public_message(self) -> str:
        """The message for clients over the network."""
        return self.message

    @property
    def public_advice(self) -> str:
        """The advice for them: its own, or the one of its code."""
        known = CATALOGUE.get(self.code)
        return self.advice or ("" if known is None else known.advice)

    def __str__(self) -> str:
        text = f"{self.code}  {self.message}"
        return f"{text}\n  {self.advice}" if self.advice else text


class _WithProblems(TenutoError):
    def __init__(self, message: str, problems: Sequence[Problem]) -> None:
        super().__init__(message, code=problems[0].code if problems else None)
        self.problems = tuple(problems)
        """All problems, each with its place and advice."""

    def __str__(self) -> str:
        lines = [f"{self.code}  {self.message}"]
        lines += [f"  {problem}" for problem in self.problems]
        return "\n".join(lines)


class InvalidDefinition(_WithProblems):
    """The definition has problems; all of them are listed."""

    code = "TEN-1000"


class InvalidInput(_WithProblems):
    """The input is not valid; all problems are listed."""

    code = "TEN-2000"


class NotFound(TenutoError):
    """The instance, definition or other record does not exist."""

    code = "TEN-3001"


class Conflict(TenutoError):
    """The present state does not allow the operation."""

    code = "TEN-3002"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        advice: str | None = None,
        status: Status | None = None,
        instance_id: str | None = None,
    ) -> None:
        super().__init__(message, code=code, advice=advice)
        self.status = status
        """The status of the instance, if the request was about one."""
        self.instance_id = instance_id
        """The instance that already has the key, if that is the reason."""


class Forbidden(TenutoError):
    """The caller may not do this."""

    code = "TEN-5001"


class Unauthenticated(TenutoError):
    """The credential is missing or wrong; which part is wrong is not disclosed."""

    code = "TEN-5010"


class Overloaded(TenutoError):
    """Too much work is waiting; nothing was accepted."""

    code = "TEN-4290"
    advice = "Try again in a moment, or start fewer at once."
    retry_after: int | None = None
    """Seconds after which to try again, where that can be computed."""

    @property
    def public_advice(self) -> str:
        """The advice of its code, with the seconds."""
        if self.retry_after is None:
            return super().public_advice
        known = CATALOGUE.get(self.code)
        said = known.advice if known and self.advice == Overloaded.advice else self.advice
        for vague in ("in a moment", "after the time in `Retry-After`"):
            said = said.replace(vague, f"after {self.retry_after} s")
        return said

    def __str__(self) -> str:
        return f"{self.code}  {self.message}\n  {self.public_advice}"


class StoreUnavailable(TenutoError):
    """The store cannot be reached or written; nothing was accepted."""

    code = "TEN-4001"

    @property
    def public_message(self) -> str:
        """What its code says: the message may have the address of the store in it."""
        return CATALOGUE.get(self.code, CATALOGUE[StoreUnavailable.code]).explanation

    @property
    def public_advice(self) -> str:
        return CATALOGUE.get(self.code, CATALOGUE[StoreUnavailable.code]).advice


def not_there(id: str) -> NotFound:
    """The error for an instance that does not exist, or is another tenant's: both look alike."""
    return NotFound(f"there is no instance {id}")


def may_be_written(message: str, advice: str | None = None) -> StoreUnavailable:
    """The error for a write that may be stored or not."""
    return StoreUnavailable(message, code=MAY_BE_WRITTEN, advice=advice)


class ProcessStops(StoreUnavailable):
    """The process stops or has stopped, and has not done what was asked; nothing was accepted."""

    code = "TEN-4025"


class ProviderUnavailable(StoreUnavailable):
    """The identity provider cannot be reached, so that tokens cannot be verified."""

    code = "TEN-5014"


class WorkflowFailed(TenutoError):
    """The instance ended FAILED."""

    code = "TEN-3100"

    def __init__(self, error: LastError) -> None:
        where = f" in {error.step_id}" if error.step_id else ""
        super().__init__(f"the workflow failed{where}: {error.code}: {error.message}")
        self.error = error
        """The failure: `code`, `message`, `details`, `step_id`, `iteration`, `attempt`, `at`."""

    @property
    def reason(self) -> str | None:
        """The code of the failure."""
        return self.error.code


class WorkflowCancelled(TenutoError):
    """The instance ended CANCELLED."""

    code = "TEN-3101"

    def __init__(self, cancellation: Cancellation) -> None:
        super().__init__(f"the workflow was cancelled: {cancellation.reason or 'no reason given'}")
        self.cancellation = cancellation
        """Who requested it, why, when, and from where."""


class TaskError(Exception):
    """Raised by a task to fail with a code of its own, which `onError` and retries match.

    With `retryable=False` it is not retried; `details` is JSON that is kept with the error.
    """

    def __init__(
        self, code: str, message: str = "", *, details: object = None, retryable: bool = True
    ) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message or code
        self.details = details
        self.retryable = retryable
