"""Names, ids and patterns of events."""

from __future__ import annotations

from functools import lru_cache

from tenuto.model.checks import length_problems
from tenuto.model.errors import Problem
from tenuto.model.events import event_name_problem
from tenuto.model.ids import unseen_in


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
    return Problem(code="TEN-2015", path=path, message=message, advice=advice)


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


@lru_cache(maxsize=4096)
def fits(pattern: str, name: str) -> bool:
    """Whether `pattern` matches events called `name`."""
    if "*" not in pattern:
        return pattern == name
    words = name.split(".")
    # reachable[i]: the pattern so far can match exactly the first i words
    reachable = [True] + [False] * len(words)
    for part in pattern.split("."):
        following = [False] * (len(words) + 1)
        for used, is_reachable in enumerate(reachable[:-1]):
            if part == "**":
                following[used + 1] = is_reachable or following[used]
            else:
                following[used + 1] = is_reachable and part in ("*", words[used])
        reachable = following
    return reachable[-1]
