"""Maps problems of a compiled document to lines of the workflow function."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from tenuto.model.errors import Problem
from tenuto.python_form.places import Place
from tenuto.python_form.tracing import Described

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
