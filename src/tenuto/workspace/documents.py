"""Definitions as programs give them: a dict, the path of a file, or a workflow function."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias, cast

from tenuto.definition import parse_document
from tenuto.definition.slug import slug
from tenuto.model.errors import Conflict, Forbidden, InvalidDefinition, NotFound, Problem
from tenuto.model.json import JSON, Object
from tenuto.python_form.schedules import schedule_id
from tenuto.python_form.workflow import WorkflowFunction
from tenuto.workspace.protocol import Schedules
from tenuto.workspace.schedule_values import SavedSchedule

Located: TypeAlias = Callable[[Sequence[Problem]], Sequence[Problem]]
"""The problems of a document with the places of its source."""

log = logging.getLogger("tenuto.definitions")
_MOST_LOGGED = 20


class Deployer:
    """Saves definitions, and knows the versions of the workflow functions that it has saved."""

    __slots__ = ("_save", "_schedules", "_versions")

    def __init__(
        self,
        save: Callable[[JSON], Awaitable[tuple[int, Sequence[Problem]]]],
        schedules: Callable[[], Schedules],
    ) -> None:
        """`save` saves a document and gives its version and the warnings about it.

        `schedules` are where the schedules of workflow functions are saved.
        """
        self._save = save
        self._schedules = schedules
        self._versions: dict[WorkflowFunction[..., Any], int] = {}

    async def deploy(
        self, definition: Mapping[str, JSON] | str | Path | WorkflowFunction[..., Any]
    ) -> int:
        """Save a definition and return its version; a function's children are saved with it."""
        if isinstance(definition, WorkflowFunction):
            return await self._deploy_flow(definition, set())
        return await self._saved(read_definition(definition))

    async def version_of(self, flow: WorkflowFunction[..., Any]) -> int:
        """The version under which a workflow function was saved; otherwise it is saved now."""
        return self._versions.get(flow) or await self.deploy(flow)

    async def _deploy_flow(
        self, flow: WorkflowFunction[..., Any], seen: set[WorkflowFunction[..., Any]]
    ) -> int:
        seen.add(flow)
        flow.refuse_bad_arguments()
        for child in flow.children:
            if child not in seen:
                await self._deploy_flow(child, seen)
        try:
            self._versions[flow] = await self._saved(flow.definition(), flow.located)
        except InvalidDefinition:
            # Refused only now: one that is saved already is not, whatever rules came later.
            flow.checked()
            raise
        await keep_schedule(self._schedules(), flow)
        return self._versions[flow]

    async def _saved(self, document: JSON, located: Located = tuple) -> int:
        version, problems = await self._save(document)
        id = document.get("id") if isinstance(document, dict) else None
        for problem in located(problems)[:_MOST_LOGGED]:
            log.warning("definition %s@%s: %s", id, version, problem)
        return version


async def keep_schedule(schedules: Schedules, flow: WorkflowFunction[..., Any]) -> None:
    """Save the schedule of a workflow function, or remove the one that it had.

    Conflict where its id is that of a schedule of another owner.
    """
    wanted = flow.schedule()
    id = schedule_id(flow.id)
    try:
        there = await schedules.get(id)
    except NotFound:
        there = None
    except Forbidden:
        if wanted is not None:
            raise
        # A key for definitions alone: what it cannot see, it cannot have made.
        return
    if there is not None and there.metadata.definition != flow.id:
        if wanted is None:
            return
        raise Conflict(
            f"there is a schedule {id} that is not the one of the workflow function {flow.id}",
            code="TEN-3081",
            advice="Save that schedule under another id, and remove it.",
        )
    if wanted is not None:
        if there is None or not _is_same(there, wanted):
            await schedules.save(wanted)
    elif there is not None:
        with suppress(NotFound):
            await schedules.remove(id)


def _is_same(there: SavedSchedule, wanted: Object) -> bool:
    return (there.cron, there.timezone or "UTC", there.calendar) == (
        wanted["cron"],
        wanted.get("timezone", "UTC"),
        wanted.get("calendar"),
    )


def read_definition(definition: Mapping[str, JSON] | str | Path) -> JSON:
    """The document that was given, or that a file has; without an id named by name or file."""
    if isinstance(definition, Mapping):
        return _named(cast("Object", dict(definition)), slug(cast("Object", definition)))
    path = Path(definition)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}", code="TEN-3001") from error
    return _named(parse_document(text, str(path)), path.stem)


def _named(document: JSON, id: str) -> JSON:
    """The document with an id, so that deploying it again makes a version and not another one."""
    if not isinstance(document, dict) or "id" in document:
        return document
    return {"id": id, **document}
