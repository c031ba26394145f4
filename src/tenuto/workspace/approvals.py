"""Open approvals of a tenant, over all its instances: an inbox for those who decide.

Which steps are approvals is in the definitions; which instances are at such a step is in the index
of current steps. So a page costs what it shows, and a look at the newest definitions.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tenuto.core.view import context_of, waits_of
from tenuto.engine.turns.held import Held
from tenuto.model.approvals import People
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.store.pages import begins_below, cursor_after
from tenuto.store.parts.instances import InstancePage, InstanceQuery, InstanceRow
from tenuto.workspace.definitions import Definitions
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.portions import MOST_BYTES
from tenuto.workspace.source import Source

_VERSIONS = 20
"""Of a definition with approvals the newest so many: instances of older ones may wait, too."""
_AT_ONCE = 200
"""Definitions that are read together."""
_MOST_DEFINITIONS = 2_000
"""Of so many definitions the approvals are looked for."""
_MOST_PLACES = 200
"""At so many steps instances are looked for."""
_TOGETHER = 4
"""Queries that are asked together: a list leaves connections to others."""
_LOADED = 10
"""Instances that are loaded together."""
_LARGEST = 20_000
"""Bytes of an input or a form that is shown; larger ones are on the page of their instance."""


class OpenApproval(Struct, frozen=True, kw_only=True, rename="camel"):
    """A decision that an instance waits for."""

    instance_id: str
    workflow_id: str
    definition_version: int
    instance_status: Status
    """A paused instance takes a decision, too."""
    correlation_id: str | None
    step_id: str
    iteration: str
    users: list[str]
    """Who may decide: `key:<id>`, `<issuer>|<subject>`, or a subject of the provider."""
    roles: list[str]
    form_schema: JSON
    """Null also where it is larger than 20,000 bytes."""
    is_form_left_out: bool
    """Whether there is a form, and it is too large for a list."""
    opened_at: str | None
    due_at: str | None
    """When it times out; null: never."""
    reminders: int
    """How many reminders were sent."""
    escalated_at: str | None
    is_overdue: bool
    """Whether it was reminded of, or has escalated."""
    may_decide: bool
    """Whether the principal that asks may decide on it."""
    input: JSON
    """The input of the instance; null also where it is larger than 20,000 bytes."""


class OpenApprovals(Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of the list of open approvals, and how to go on with it."""

    items: list[OpenApproval]
    next_cursor: str | None
    is_complete: bool
    """False where there are more steps with approvals than are looked at, or where one instance has
    more open approvals than a page."""


class _Place(NamedTuple):
    """A step that is an approval."""

    workflow: str
    step: str


