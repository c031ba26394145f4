"""Why an instance failed, from the outermost step to the one in a loop or child that failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import Struct, ValidationError, convert

from tenuto.cli.views.errors import own_traceback, raised_at
from tenuto.cli.views.terminal import one_line, show, show_line, styled
from tenuto.model.failure import LastError
from tenuto.model.json import JSON

_DEEPEST: Final = 20
"""Workflows start each other no deeper."""


class Failed(NamedTuple):
    """A step that failed, and the instance that it is a step of, if that is a child."""

    code: str
    message: str
    step: str | None
    attempt: int
    details: JSON
    child: str | None = None

    @property
    def line(self) -> str:
        place = f" in {self.step}, attempt {self.attempt}" if self.step else ""
        return f"{self.code}{place}: {self.message}"


def failures_of(error: LastError) -> list[Failed]:
    """The failure, and those of children that it follows from, down to the first of them."""
    step = _step(error.step_id, error.iteration)
    first = Failed(error.code, error.message, step, error.attempt, error.details)
    return [first, *causes_of(error.details)]


def show_failure(error: LastError, *, with_traceback: bool, logs: str | None = None) -> None:
    """Step, code, message and the line that raised it; its traceback where it is asked for.

    `logs` is the command that shows what the step logged and printed.
    """
    found = failures_of(error)
    show("")
    show(styled("last error", "bold red", f"  {found[0].line}"))
    for each in found[1:]:
        show_line(f"  child     {each.child}")
        show_line(f"  caused by {each.line}")
    last = found[-1]
    if (raised := raised_at(last.details)) is not None:
        show_line(f"  raised at {raised}")
    elif last.details is not None:
        show_line(f"  details   {one_line(last.details)}")
    if logs is not None:
        # A command to copy is one line.
        show(f"  logs      {logs}")
    trace = own_traceback(last.details)
    if trace is not None and with_traceback:
        show("")
        show(trace)
    elif trace is not None:
        show(styled("  more", "dim", "      --traceback shows how it got there"))


class _Error(Struct, rename="camel"):
    code: str
    message: str
    step_id: str | None = None
    iteration: str = ""
    attempt: int = 1
    details: JSON = None


class _ChildFailed(Struct, rename="camel"):
    """The details of a failure that is the failure of a child."""

    child_id: str
    error: _Error


def causes_of(details: JSON) -> Iterator[Failed]:
    """The failures of children that a failure with these details follows from."""
    for _ in range(_DEEPEST):
        try:
            found = convert(details, _ChildFailed)
        except ValidationError:
            return
        error = found.error
        step = _step(error.step_id, error.iteration)
        details = error.details
        yield Failed(error.code, error.message, step, error.attempt, details, found.child_id)


def _step(step: str | None, iteration: str) -> str | None:
    return f"{step}[{iteration}]" if step and iteration else step
