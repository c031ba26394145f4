"""The names that events may have."""

from __future__ import annotations

from tenuto.model.checks import length_problems
from tenuto.model.errors import Problem
from tenuto.model.events import event_name_problem


def name_problems(name: object, path: str) -> list[Problem]:
    """Why users cannot publish an event of this name."""
    if not isinstance(name, str):
        return [_problem("an event has a pattern, which is text", path)]
    too_long = length_problems(name, path)
    if too_long:
        return too_long
    message = event_name_problem(name)
    if message is None:
        return []
    return [_problem(message, path)]


def _problem(message: str, path: str) -> Problem:
    advice = "Write words with dots between them, such as payment.received."
    return Problem(code="TEN-2006", path=path, message=message, advice=advice)
