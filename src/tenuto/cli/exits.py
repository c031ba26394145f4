"""How a command ends: its exit code, and its error as a message instead of a traceback."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final

from typer import Exit, TyperException

from tenuto.cli.missing_package import missing_package
from tenuto.cli.positions import Located, Positions
from tenuto.cli.views.errors import error_json, show_error
from tenuto.cli.views.terminal import say, show_json
from tenuto.model.call_stack import with_call_room
from tenuto.model.errors import (
    Conflict,
    Forbidden,
    InvalidDefinition,
    InvalidInput,
    NotFound,
    Overloaded,
    StoreUnavailable,
    TenutoError,
    Unauthenticated,
    WorkflowCancelled,
    WorkflowFailed,
)

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
CONFLICT: Final = 4
NO_STORE: Final = 5
REFUSED: Final = 6
ACCEPTED: Final = 7
TIMED_OUT: Final = 124
INTERRUPTED: Final = 130
"""What shells expect of a program that was stopped with Ctrl-C."""

_OF_ERRORS: Final[tuple[tuple[type[TenutoError], int], ...]] = (
    (WorkflowFailed, FAILED),
    (WorkflowCancelled, FAILED),
    (InvalidDefinition, USAGE),
    (InvalidInput, USAGE),
    (Overloaded, REFUSED),
    (Forbidden, REFUSED),
    (Unauthenticated, REFUSED),
    (NotFound, NOT_FOUND),
    (Conflict, CONFLICT),
    (StoreUnavailable, NO_STORE),
)
_OF_CODES: Final = {"TEN-4000": FAILED, "TEN-4015": ACCEPTED}
_OF_RANGES: Final = {"TEN-1": USAGE, "TEN-2": USAGE, "TEN-3": CONFLICT, "TEN-4": NO_STORE}


_TRACEBACK: Final = "TENUTO_TRACEBACK"


class Interrupted(Exception):
    """Ctrl-C came, and what it means for the command has been said."""


def first_failure(results: Iterable[object]) -> int:
    """The exit code of several results: that of the first error."""
    errors = (each for each in results if isinstance(each, TenutoError))
    return next(map(exit_code, errors), DONE)


def exit_code(error: TenutoError) -> int:
    """The exit code for an error; by its code, its type, or the range of its code."""
    if error.code in _OF_CODES:
        return _OF_CODES[error.code]
    for kind, code in _OF_ERRORS:
        if isinstance(error, kind):
            return code
    return _OF_RANGES.get(error.code[:5], FAILED)


def perform(
    work: Callable[[], Coroutine[Any, Any, int]],
    *,
    is_json: bool,
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> int:
    """The exit code of `work`, in a loop that `loop` makes, else in the usual one."""
    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            return with_call_room(runner.run, work())
    except Located as located:
        return _show(located.error, located.positions, is_json=is_json)
    except TenutoError as error:
        return _show(error, None, is_json=is_json)
    except Interrupted:
        return INTERRUPTED
    except KeyboardInterrupt:
        say("stopped")
        return INTERRUPTED
    except (TyperException, Exit):
        # Wrong usage, which is noticed late; the parser of the command line tells it.
        raise
    except Exception as error:  # noqa: BLE001 - a defect: its traceback is for those who ask
        return _show(missing_package(error) or _defect(error), None, is_json=is_json)


def show_refusal(error: TenutoError, *, is_json: bool) -> int:
    """The exit code of a command that is refused before its work begins."""
    return _show(error, None, is_json=is_json)


def show_missing_package(error: ModuleNotFoundError) -> int:
    """The exit code of a command that lacks one of Tenuto's packages; else the error itself."""
    refusal = missing_package(error)
    if refusal is None:
        raise error
    return _show(refusal, None, is_json=False)


def show_defect(error: Exception, *, is_json: bool) -> int:
    """The exit code of a program that failed outside of the work of its command."""
    return _show(missing_package(error) or _defect(error), None, is_json=is_json)


def _defect(error: Exception) -> TenutoError:
    if os.environ.get(_TRACEBACK):
        traceback.print_exception(error)
    return TenutoError(
        f"{type(error).__name__}: {error}".strip(),
        code="TEN-4000",
        advice=f"This is a bug of Tenuto: please report it. {_TRACEBACK}=1 shows the traceback.",
    )


def _show(error: TenutoError, positions: Positions | None, *, is_json: bool) -> int:
    if is_json:
        show_json(error_json(error, positions))
    else:
        show_error(error, positions)
    return exit_code(error)
