"""Errors as text and JSON: message, place, advice and code."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenuto.cli.positions import Positions, position_of
from tenuto.cli.views.terminal import say, say_indented
from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import (
    InvalidDefinition,
    InvalidInput,
    Overloaded,
    Problem,
    TenutoError,
    WorkflowFailed,
)
from tenuto.model.json import JSON, Object

if TYPE_CHECKING:
    from rich.text import Text

_MOST_SHOWN = 50
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep  # noqa: PTH100, PTH120 - a prefix
"""The folder of this package: frames in it ran the task."""
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3")
_POSITION = re.compile(r"\S+:\d+:\d+: ")
"""The name of a file and a place in it: it is written as it is."""
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def show_error(error: TenutoError, positions: Positions | None = None) -> None:
    """An error as text on stderr."""
    problems = problems_of(error)
    if len(problems) == 1 and problems[0].message == error.message:
        # The one problem says it all; it is not said twice.
        _headline(problems[0].code, error.message)
        say_indented(problems[0].advice, 2)
        _explain(problems[0].code)
        return
    _headline(None if problems else error.code, error.message)
    if problems:
        show_problems(problems, positions)
        return
    if isinstance(error, WorkflowFailed):
        _where(error)
        return
    if advice := _advice(error):
        say_indented(advice, 2)
    _explain(error.code)


def _advice(error: TenutoError) -> str:
    """Its own advice, or that of its code; of a refusal with a time, with the seconds."""
    if isinstance(error, Overloaded):
        return error.public_advice
    return error.advice or (CATALOGUE[error.code].advice if error.code in CATALOGUE else "")


def show_problems(problems: Sequence[Problem], positions: Positions | None = None) -> None:
    """All problems, each with its place, and one pointer to the long form."""
    from rich.text import Text

    for problem in problems[:_MOST_SHOWN]:
        style = "bold red" if problem.severity == "error" else "bold yellow"
        line = Text("  ")
        line.append(problem.code, style=style)
        line.append(f"  {problem.path}", style="bold")
        place = positions.place(problem.path) if positions is not None else None
        if place is not None:
            line.append(f"  {place!s}", style="dim")
        if problem.severity == "warning":
            line.append("  warning", style="yellow")
        say(line)
        say_indented(_sentence(problem.message), 12)
        if problem.advice:
            say_indented(problem.advice, 12, style="cyan")
    if len(problems) > _MOST_SHOWN:
        say(f"  … and {len(problems) - _MOST_SHOWN} more; -o json gives them all")
    _explain(problems[0].code if len({each.code for each in problems}) == 1 else "CODE")


def problems_of(error: TenutoError) -> tuple[Problem, ...]:
    """The problems that an error lists, if it lists any."""
    if isinstance(error, InvalidDefinition | InvalidInput):
        return error.problems
    return ()


def error_json(error: TenutoError, positions: Positions | None = None) -> Object:
    """An error for programs."""
    view: Object = {"code": error.code, "message": error.message}
    if error.reason is not None:
        view["reason"] = error.reason
    if error.advice:
        view["advice"] = _advice(error)
    if isinstance(error, Overloaded) and error.retry_after is not None:
        view["retryAfter"] = error.retry_after
    problems = problems_of(error)
    if problems:
        view["problems"] = [problem_json(problem, positions) for problem in problems]
    return {"error": view}


def problem_json(problem: Problem, positions: Positions | None = None) -> Object:
    """A problem with the names of the specification, and its place in a file, where it has one."""
    view: Object = {
        "code": problem.code,
        "path": problem.path,
        "message": problem.message,
        "advice": problem.advice,
        "severity": problem.severity,
    }
    if (at := position_of(problem, positions)) is not None:
        view |= {"file": at.file, "line": at.line, "column": at.column}
    return view


def own_traceback(details: JSON) -> str | None:
    """The traceback of a task without the frames of Tenuto, which ran it."""
    trace = details.get("traceback") if isinstance(details, dict) else None
    if not isinstance(trace, str) or not trace.strip():
        return None
    kept: list[str] = []
    is_ours = False
    for line in trace.rstrip().splitlines():
        if frame := _FRAME.search(line):
            is_ours = frame[1].startswith(_OURS)
        elif not line.startswith("    "):
            is_ours = False
        if not is_ours:
            kept.append(line)
    return "\n".join(kept)


def raised_at(details: JSON) -> str | None:
    """`file:line` of the last frame of a task's traceback that is the user's own."""
    trace = details.get("traceback") if isinstance(details, dict) else None
    frames = _FRAME.findall(trace) if isinstance(trace, str) else []
    own = [each for each in frames if not _is_foreign(each[0])] or frames
    return f"{_near(own[-1][0])}:{own[-1][1]}" if own else None


def _is_foreign(file: str) -> bool:
    """Whether a frame is of a library, of Python or of Tenuto; the task may run elsewhere."""
    return file.startswith((_OURS, "<")) or any(part in file for part in _LIBRARIES)


def _near(file: str) -> str:
    """A file as people see it from here: relative where it is below this folder."""
    relative = os.path.relpath(file)
    return file if relative.startswith(os.pardir) else relative


def _headline(code: str | None, message: str) -> None:
    line = _text("error", "bold red")
    if code is not None:
        line.append(f" {code}", style="bold")
    line.append(f"  {message}")
    say(line)


def _where(error: WorkflowFailed) -> None:
    step, attempt = error.error.step_id, error.error.attempt
    if step is not None:
        place = raised_at(error.error.details)
        say(f"  In step {step}, attempt {attempt}{f', at {place}' if place else ''}.")


def _explain(code: str) -> None:
    if code == "CODE" or code in CATALOGUE:
        say(f"  More: tenuto explain {code}", style="dim")


def _sentence(message: str) -> str:
    begin = message[:1] if _POSITION.match(message) else message[:1].upper()
    return begin + message[1:] + ("" if message.endswith((".", "!", "?")) else ".")


def _text(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(text, style=style)
