"""Warns of task ids that are not known and nearly the name of a known task.

A worker that has such a task may come later: no more than a warning can be given.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from contextlib import redirect_stdout, suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tenuto.cli.missing_tasks import load_named_tasks
from tenuto.cli.positions import Located
from tenuto.cli.sources import Source
from tenuto.cli.task_modules import load_tasks
from tenuto.definition.task_places import misspelling_of, task_places
from tenuto.model.errors import Problem, TenutoError
from tenuto.tasks.registry import DEFAULT_REGISTRY

if TYPE_CHECKING:
    from tenuto.workspace.protocol import Workspace


def tasks_around(source: Source) -> set[str]:
    """The tasks that are loaded, with those of the project and beside the file."""
    with redirect_stdout(sys.stderr):
        # Code that cannot be loaded is reported by the commands that need it.
        with suppress(TenutoError, Located):
            load_named_tasks((), None)
        if source.flow is None:
            with suppress(TenutoError, Located):
                load_tasks((), source.path)
    return {*DEFAULT_REGISTRY}


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
