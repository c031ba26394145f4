"""Problems of workflow functions: their lines, and the collection of those of a whole file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from tenuto.model.errors import Problem
from tenuto.python_form.description import Described
from tenuto.python_form.places import Place

if TYPE_CHECKING:
    from tenuto.python_form.workflow import WorkflowFunction

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


_MADE: Final[ContextVar[list[WorkflowFunction[..., Any]] | None]] = ContextVar(
    "tenuto_made", default=None
)


@contextmanager
def collecting() -> Iterator[list[WorkflowFunction[..., Any]]]:
    """Workflows that are made are listed; one that cannot be described raises when it is used."""
    made: list[WorkflowFunction[..., Any]] = []
    token = _MADE.set(made)
    try:
        yield made
    finally:
        _MADE.reset(token)


def is_collecting() -> bool:
    """Whether workflows are listed, and their faults are reported together."""
    return _MADE.get() is not None


def is_collected(flow: WorkflowFunction[..., Any]) -> bool:
    """Add a workflow to the collected ones; False if they are not collected."""
    made = _MADE.get()
    if made is None:
        return False
    made.append(flow)
    return True
