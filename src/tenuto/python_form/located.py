"""Says of each problem of a compiled document which line of the function it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from tenuto.model.errors import Problem
from tenuto.python_form.places import Place

_NODE = re.compile(r"\$\.nodes\[(\d+)\](?:\.config)?\.?(.*)")


def located(
    problems: Iterable[Problem], places: Sequence[Place], around: Place
) -> tuple[Problem, ...]:
    """The same, with lines of Python in place of paths in a document nobody wrote."""
    return tuple(_located(problem, places, around) for problem in problems)


def _located(problem: Problem, places: Sequence[Place], around: Place) -> Problem:
    found = _NODE.match(problem.path)
    place = around if found is None else places[int(found[1])]
    field = found[2] if found is not None else problem.path
    what = f"`{field}`: " if field and field != "$" else ""
    message = place.quoted_behind(f"{what}{problem.message}")
    return replace(problem, path=str(place), message=message)
