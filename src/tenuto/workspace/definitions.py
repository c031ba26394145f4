"""The definitions of one tenant: saved, read, removed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import timedelta

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tenuto.definition.calendar_places import CalendarPlace, calendar_places
from tenuto.definition.compiler import Checked
from tenuto.definition.literal_inputs import literal_input_problems
from tenuto.definition.query_places import QueryPlace, query_places
from tenuto.definition.report import did_you_mean
from tenuto.definition.secret_places import SecretUse, secret_places, secret_problems
from tenuto.definition.slug import slug
from tenuto.definition.task_places import TaskPlace, task_places
from tenuto.engine.definitions.plans import is_there
from tenuto.model.codes import CATALOGUE
from tenuto.model.durations import iso
from tenuto.model.errors import Conflict, NotFound, Problem
from tenuto.model.json import JSON, Object
from tenuto.model.own_names import is_callback
from tenuto.model.status import FINAL, Status
from tenuto.model.test_run import is_test_run
from tenuto.ports import Ids
from tenuto.store.parts.definitions import DefinitionRow
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.protocol import Parts
from tenuto.workspace.cursors import read_cursor, write_cursor
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.own_limits import of_new_version
from tenuto.workspace.portions import Portions, size_of_parts
from tenuto.workspace.source import Source
from tenuto.workspace.values import SavedWorkflow

_NUMBERED = 50
"""Numbers that are tried for an id that is taken; after them it gets random characters."""
_MOST_UNDECLARED = 100
"""So many tasks that nothing is known of are named."""
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

    __slots__ = ("_input_schema", "_is_known_task", "_source", "_tenant")

    def __init__(
        self,
        source: Source,
        tenant: str,
        is_known_task: Callable[[str], bool] = lambda _: False,
        input_schema: Callable[[str], Object | None] = lambda _: None,
    ) -> None:
        """`is_known_task` says whether a task is run or declared, without a look at the store.

        `input_schema` is that of a task, if one is known.
        """
        self._input_schema = input_schema
        self._source = source
        self._tenant = tenant
        self._is_known_task = is_known_task

    async def create(self, document: JSON) -> Saved:
        """Save a new definition; Conflict where its id is taken.

        One without an id gets a free one, made of its name.
        """
        if isinstance(document, dict) and "id" not in document:
            return await self._create_named(document)
        id = (await self._source.plans.read(document, tenant=self._tenant)).definition.id
        there = await self._seen.definitions.get(self._tenant, id)
        if is_there(there):
            raise is_taken(id)
        try:
            return await self.save(document, only_after=0 if there is None else there.version)
        except Conflict:
            raise is_taken(id) from None

    async def _create_named(self, document: Object) -> Saved:
        """Create a definition under the first free id that is made of its name."""
        base = slug(document)
        for id in candidate_ids(base, self._source.ids):
            if await self._seen.definitions.get(self._tenant, id) is None:
                with suppress(Conflict):
                    return await self.save({"id": id, **document}, only_after=0)
        raise is_taken(base)

    async def save(self, document: JSON, *, only_after: int | None = None) -> Saved:
        """Save a definition and say whether that made a new version.

        With `only_after` it is saved only while that is the newest version; Conflict. One without
        an id is created.
        """
        if isinstance(document, dict) and "id" not in document:
            return await self.create(document)
        plans = self._source.plans
        plan = await plans.read_to_save(self._tenant, document)
        id = plan.definition.id
        before = await self._seen.definitions.get(self._tenant, id)
        newest = 0 if before is None else before.version
        saved = await plans.save(self._tenant, document, only_after=only_after, plan=plan)
        lowered = await of_new_version(self._source.store, before, saved.version)
        problems = as_warnings((await self.checked(document, may_refuse=False)).problems)
        return Saved(
            id=id,
            version=saved.version,
            problems=(*problems, *lowered),
            is_new=saved.version != newest,
            before=before,
            digest=saved.digest,
        )

    async def checked(self, document: JSON, *, may_refuse: bool = True) -> Checked:
        """All problems of a document; warnings also for what nothing here runs."""
        checked = await self._checked(document, may_refuse=may_refuse)
        if checked.definition is None:
            return checked
        undeclared = await self.undeclared(task_places(checked.definition))
        return replace(checked, problems=(*checked.problems, *undeclared))

    async def warnings(self, document: JSON) -> tuple[Problem, ...]:
        """The problems of a document that is saved; not the tasks, which may be declared later."""
        return as_warnings((await self._checked(document, may_refuse=False)).problems)

    async def _checked(self, document: JSON, *, may_refuse: bool) -> Checked:
        kept = timedelta(seconds=self._source.settings.inbox_retention)
        checked = await self._source.plans.check(
            document, kept, tenant=self._tenant, may_refuse=may_refuse
        )
        if checked.definition is None:
            return checked
        misfits = literal_input_problems(checked.definition, self._input_schema)
        unknown = await self.unknown_calendars(calendar_places(checked.definition))
        queries = await self.unknown_queries(query_places(checked.definition))
        secrets = await self.unknown_secrets(secret_places(checked.definition))
        found = (*checked.problems, *misfits, *unknown, *queries, *secrets)
        return replace(checked, problems=found)

    async def undeclared(self, places: Iterable[TaskPlace]) -> list[Problem]:
        """Warnings for tasks that are neither declared nor run in process: they need a worker."""
        used: dict[str, TaskPlace] = {}
        for place in places:
            if not self._is_known_task(place.task_id):
                used.setdefault(place.task_id, place)
        tasks, looked_up = self._seen.tasks, list(used)[:_MOST_UNDECLARED]
        # Another process may have declared them a moment ago.
        unknown = [id for id in looked_up if await tasks.get(self._tenant, id) is None]
        return [
            Problem(
                code="TEN-2604",
                path=used[id].path,
                message=f"{used[id].step_id}: nothing is known of the task {id!r}",
                advice=CATALOGUE["TEN-2604"].advice,
                severity="warning",
            )
            for id in unknown
        ]

    async def unknown_calendars(self, places: Iterable[CalendarPlace]) -> list[Problem]:
        """Warnings for calendars that do not exist: steps that count in them would fail."""
        used = list(places)
        if not used:
            return []
        known = {each.id for each in await self._seen.calendars.page(self._tenant)}
        advice = CATALOGUE["TEN-2726"].advice
        return [
            Problem(
                code="TEN-2726",
                path=each.path,
                message=f"there is no calendar {each.calendar!r}",
                advice=did_you_mean(each.calendar, known, advice),
                severity="warning",
            )
            for each in used
            if each.calendar not in known
        ]

    async def unknown_queries(self, places: Iterable[QueryPlace]) -> list[Problem]:
        """Warnings for data queries that do not exist: steps that run them would fail."""
        queries, looked_up = self._seen.data_queries, list(places)[:_MOST_UNDECLARED]
        unknown = [
            each for each in looked_up if await queries.get(self._tenant, each.query) is None
        ]
        if not unknown:
            return []
        known = [each.id for each in await queries.page(self._tenant)]
        advice = CATALOGUE["TEN-2780"].advice
        return [
            Problem(
                code="TEN-2780",
                path=each.path,
                message=f"{each.step_id}: there is no data query {each.query!r}",
                advice=did_you_mean(each.query, known, advice),
                severity="warning",
            )
            for each in unknown
        ]

    async def unknown_secrets(self, places: Iterable[SecretUse]) -> list[Problem]:
        """Warnings for secrets that do not exist, or may not be sent where a step sends them."""
        used = list(places)
        if not used:
            return []
        rows = await self._seen.secrets.page(self._tenant)
        return secret_problems(used, {row.name: row.destinations for row in rows})

    async def row(self, id: str, version: int | None = None) -> DefinitionRow:
        """A definition; the newest version unless one is given. NotFound."""
        found = None
        if not is_test_run(id):
            found = await self._seen.definitions.get(self._tenant, id, version)
        if not is_there(found):
            # It says what there is instead.
            await self._source.plans.get(self._tenant, id, version)
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
            # Removed definitions, and Tenuto's own, leave a hole in the page.
            found += [row for row in rows if is_there(row) and not is_callback(row.id)]
            if len(rows) < wanted:
                return found, False
            after = rows[-1].id
            portions.add(size_of_parts(row.content) for row in rows)
        return found, True

    async def page(
        self, *, limit: int = 100, cursor: str | None = None
    ) -> tuple[list[DefinitionRow], str | None]:
        """A page of the newest versions, ordered by id, and its cursor."""
        after = read_cursor(cursor, str) or ""
        # One more than is shown tells whether there are more.
        rows, may_be_more = await self.newest(after=after, limit=limit + 1)
        has_more = len(rows) > limit or (may_be_more and bool(rows))
        shown = rows[:limit]
        return shown, write_cursor(shown[-1].id) if has_more else None

    async def ids(self) -> list[str]:
        """The ids of all definitions, in order."""
        found = await self._seen.definitions.ids(self._tenant)
        return [id for id in found if not is_test_run(id) and not is_callback(id)]

    async def remove(self, id: str) -> None:
        """Remove a definition; Conflict while instances of it run."""
        _refuse_own(id)
        await self.row(id)
        plans = self._source.plans
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
        _refuse_own(id)
        plans = self._source.plans
        there = await self._seen.definitions.get(self._tenant, id)
        if there is not None and there.is_removed and await self._has_open_instances(id):
            return None
        return await plans.hide(self._tenant, id)

    async def _has_open_instances(self, id: str) -> bool:
        query = InstanceQuery(definition_id=id, statuses=_OPEN, limit=1)
        return bool((await instance_rows(self._source, self._tenant, query)).items)

    @property
    def _seen(self) -> Parts:
        return self._source.store.seen_by(self._tenant)


def as_warnings(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems of what is saved: rules that came later refuse only new content."""
    return tuple(replace(each, severity="warning") for each in problems)


