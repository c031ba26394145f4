"""Open approvals of a tenant, over all its instances: an inbox for those who decide.

Which steps are approvals is in the definitions; which instances are at such a step is in the index
of current steps. So a page costs what it shows, and a look at the newest definitions.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tenuto.core.view import context_of, waits_of
from tenuto.engine.turns.held import Held
from tenuto.model.approvals import People
from tenuto.model.errors import NotFound
from tenuto.model.graph import Approval
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.store.pages import begins_below, cursor_after
from tenuto.store.parts.instances import InstanceQuery, InstanceRow
from tenuto.workspace.definitions import Definitions
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.source import Source
from tenuto.workspace.values import Page

_VERSIONS = 20
"""Of a definition with approvals the newest so many: instances of older ones may wait, too."""
_AT_ONCE = 200
"""Definitions that are read together."""
_LARGEST = 20_000
"""Bytes of an input that is shown; a larger one is on the page of its instance."""


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
    ) -> Page[OpenApproval]:
        """Open approvals, those of the newest instances first.

        With `is_mine` only those that the principal may decide on; then a page may have fewer items
        than its limit, although there is another one.
        """
        # A made-up cursor is refused also where there is no approval.
        begins_below(InstanceQuery(after=cursor))
        rows, next_cursor = await self._waiting(limit, cursor)
        found = await self._source.loader.load([row.id for row in rows], is_shown=True)
        items = [
            approval
            for row in rows
            if isinstance(held := found.get(row.id), Held)
            for approval in self._open(held, row)
            if approval.may_decide or not is_mine
        ]
        return Page(items=items, next_cursor=next_cursor)

    async def _waiting(
        self, limit: int, cursor: str | None
    ) -> tuple[list[InstanceRow], str | None]:
        """The newest instances that are at an approval, of all definitions together."""
        places = [each async for each in self._places()]
        queries = [
            InstanceQuery(
                definition_id=each.workflow, current_step=each.step, limit=limit, after=cursor
            )
            for each in places
        ]
        pages = await asyncio.gather(
            *(instance_rows(self._source, self._tenant, each) for each in queries)
        )
        together = heapq.merge(
            *(page.items for page in pages),
            key=lambda row: (row.created_at, row.id),
            reverse=True,
        )
        # An instance may be at two approvals.
        rows = list({row.id: row for row in together}.values())
        has_more = len(rows) > limit or any(page.next_after is not None for page in pages)
        rows = rows[:limit]
        return rows, cursor_after(InstanceQuery(), rows[-1]) if has_more and rows else None

    async def _places(self) -> AsyncIterator[_Place]:
        definitions = Definitions(self._source, self._tenant)
        seen: set[_Place] = set()
        after, has_more = "", True
        while has_more:
            rows, has_more = await definitions.newest(after=after, limit=_AT_ONCE)
            for row in rows:
                after = row.id
                if b"APPROVAL" not in row.content.upper():
                    continue
                for version in range(row.version, max(0, row.version - _VERSIONS), -1):
                    for step in await self._steps(row.id, version):
                        place = _Place(row.id, step)
                        if place not in seen:
                            seen.add(place)
                            yield place
            has_more = has_more and bool(rows)

    async def _steps(self, workflow: str, version: int) -> list[str]:
        """The approvals of a version; the compiled one is kept in memory."""
        try:
            deployed = await self._source.plans.get(self._tenant, workflow, version)
        except NotFound:
            return []
        nodes = deployed.plan.nodes.items()
        return [id for id, node in nodes if isinstance(node.node.config, Approval)]

    def _open(self, held: Held, row: InstanceRow) -> Iterator[OpenApproval]:
        given = context_of(held.plan, held.state).get("input")
        is_small = len(msgspec.json.encode(given)) <= _LARGEST
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
                input=given if is_small else None,
            )


def _approval(
    wait: Object, asked: Object, row: InstanceRow, *, may_decide: bool, input: JSON
) -> OpenApproval:
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
        "formSchema": asked["formSchema"],
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
