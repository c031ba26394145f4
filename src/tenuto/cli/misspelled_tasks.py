"""Warns of task ids that are not known and nearly the name of a known task.

A worker that has such a task may come later: no more than a warning can be given.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tenuto.cli.sources import Source
from tenuto.definition.task_places import misspelling_of, task_places
from tenuto.model.errors import Problem, TenutoError
from tenuto.tasks.registry import DEFAULT_REGISTRY

if TYPE_CHECKING:
    from tenuto.workspace.protocol import Workspace


def tasks_around(source: Source) -> set[str]:
    """The tasks that are loaded, and those of `tasks.py` beside the file.

    That is read, not run: a process that has tasks would work on instances that wait for them.
    """
    return {*DEFAULT_REGISTRY, *_declared_in(source.path.parent / "tasks.py")}


def _declared_in(file: Path) -> Iterator[str]:
    """The names of functions with the decorator `task`; none of a file that cannot be read."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in function.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            named = decorator if call is None else call.func
            if (getattr(named, "attr", None) or getattr(named, "id", None)) != "task":
                continue
            given = [each.value for each in call.keywords if each.arg == "name"] if call else []
            name = given[0].value if given and isinstance(given[0], ast.Constant) else None
            yield name if isinstance(name, str) else function.name


async def tasks_of(space: Workspace) -> set[str]:
    """The tasks that a tenant has declared, or that its workers take."""
    found: set[str] = set()
    with suppress(TenutoError):
        found |= {each.id for each in (await space.task_definitions.page()).items}
    with suppress(TenutoError):
        page = await space.workers.page()
        found |= {id for each in page.items for id in each.task_ids or ()}
    return found


def misspelled(source: Source, known: Collection[str]) -> list[Problem]:
    """A warning for each task that may be a misspelling of a known one."""
    found: list[Problem] = []
    for place in () if source.definition is None else task_places(source.definition):
        near = misspelling_of(place.task_id, known)
        if near is not None:
            found.append(
                Problem(
                    code="TEN-2003",
                    path=place.path,
                    message=f"no task is known as {place.task_id!r}",
                    advice=f"Did you mean {near}?",
                    severity="warning",
                )
            )
    return found if source.flow is None else [*source.flow.located(found)]


def with_misspelled(source: Source, known: Collection[str]) -> Source:
    """The same, with these warnings among its problems."""
    return replace(source, problems=(*source.problems, *misspelled(source, known)))
