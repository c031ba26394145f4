"""Problems of workflow functions: their lines, and the collection of those of a whole file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from msgspec.structs import replace

from tenuto.model.errors import InvalidDefinition, Problem
from tenuto.python_form.description import Described
from tenuto.python_form.places import Place

_NODE = re.compile(r"\$\.(nodes|compensationSteps)\[(\d+)\](?:\.config)?\.?(.*)")


def located(
    problems: Iterable[Problem], described: Described, around: Place
) -> tuple[Problem, ...]:
    """The same problems, with lines of Python in place of paths in the generated document."""
    return tuple(_located(problem, described, around) for problem in problems)


def _located(problem: Problem, described: Described, around: Place) -> Problem:
    place, field = around, problem.path
    if (found := _NODE.match(problem.path)) is not None:
        places = described.places if found[1] == "nodes" else described.undone
        place, field = places[int(found[2])], found[3]
    what = f"`{field}`: " if field and field != "$" else ""
    message = place.quoted_behind(f"{what}{problem.message}")
    return replace(problem, path=str(place), message=message)


_FAULTY: Final[ContextVar[list[InvalidDefinition] | None]] = ContextVar(
    "tenuto_faulty", default=None
)


@contextmanager
def collecting() -> Iterator[list[InvalidDefinition]]:
    """Functions that cannot be described are listed, and raise only when they are used."""
    found: list[InvalidDefinition] = []
    token = _FAULTY.set(found)
    try:
        yield found
    finally:
        _FAULTY.reset(token)


def is_collected(error: InvalidDefinition) -> bool:
    """Add an error to the collected ones; False if errors are not collected."""
    found = _FAULTY.get()
    if found is None:
        return False
    found.append(error)
    return True
