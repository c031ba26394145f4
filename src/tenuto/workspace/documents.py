"""Definitions as programs give them: a dict, the path of a file, or a workflow function."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from tenuto.definition import parse_document
from tenuto.definition.slug import slug
from tenuto.model.errors import InvalidDefinition, NotFound, Problem
from tenuto.model.json import JSON, Object
from tenuto.python_form.workflow import WorkflowFunction

Located: TypeAlias = Callable[[Sequence[Problem]], Sequence[Problem]]
"""The problems of a document with the places of its source."""

log = logging.getLogger("tenuto.definitions")
_MOST_LOGGED = 20


class Deployer:
    """Saves definitions, and knows the versions of the workflow functions that it has saved."""

    __slots__ = ("_save", "_versions")

    def __init__(self, save: Callable[[JSON], Awaitable[tuple[int, Sequence[Problem]]]]) -> None:
        """`save` saves a document and gives its version and the warnings about it."""
        self._save = save
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
        for child in flow.children:
            if child not in seen:
                await self._deploy_flow(child, seen)
        try:
            self._versions[flow] = await self._saved(flow.definition(), flow.located)
        except InvalidDefinition:
            # Refused only now: one that is saved already is not, whatever rules came later.
            flow.checked()
            raise
        return self._versions[flow]

    async def _saved(self, document: JSON, located: Located = tuple) -> int:
        version, problems = await self._save(document)
        id = document.get("id") if isinstance(document, dict) else None
        for problem in located(problems)[:_MOST_LOGGED]:
            log.warning("definition %s@%s: %s", id, version, problem)
        return version


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
