"""The names that events may have."""

from __future__ import annotations

from tenuto.model.checks import length_problems
from tenuto.model.errors import Problem
from tenuto.model.json import json_problem


def name_problems(name: str, path: str) -> list[Problem]:
    """Why nobody outside may publish an event of this name."""
    too_long = length_problems(name, path)
    if too_long:
        return too_long
    words = name.split(".")
    if all(words) and "*" not in name and json_problem(name) is None:
        if words[0] != "workflow":
            return []
        message = f"{name!r} is reserved: events called workflow.* come from Tenuto itself"
    else:
        message = f"{name!r} is not the name of an event"
    advice = "Write words with dots between them, such as payment.received."
    return [Problem(code="TEN-2006", path=path, message=message, advice=advice)]
