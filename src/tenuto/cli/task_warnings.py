"""Warns of task ids that are nearly the name of a known task, and of inputs that tasks do not take.

A worker that has such a task may come later: no more than a warning can be given.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from tenuto.cli.positions import Located
from tenuto.cli.sources import Source
from tenuto.cli.task_modules import load_tasks
from tenuto.definition.literal_inputs import literal_input_problems
from tenuto.definition.secret_places import secret_places, secret_problems
from tenuto.definition.task_places import misspelling_of, task_places
from tenuto.model.errors import Problem, TenutoError
from tenuto.model.json import Object
from tenuto.tasks.registry import DEFAULT_REGISTRY

if TYPE_CHECKING:
    from tenuto.workspace.protocol import Workspace


Known: TypeAlias = Mapping[str, Object | None]
"""Tasks, each with its input schema, if it has one."""


def tasks_around(source: Source, *, may_import: bool = False) -> dict[str, Object | None]:
    """The tasks that are loaded, and those of `tasks.py` beside the file.

    That is read, not run, unless it may be imported: a process that has tasks would work on
    instances that wait for them.
    """
    if may_import and source.flow is None:
        # Code that cannot be loaded is reported by the commands that need it.
        with redirect_stdout(sys.stderr), suppress(TenutoError, Located):
            load_tasks((), source.path)
    loaded = {name: DEFAULT_REGISTRY.get(name) for name in DEFAULT_REGISTRY}
    beside = dict.fromkeys(_declared_in(source.path.parent / "tasks.py"))
    return beside | {
        name: None if task is None else task.input_schema for name, task in loaded.items()
    }


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


async def tasks_of(space: Workspace) -> dict[str, Object | None]:
    """The tasks that a tenant has declared, or that its workers and its server run."""
    with suppress(TenutoError):
        page = await space.task_definitions.page(limit=1_000)
        return {each.id: each.in_force.input_schema for each in page.items}
    return {}


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


def with_task_warnings(source: Source, known: Known) -> Source:
    """The same, with such warnings among its problems."""
    found: list[Problem] = []
    if source.definition is not None:
        found = literal_input_problems(source.definition, known.get)
    if source.flow is not None:
        found = [*source.flow.located(found)]
    return replace(source, problems=(*source.problems, *misspelled(source, known), *found))


async def with_secret_warnings(source: Source, space: Workspace) -> Source:
    """The same, with warnings for secrets that there are not, or that may not be sent there."""
    places = [] if source.definition is None else secret_places(source.definition)
    if not places:
        return source
    known = {each.name: each.destinations for each in await space.secrets.list()}
    found = secret_problems(places, known)
    if source.flow is not None:
        found = [*source.flow.located(found)]
    return replace(source, problems=(*source.problems, *found))