class TenantApprovals:
    """The open approvals of one tenant, for one principal."""

    def __init__(
        self,
        source: Source,
        tenant: str,
        identity: str,
        roles: tuple[str, ...],
        *,
        is_trusted: bool = False,
    ) -> None:
        """`is_trusted`: the principal may name another person who decides."""
        self._is_trusted = is_trusted
        self._source = source
        self._tenant = tenant
        self._identity = identity
        self._roles = roles

    async def page(
        self, *, limit: int = 100, cursor: str | None = None, is_mine: bool = False
    ) -> OpenApprovals:
        """Open approvals, those of the newest instances first.

        A page ends after an instance: before the one that would exceed the limit, and after the one
        that reaches a size. With `is_mine` only those that the principal may decide on; then a page
        may have fewer items than its limit, although there is another one.
        """
        # A made-up cursor is refused also where there is no approval.
        begins_below(InstanceQuery(after=cursor))
        places, is_complete = await self._places()
        rows, has_more = await self._waiting(places, limit, cursor)
        items: list[OpenApproval] = []
        size, last = 0, None
        async for row, held in self._loaded(rows):
            found = [each for each in self._open(held, row) if each.may_decide or not is_mine]
            if len(found) > limit:
                found, is_complete = found[:limit], False
            if len(items) + len(found) > limit or size >= MOST_BYTES:
                has_more = True
                break
            items += found
            size += sum(len(msgspec.json.encode(each)) for each in found)
            last = row
        else:
            # Those that could not be loaded are passed over.
            last = rows[-1] if rows else None
        after = cursor_after(InstanceQuery(), last) if has_more and last else None
        return OpenApprovals(items=items, next_cursor=after, is_complete=is_complete)

    async def _loaded(self, rows: Sequence[InstanceRow]) -> AsyncIterator[tuple[InstanceRow, Held]]:
        """Instances, a few at a time, without those that cannot be read."""
        for first in range(0, len(rows), _LOADED):
            some = rows[first : first + _LOADED]
            found = await self._source.loader.load([row.id for row in some], is_shown=True)
            for row in some:
                if isinstance(held := found.get(row.id), Held):
                    yield row, held

    async def _waiting(
        self, places: Sequence[_Place], limit: int, cursor: str | None
    ) -> tuple[list[InstanceRow], bool]:
        """The newest instances at any of the places, and whether there are more."""
        turns = asyncio.Semaphore(_TOGETHER)

        async def found(query: InstanceQuery) -> InstancePage:
            async with turns:
                return await instance_rows(self._source, self._tenant, query)

        queries = [
            InstanceQuery(
                definition_id=each.workflow, current_step=each.step, limit=limit, after=cursor
            )
            for each in places
        ]
        pages = await asyncio.gather(*map(found, queries))
        together = heapq.merge(
            *(page.items for page in pages),
            key=lambda row: (row.created_at, row.id),
            reverse=True,
        )
        # An instance may be at two approvals.
        rows = list({row.id: row for row in together}.values())
        has_more = len(rows) > limit or any(page.next_after is not None for page in pages)
        return rows[:limit], has_more

    async def _places(self) -> tuple[list[_Place], bool]:
        """The steps that are approvals, and whether these are all."""
        definitions = Definitions(self._source, self._tenant)
        found: dict[_Place, None] = {}
        after, has_more, looked_at = "", True, 0
        while has_more:
            if looked_at >= _MOST_DEFINITIONS:
                return [*found], False
            rows, has_more = await definitions.newest(after=after, limit=_AT_ONCE)
            looked_at += len(rows)
            for row in rows:
                after = row.id
                if b"APPROVAL" not in row.content.upper():
                    continue
                for version in range(row.version, max(0, row.version - _VERSIONS), -1):
                    steps = await self._source.plans.approvals(self._tenant, row.id, version)
                    found |= {_Place(row.id, step): None for step in steps}
                    if len(found) > _MOST_PLACES:
                        return [*found][:_MOST_PLACES], False
            has_more = has_more and bool(rows)
        return [*found], True

    def _open(self, held: Held, row: InstanceRow) -> Iterator[OpenApproval]:
        given = context_of(held.plan, held.state).get("input")
        shown = _if_small(given)
        for wait in waits_of(held.plan, held.state, in_full=True):
            assert isinstance(wait, dict)
            asked = wait.get("approval")
            if not isinstance(asked, dict):
                continue
            yield _approval(
                wait,
                asked,
                row,
                may_decide=self._is_trusted or _people(asked).include(self._identity, self._roles),
                input=shown,
            )


def _if_small(value: JSON) -> JSON:
    return value if len(msgspec.json.encode(value)) <= _LARGEST else None


def _approval(
    wait: Object, asked: Object, row: InstanceRow, *, may_decide: bool, input: JSON
) -> OpenApproval:
    form = _if_small(asked["formSchema"])
    shown = {
        "instanceId": row.id,
        "workflowId": row.definition_id,
        "definitionVersion": row.definition_version,
        "instanceStatus": row.status,
        "correlationId": row.correlation_id,
        "stepId": wait["stepId"],
        "iteration": wait["iteration"],
        "users": asked["users"],
        "roles": asked["roles"],
        "formSchema": form,
        "isFormLeftOut": form is None and asked["formSchema"] is not None,
        "openedAt": wait["since"],
        "dueAt": wait["timeoutAt"],
        "reminders": asked["reminders"],
        "escalatedAt": asked["escalatedAt"],
        "isOverdue": bool(asked["reminders"]) or asked["escalatedAt"] is not None,
        "mayDecide": may_decide,
        "input": input,
    }
    return msgspec.convert(shown, OpenApproval)


def _people(asked: Object) -> People:
    return msgspec.convert({"users": asked["users"], "roles": asked["roles"]}, People)
