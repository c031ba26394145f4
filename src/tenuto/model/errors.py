"""Refusals and broken promises, sorted by who can act, each with a code and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from tenuto.model.codes import CATALOGUE
from tenuto.model.failure import Cancellation, LastError
from tenuto.model.status import Status

MAY_BE_WRITTEN: Final = "TEN-4019"
"""Of a `StoreUnavailable` that does not say that nothing was accepted."""


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong with what somebody sent."""

    code: str
    path: str
    """JSONPath of the place, `$` for the whole."""
    message: str
    advice: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{self.code} {self.path}: {self.message}. {self.advice}"


class TenutoError(Exception):
    """Anything Tenuto refuses or cannot do; `code` names it, `advice` says what to do."""

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
        """The run-time code that it is about, such as `TOO_LARGE`; None where it is about none."""
        known = CATALOGUE.get(self.code)
        return None if known is None else known.reason

    def __str__(self) -> str:
        text = f"{self.code}  {self.message}"
        return f"{text}\n  {self.advice}" if self.advice else text


class _WithProblems(TenutoError):
    def __init__(self, message: str, problems: Sequence[Problem]) -> None:
        super().__init__(message, code=problems[0].code if problems else None)
        self.problems = tuple(problems)
        """Every one of them, with its place and what to do."""

    def __str__(self) -> str:
        lines = [f"{self.code}  {self.message}"]
        lines += [f"  {problem}" for problem in self.problems]
        return "\n".join(lines)


class InvalidDefinition(_WithProblems):
    """The definition has problems; all of them are listed."""

    code = "TEN-1000"


class InvalidInput(_WithProblems):
    """The input does not fit; all problems are listed."""

    code = "TEN-2000"


class NotAvailable(_WithProblems):
    """The definition is valid, but uses something this version does not run."""

    code = "TEN-1900"


class NotFound(TenutoError):
    """There is no such thing."""

    code = "TEN-3001"


class Conflict(TenutoError):
    """It cannot be done in the state things are in."""

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
        """Where the instance stands that was asked, if one was."""
        self.instance_id = instance_id
        """The instance that has the key already, if that is why."""


class Forbidden(TenutoError):
    """Whoever asks for it may not have it done."""

    code = "TEN-5001"


class Unauthenticated(TenutoError):
    """Whoever asks has not shown who they are; which part was wrong is not told."""

    code = "TEN-5010"


class Overloaded(TenutoError):
    """Too much is waiting; nothing was accepted."""

    code = "TEN-4290"
    advice = "Try again in a moment, or start fewer at once."


class StoreUnavailable(TenutoError):
    """The store cannot be reached or written; nothing was accepted."""

    code = "TEN-4001"


def not_there(id: str) -> NotFound:
    """The refusal of an instance that is not there, or not this tenant's: nobody can tell."""
    return NotFound(f"there is no instance {id}")


def may_be_written(message: str, advice: str | None = None) -> StoreUnavailable:
    """For what must not be taken for refused: the store may have it, and nobody knows."""
    return StoreUnavailable(message, code=MAY_BE_WRITTEN, advice=advice)


class ProviderUnavailable(StoreUnavailable):
    """The identity provider cannot be reached, so that nobody can tell who asks."""

    code = "TEN-5014"


class WorkflowFailed(TenutoError):
    """The instance ended FAILED."""

    code = "TEN-3100"

    def __init__(self, error: LastError) -> None:
        where = f" in {error.step_id}" if error.step_id else ""
        super().__init__(f"the workflow failed{where}: {error.code}: {error.message}")
        self.error = error
        """What failed: `code`, `message`, `details`, `step_id`, `iteration`, `attempt`, `at`."""

    @property
    def reason(self) -> str | None:
        """The code of what failed."""
        return self.error.code


class WorkflowCancelled(TenutoError):
    """The instance ended CANCELLED."""

    code = "TEN-3101"

    def __init__(self, cancellation: Cancellation) -> None:
        super().__init__(f"the workflow was cancelled: {cancellation.reason or 'no reason given'}")
        self.cancellation = cancellation
        """Who asked for it, why, when, and from where."""


class TaskError(Exception):
    """What a task raises to fail with a code of its own, which `onError` and retries match.

    With `retryable=False` it is not tried again; `details` is JSON that is kept with the error.
    """

    def __init__(
        self, code: str, message: str = "", *, details: object = None, retryable: bool = True
    ) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message or code
        self.details = details
        self.retryable = retryable
