"""What is refused wherever somebody hands it in, whoever it is: it would break what follows."""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import datetime
from typing import NamedTuple

from tenuto.model.durations import in_utc
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.ids import LONGEST_ID, too_long
from tenuto.model.json import json_problem

MOST_UNKNOWN = 20
"""So many names that nobody knows are told of one by one, and of the others how many they are."""
LONGEST_SHOWN = 80


class Unknown(NamedTuple):
    """Names that somebody sent and nobody would read."""

    named: list[str]
    """The first of them, cut to what a message can show."""
    others: int


def unknown_names(given: Iterable[str], known: Container[str]) -> Unknown:
    """Those of `given` that are not among `known`.

    Each is compared with what could have been meant and has a problem of its own, so that a few
    bytes that somebody sends cost thousands: therefore there is an end to it.
    """
    unknown = [name for name in given if name not in known]
    named = [name[:LONGEST_SHOWN] for name in unknown[:MOST_UNKNOWN]]
    return Unknown(named, len(unknown) - len(named))


def refuse_bad_text(**texts: str | None) -> None:
    """InvalidInput unless each of `texts`, by its name in JSON, is text that every store keeps."""
    found = ((name, json_problem(text)) for name, text in texts.items() if text is not None)
    problems = [
        Problem(
            code="TEN-2004",
            path=f"$.{name}",
            message=problem[1],
            advice="Send Unicode text without NUL characters.",
        )
        for name, problem in found
        if problem is not None
    ]
    if problems:
        raise InvalidInput("text that cannot be kept", problems)


def refuse_bad_ids(**ids: str | None) -> None:
    """InvalidInput unless each of `ids`, by its name in JSON, is what every store can look up."""
    given = {name: text for name, text in ids.items() if text is not None}
    if not given:
        return
    refuse_bad_text(**given)
    problems = [
        problem
        for name, text in ids.items()
        if isinstance(text, str)
        for problem in length_problems(text, f"$.{name}")
    ]
    if problems:
        raise InvalidInput("too long to be looked up by", problems)


def length_problems(text: str, path: str) -> list[Problem]:
    """Why a text is too long to be an id or a name."""
    problem = too_long(text)
    if problem is None:
        return []
    advice = f"Choose one of up to {LONGEST_ID} characters, or a hash of the longer one."
    return [Problem(code="TEN-2012", path=path, message=problem, advice=advice)]


def aware(moment: datetime | None, name: str) -> datetime | None:
    """`moment`; InvalidInput unless it says in which time zone it is, and UTC has it."""
    if moment is not None and (wrong := moment_problem(moment)) is not None:
        problem = Problem(
            code="TEN-2007",
            path=f"$.{name}",
            message=wrong,
            advice="Use an aware datetime, such as datetime.now(UTC).",
        )
        raise InvalidInput("a moment that cannot be kept", [problem])
    return moment


def moment_problem(moment: datetime) -> str | None:
    """Why a moment cannot be kept: it has no time zone, or is in no year that UTC has."""
    if moment.utcoffset() is None:
        return f"{moment.isoformat()} does not name its time zone"
    try:
        in_utc(moment)
    except ValueError as error:
        return str(error)
    return None
