"""The id in the path of a request, and in its document."""

from __future__ import annotations

from tenuto.api.request_parser import WRONG_FIELD
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON


def named(document: JSON, id: str, what: str = "definition") -> JSON:
    """The document with the id of the path; an id of its own has to be the same."""
    if not isinstance(document, dict):
        return document
    own = document.get("id", document.get("scheduleId", id) if what == "schedule" else id)
    if own != id:
        problem = Problem(
            code=WRONG_FIELD,
            path="$.id",
            message=f"the {what} is {own!r}, and the path says {id!r}",
            advice="Leave the id out, or write the one of the path.",
        )
        raise InvalidInput(f"the {what} is another one than the path names", [problem])
    return document if "scheduleId" in document else {"id": id, **document}