class _Head(Struct):
    """The fields of a document that lists show; the others, which may be large, are passed over."""

    name: JSON | UnsetType = UNSET
    title: JSON = None
    description: JSON = None


_read_head = msgspec.json.Decoder(_Head).decode


def listed(row: DefinitionRow) -> Object:
    """A version of a definition as lists show it, in JSON."""
    head = _read_head(row.content)
    name = head.title if head.name is UNSET else head.name
    return {
        "id": row.id,
        "version": row.version,
        "name": name if isinstance(name, str) else None,
        "description": head.description if isinstance(head.description, str) else None,
        "createdAt": iso(row.created_at),
    }


def candidate_ids(base: str, ids: Ids) -> Iterator[str]:
    """Ids for a definition that names none, of which the first free one is taken."""
    yield base
    yield from (f"{base}-{number}" for number in range(2, _NUMBERED))
    yield f"{base}-{ids.short()}"


def is_taken(id: str) -> Conflict:
    """The error for a new definition whose id has one already."""
    return Conflict(f"there is a workflow {id} already", code="TEN-2006")


def _refuse_own(id: str) -> None:
    if is_callback(id):
        # Schedules need it; lists do not show it.
        raise NotFound(f"there is no workflow {id}", code="TEN-2002")


def _still_runs(id: str) -> Conflict:
    return Conflict(
        f"instances of {id} have not ended",
        code="TEN-3011",
        advice="Wait for them, or cancel them with force.",
    )
