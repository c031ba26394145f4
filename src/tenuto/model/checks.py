"""What is refused wherever somebody hands it in, whoever it is: it would break what follows."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.ids import LONGEST_ID, too_long
from tenuto.model.json import json_problem


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
    """`moment`; InvalidInput when it does not say in which time zone it is."""
    if moment is not None and moment.tzinfo is None:
        raise InvalidInput(
            "a moment needs a time zone",
            [
                Problem(
                    code="TEN-2007",
                    path=f"$.{name}",
                    message=f"{moment.isoformat()} does not name its time zone",
                    advice="Use an aware datetime, such as datetime.now(UTC).",
                )
            ],
        )
    return moment
