"""Failures of calls, and console lines, made from what a process says."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from tenuto.model import failure
from tenuto.model.failure import Failure, clipped
from tenuto.model.json import JSON
from tenuto.sandbox.messages import OUT_OF_MEMORY, Ended, Thrown
from tenuto.sandbox.outcomes import ConsoleLine, Limits
from tenuto.tasks.failures import PROCESS_DIED, storable

_LINE_OVERHEAD = 16
_MOST_MESSAGE = 4_000
_MOST_NAME = 200
_LEVELS = frozenset({"debug", "error", "info", "warning"})
_lines = msgspec.json.Decoder(list[tuple[str, float, str]]).decode


def code_problem(code: str) -> Thrown | None:
    """Why code cannot be sent to a process."""
    for sign, name in (("\0", "NUL"), *((each, "a lone surrogate") for each in _lone(code))):
        if sign in code:
            place = code.index(sign)
            line = code.count("\n", 0, place) + 1
            return Thrown(name="SyntaxError", message=f"line {line} has {name}, which is no text")
    return None


def _lone(code: str) -> str:
    try:
        code.encode()
    except UnicodeEncodeError as error:
        return code[error.start]
    return ""


def of_death(reason: str) -> Ended:
    """The end of a call whose process has ended."""
    if reason == f"exit code {OUT_OF_MEMORY}":
        return Ended(code=failure.MEMORY_EXCEEDED)
    if reason == "signal SIGXCPU":
        return Ended(code=failure.TIMEOUT)
    return Ended(code=PROCESS_DIED, thrown=Thrown(name="", message=reason))


def failure_of(ended: Ended, limits: Limits) -> Failure:
    """Why a call has no result. A retry helps only where another process, or time, might."""
    thrown = ended.thrown or Thrown(name="", message="")
    said = storable(clipped(thrown.message, _MOST_MESSAGE))
    match ended.code:
        case failure.TIMEOUT:
            message = f"the code did not end within {limits.time.total_seconds():g} s"
            return Failure(code=failure.TIMEOUT, message=message)
        case failure.MEMORY_EXCEEDED:
            message = f"the code needs more than {limits.memory:,} bytes of memory"
            if said == "null":
                message += ", or it threw null"
            return Failure(code=failure.MEMORY_EXCEEDED, message=message, retryable=False)
        case failure.JAVASCRIPT_NEVER_ENDS:
            message = "the code waits for a promise that nothing can settle"
            return Failure(code=failure.JAVASCRIPT_NEVER_ENDS, message=message, retryable=False)
        case failure.NOT_JSON:
            return Failure(
                code=failure.NOT_JSON, message=f"the result is not JSON: {said}", retryable=False
            )
        case failure.TOO_LARGE:
            message = f"the result has {said}, and may have {limits.output:,}"
            return Failure(code=failure.TOO_LARGE, message=message, retryable=False)
        case failure.JAVASCRIPT_SYNTAX:
            return _thrown(failure.JAVASCRIPT_SYNTAX, thrown, said, retryable=False)
        case failure.JAVASCRIPT_ERROR:
            return _thrown(failure.JAVASCRIPT_ERROR, thrown, said, retryable=True)
        case _:
            return Failure(
                code=PROCESS_DIED, message=f"the process that ran the code has ended: {said}"
            )


def lines_of(ended: Ended, most: int) -> tuple[tuple[ConsoleLine, ...], int]:
    """The console lines of a call, at most so many bytes, and how many are left out."""
    try:
        found = _lines(ended.console)
    except (msgspec.MsgspecError, RecursionError):
        return (), 0
    room = most
    kept: list[ConsoleLine] = []
    for level, milliseconds, text in found:
        line = storable(text)
        room -= len(line.encode()) + _LINE_OVERHEAD
        if room < 0:
            break
        kept.append(
            ConsoleLine(
                level=level if level in _LEVELS else "info",
                after=timedelta(milliseconds=min(max(milliseconds, 0.0), 1e9)),
                text=line,
            )
        )
    return tuple(kept), max(ended.dropped, 0) + len(found) - len(kept)


def _thrown(code: str, thrown: Thrown, said: str, *, retryable: bool) -> Failure:
    name = storable(clipped(thrown.name, _MOST_NAME))
    message = f"{name}: {said}" if name and said else name or said or "it has no text"
    details: dict[str, JSON] = {"name": name, "message": said}
    if thrown.place is not None:
        line, column = thrown.place.line, thrown.place.column
        message += f" (line {line}, column {column})"
        details |= {"line": line, "column": column}
    if thrown.stack:
        details["stack"] = storable(clipped(thrown.stack, _MOST_MESSAGE))
    return Failure(code=code, message=message, details=details, retryable=retryable)
