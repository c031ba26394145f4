"""Checks of event ids and correlation ids."""

from __future__ import annotations

from tenuto.model.errors import Problem
from tenuto.model.ids import unseen_in

OF_CLOUD_EVENTS = "cloudevent "
"""The reserved prefix of ids that are made from a CloudEvent's source and id."""
_NOT_AN_ID = "TEN-2014"


def id_problems(text: str | None, path: str) -> list[Problem]:
    """Why an id has invisible characters; None if it has none."""
    problem = None if text is None else unseen_in(text)
    if problem is None:
        return []
    advice = "Leave out control characters, and white space at the ends."
    return [Problem(code=_NOT_AN_ID, path=path, message=problem, advice=advice)]


def given_id_problems(id: str | None, path: str) -> list[Problem]:
    """Why an event that is not a CloudEvent cannot have this id."""
    problems = id_problems(id, path)
    if id is not None and id.startswith(OF_CLOUD_EVENTS):
        message = f"{id!r} is an id that only a CloudEvent has"
        advice = "Send the event as a CloudEvent, or give it another id."
        problems.append(Problem(code=_NOT_AN_ID, path=path, message=message, advice=advice))
    return problems
