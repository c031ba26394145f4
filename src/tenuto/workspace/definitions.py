"""The definitions of one tenant: saved, read, removed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from tenuto.engine.definitions.plans import is_there
from tenuto.engine.engine import Engine
from tenuto.model.errors import Conflict, NotFound
from tenuto.model.json import JSON
from tenuto.model.status import FINAL, Status
from tenuto.model.test_run import is_test_run
from tenuto.store.parts.definitions import DefinitionRow
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.protocol import Parts
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.portions import Portions, size_of_parts
from tenuto.workspace.values import SavedWorkflow

_PAGE = 500
_OPEN = tuple(each for each in Status if each not in FINAL)


class Saved(SavedWorkflow, frozen=True, kw_only=True):
    """A definition that is saved, and whether that made a version of it."""

    is_new: bool
    before: DefinitionRow | None
    """The version that was the newest until then."""
    digest: bytes
    """Of what its author wrote."""


class Definitions:
    """The definitions of one tenant, as the store has them."""

    __slots__ = ("_engine", "_tenant")

    def __init__(self, engine: Engine, tenant: str) -> None:
        self._engine = engine
        self._tenant = tenant

    async def save(self, document: JSON, *, only_after: int | None = None) -> Saved:
        """Save a definition and say whether that made a new version.

        With `only_after` it is saved only while that is the newest version; Conflict.
        """
        plans = self._engine.plans
        plan = await plans.read(document)
        id = plan.definition.id
        before = await self._seen.definitions.get(self._tenant, id)
        newest = 0 if before is None else before.version
        saved = await plans.save(self._tenant, document, only_after=only_after, plan=plan)
        return Saved(
            id=id,
            version=saved.version,
            is_new=saved.version != newest,
            before=before,
            digest=saved.digest,
        )

    async def row(self, id: str, version: int | None = None) -> DefinitionRow:
        """A definition; the newest version unless one is given. NotFound."""
        found = None
        if not is_test_run(id):
            found = await self._seen.definitions.get(self._tenant, id, version)
        if not is_there(found):
            # It says what there is instead.
            await self._engine.plans.get(self._tenant, id, version)
            raise NotFound(f"there is no workflow {id}", code="TEN-2002")
        return found

    async def versions(self, id: str, versions: Iterable[int]) -> list[DefinitionRow]:
        """Those of some versions of a definition that are there, in their order."""
        seen = self._seen
        rows = await asyncio.gather(
            *(seen.definitions.get(self._tenant, id, version) for version in versions)
        )
        return list(filter(is_there, rows))

    async def newest(
        self, *, after: str = "", limit: int = 100
    ) -> tuple[list[DefinitionRow], bool]:
        """The newest versions of the definitions with ids after `after`, ordered by id.

        And whether there may be more: large documents end a page before its limit.
        """
        found: list[DefinitionRow] = []
        portions = Portions()
        while wanted := portions.next(limit, len(found)):
            rows = await self._seen.definitions.newest(self._tenant, after=after, limit=wanted)
            # Removed definitions leave a hole in the page.
            found += filter(is_there, rows)
            if len(rows) < wanted:
                return found, False
            after = rows[-1].id
            portions.add(size_of_parts(row.content) for row in rows)
        return found, True

    async def ids(self) -> list[str]:
        """The ids of all definitions, in order."""
        ids: list[str] = []
        has_more = True
        while has_more:
            page, has_more = await self.newest(after=ids[-1] if ids else "", limit=_PAGE)
            ids += [row.id for row in page]
        return ids

    async def remove(self, id: str) -> None:
        """Remove a definition; Conflict while instances of it run."""
        await self.row(id)
        plans = self._engine.plans
        if await self._has_open_instances(id):
            raise _still_runs(id)
        removed = await plans.hide(self._tenant, id)
        # Instances that were started after the first look: later starts are refused.
        if await self._has_open_instances(id):
            await plans.show_again(self._tenant, removed)
            raise _still_runs(id)

    async def withdraw(self, id: str) -> DefinitionRow | None:
        """Remove a definition while instances of it run: they keep their version. NotFound.

        Gives the version that was the newest; None where it was removed before and instances of it
        still run, so that a removal that broke off before they were cancelled can go on.
        """
        plans = self._engine.plans
        there = await self._seen.definitions.get(self._tenant, id)
        if there is not None and there.is_removed and await self._has_open_instances(id):
            return None
        return await plans.hide(self._tenant, id)

    async def _has_open_instances(self, id: str) -> bool:
        query = InstanceQuery(definition_id=id, statuses=_OPEN, limit=1)
        return bool((await instance_rows(self._engine, self._tenant, query)).items)

    @property
    def _seen(self) -> Parts:
        return self._engine.store.seen_by(self._tenant)


def _still_runs(id: str) -> Conflict:
    return Conflict(
        f"instances of {id} have not ended",
        code="TEN-3011",
        advice="Wait for them, or cancel them with force.",
    )
