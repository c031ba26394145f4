"""Why an instance is not moving, and the long form of an error code, as text."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from tenuto.cli.views.failure import causes_of
from tenuto.cli.views.marks import STATUS_MARKS
from tenuto.cli.views.near_misses import near_view_lines
from tenuto.cli.views.terminal import ago, countdown, show, show_line, styled
from tenuto.model.codes import CATALOGUE, FAILURES, Code
from tenuto.model.errors import NotFound
from tenuto.model.json import JSON, Object
from tenuto.model.lengths import length
from tenuto.model.status import read_status

_OVER: Final = ("completed", "failed", "cancelled", "schedule")
"""Kinds of causes that lie in the past."""


def find_code(text: str) -> tuple[str, Code]:
    """The code that `TEN-1042`, `ten-1042`, `1042` or `POISON` means; NotFound."""
    upper = text.strip().upper()
    if (failure := FAILURES.get(upper)) is not None:
        return upper, failure
    is_refusal = upper.isdigit() or upper.startswith("TEN")
    code = f"TEN-{upper}" if upper.isdigit() else upper
    found = CATALOGUE.get(code)
    if found is None:
        near = difflib.get_close_matches(code, [*CATALOGUE, *FAILURES], n=3)
        advice = "Codes look like TEN-1042 or TIMEOUT."
        if near:
            advice = f"Did you mean {', '.join(near)}?"
        elif not is_refusal:
            advice = (
                "It may be a code of a task's own: the name of an exception, or of a TaskError. "
                "`tenuto explain @last-failed` explains an instance that failed with it."
            )
        raise NotFound(f"there is no code {text}", advice=advice)
    return code, found


def show_code(code: str, found: Code) -> None:
    """What a code means and what to do about it."""
    show(f"{code}  {found.title}\n\n{found.explanation}\n\nWhat to do: {found.advice}")
    if found.reason is not None:
        show(f"\nWhile an instance runs, the same is {found.reason}.")


def code_json(code: str, found: Code) -> Object:
    """The same as JSON."""
    return {
        "code": code,
        "title": found.title,
        "explanation": found.explanation,
        "advice": found.advice,
        **({} if found.reason is None else {"reason": found.reason}),
    }


def show_explanation(explained: Object, now: datetime) -> None:
    """The status of an instance, and the tree of its causes."""
    status = read_status(str(explained["status"]))
    mark, style = STATUS_MARKS[status]
    show(styled(f"{mark} {status.value}", style, f"  {explained['instanceId']}"))
    for line in _lines(explained["causes"], now):
        show_line(f"  {line}")


def _lines(causes: JSON, now: datetime, depth: int = 0) -> Iterable[str]:
    assert isinstance(causes, list)
    for cause in causes:
        assert isinstance(cause, dict)
        details = cause["details"]
        assert isinstance(details, dict)
        yield f"{'  ' * depth}{_step(cause)}{cause['message']}{_when(cause, now)}"
        if (advice := details.get("advice")) is not None:
            yield f"{'  ' * depth}  {advice}"
        error = details.get("error")
        for each in causes_of(error.get("details")) if isinstance(error, dict) else ():
            yield f"{'  ' * depth}  caused by {each.line}"
            yield f"{'  ' * depth}  in its child {each.child}"
        near = details.get("nearMisses")
        if isinstance(near, list):
            for line in near_view_lines(near, str(details["eventPattern"]), now):
                yield f"{'  ' * depth}  {line}"
        yield from _lines(cause["causes"], now, depth + 1)


def _step(cause: Object) -> str:
    if "stepId" not in cause:
        return ""
    iteration = f"[{cause['iteration']}]" if cause["iteration"] else ""
    return f"{cause['stepId']}{iteration}: "


def _when(cause: Object, now: datetime) -> str:
    said: list[str] = []
    if "since" in cause:
        since = datetime.fromisoformat(str(cause["since"]))
        said.append(ago(since, now) if cause["kind"] in _OVER else f"for {length(now - since)}")
    if "until" in cause:
        until = datetime.fromisoformat(str(cause["until"]))
        said.append(f"{countdown(until - now)} left" if until > now else "due now")
    return f"  ({', '.join(said)})" if said else ""
