"""The code of a definition, which a sandbox parses, and the problems that it finds."""

from __future__ import annotations

from typing import NamedTuple

from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import Problem


class CodePlace(NamedTuple):
    """The code of a node, and its JSONPath in the document."""

    path: str
    code: str


def parse_problem(path: str, message: str, line: int | None, column: int | None) -> Problem:
    """Code that does not parse; line and column count from 1."""
    where = "" if line is None else f" (line {line}, column {column or 1})"
    return Problem(
        code="TEN-1600",
        path=path,
        message=f"the code does not parse: {message}{where}",
        advice=CATALOGUE["TEN-1600"].advice,
    )


def unchecked_code(path: str, why: str) -> Problem:
    """A warning: code that was not parsed, since no process of the sandbox could do it."""
    return Problem(
        code="TEN-1604",
        path=path,
        message=f"the code was not checked: {why}",
        advice=CATALOGUE["TEN-1604"].advice,
        severity="warning",
    )
