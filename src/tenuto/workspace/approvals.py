"""Open approvals of a tenant, over all its instances: an inbox for those who decide.

Each instance with an open approval has marks in the index of search terms: one for any approval,
and one for each user and role that may decide (`core/open_approvals.py`). So a page costs what it
shows, however many definitions and instances there are.
"""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from itertools import islice

import msgspec

from tenuto.core.open_approvals import ANYBODY, OPEN, OVERDUE
from tenuto.core.view import context_of, waits_of
from tenuto.engine.turns.held import Held
from tenuto.model.approvals import People, mark_of_role, mark_of_user, marks_for
from tenuto.model.durations import epoch_ms
from tenuto.model.graph import Approval as ApprovalConfig
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tenuto.model.pauses import between_parts
from tenuto.model.search_terms import mark_of
from tenuto.model.status import Status
from tenuto.store.cursor import BEFORE_ALL, Position, read_cursor, write_cursor
from tenuto.store.parts.instances import InstanceQuery, InstanceRow
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.large_instances import of_whole
from tenuto.workspace.portions import MOST_BYTES
from tenuto.workspace.source import Source
from tenuto.workspace.values import ANY_APPROVAL, ApprovalFilter, OpenApproval, Page

_LOADED = 10
"""Instances that are loaded together."""
_LARGEST = 20_000
"""Bytes of an input or a form that is shown; larger ones are on the page of their instance."""
_OPEN = tuple(status for status in Status if not status.is_final)
_AFTER = "\x01"
"""Between the id of an instance and an entry of its log, in a cursor: no id has it, and of all ids
that begin with this one it comes first."""


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
        self, which: ApprovalFilter = ANY_APPROVAL, *, limit: int = 100, cursor: str | None = None
    ) -> Page[OpenApproval]:
        """Open approvals: those of the newest instances first, of one instance the oldest first.

        A page may have fewer items than its limit, although there is another one.
        """
        begin = BEFORE_ALL if cursor is None else read_cursor(cursor)
        rows, has_more = await self._waiting(which, limit, begin)
        items: list[OpenApproval] = []
        size, last = 0, begin
        async for row, held in self._loaded(rows):
            # One more than is shown tells whether there are more.
            most = limit - len(items) + 1
            listed = partial(self._listed, held, row, which, begin, most)
            for place, found, bytes_of_it in await of_whole(self._source, held, listed):
                if len(items) == limit or size >= MOST_BYTES:
                    return Page(items=items, next_cursor=write_cursor(last))
                items.append(found)
                size += bytes_of_it
                last = place
            last = _position(row)
        if rows:
            # Those that could not be loaded are passed over.
            last = _position(rows[-1])
        return Page(items=items, next_cursor=write_cursor(last) if has_more else None)

    def _listed(
        self, held: Held, row: InstanceRow, which: ApprovalFilter, begin: Position, most: int
    ) -> list[tuple[Position, OpenApproval, int]]:
        """Up to so many approvals of an instance that a filter finds after a place, with sizes."""
        after = (
            (place, found, len(msgspec.json.encode(found)))
            for place, found in self._open(held, row, begin)
            if self._fits(found, which)
        )
        return list(islice(after, most))

    def _fits(self, found: OpenApproval, which: ApprovalFilter) -> bool:
        return (
            (found.may_decide or not which.is_mine)
            and (found.is_overdue or not which.is_overdue)
            and (which.user is None or which.user in found.users)
            and (which.role is None or which.role in found.roles)
        )

    def _names(self, which: ApprovalFilter) -> tuple[str, ...]:
        """The marks of which an instance has to have one; empty text: that of any approval."""
        if which.user is not None:
            return (mark_of_user(which.user), ANYBODY)
        if which.role is not None:
            return (mark_of_role(which.role), ANYBODY)
        if which.is_mine and not self._is_trusted:
            return (*marks_for(self._identity, self._roles), ANYBODY)
        return ("",)

    async def _waiting(
        self, which: ApprovalFilter, limit: int, begin: Position
    ) -> tuple[list[InstanceRow], bool]:
        """The newest instances with such approvals, and whether there are more."""
        kind = OVERDUE if which.is_overdue else OPEN
        pages = [
            await instance_rows(
                self._source,
                self._tenant,
                InstanceQuery(
                    mark=mark_of(kind, name),
                    statuses=_OPEN,
                    limit=limit,
                    after=write_cursor(begin),
                ),
            )
            for name in self._names(which)
        ]
        together = heapq.merge(*(page.items for page in pages), key=_position, reverse=True)
        rows = list({row.id: row for row in together}.values())
        # What follows the last one of a page that goes on may be between those of the others.
        ends = [_position(page.items[-1]) for page in pages if page.next_after and page.items]
        shown = [row for row in rows if not ends or _position(row) >= max(ends)][:limit]
        return shown, bool(ends) or len(shown) < len(rows)

    async def _loaded(self, rows: Sequence[InstanceRow]) -> AsyncIterator[tuple[InstanceRow, Held]]:
        """Instances, a few at a time, without those that cannot be read."""
        for first in range(0, len(rows), _LOADED):
            some = rows[first : first + _LOADED]
            found = await self._source.loader.load([row.id for row in some], is_shown=True)
            for row in some:
                if isinstance(held := found.get(row.id), Held):
                    yield row, held

    def _open(
        self, held: Held, row: InstanceRow, begin: Position
    ) -> Iterator[tuple[Position, OpenApproval]]:
        """Those after a place, each with its own: by the number of the entry that opened it."""
        given = context_of(held.plan, held.state).get("input")
        shown, forms = _if_small(given), dict[str, JSON]()
        for wait in waits_of(held.plan, held.state, in_full=True):
            assert isinstance(wait, dict)
            asked = wait.get("approval")
            if not isinstance(asked, dict):
                continue
            key = NodeKey(str(wait["stepId"]), str(wait["iteration"]))
            opened = held.state.nodes[key].opened
            place = Position(epoch_ms(row.created_at), f"{row.id}{_AFTER}{opened:020}")
            if _is_listed(place, begin):
                continue
            between_parts()
            may_decide = self._is_trusted or _people(asked).include(self._identity, self._roles)
            config = held.plan[key.node].node.config
            assert isinstance(config, ApprovalConfig)
            if key.node not in forms:
                forms[key.node] = _if_small(config.form_schema)
            form = forms[key.node]
            is_left_out = form is None and config.form_schema is not None
            about = {"formSchema": form, "isFormLeftOut": is_left_out, "input": shown}
            yield place, _approval(wait, asked, row, may_decide=may_decide, about=about)


def _position(row: InstanceRow) -> Position:
    return Position(epoch_ms(row.created_at), row.id)


def _is_listed(place: Position, begin: Position) -> bool:
    """Whether an approval was on a page before: within an instance the oldest come first."""
    instance, _, opened = begin.id.partition(_AFTER)
    mine, _, own = place.id.partition(_AFTER)
    return bool(opened) and mine == instance and own <= opened


def _if_small(value: JSON) -> JSON:
    return value if len(msgspec.json.encode(value)) <= _LARGEST else None


def _approval(
    wait: Object, asked: Object, row: InstanceRow, *, may_decide: bool, about: Object
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
        "openedAt": wait["since"],
        "dueAt": wait["timeoutAt"],
        "reminders": asked["reminders"],
        "escalatedAt": asked["escalatedAt"],
        "isOverdue": bool(asked["reminders"]) or asked["escalatedAt"] is not None,
        "mayDecide": may_decide,
        **about,
    }
    return msgspec.convert(shown, OpenApproval)


def _people(asked: Object) -> People:
    return msgspec.convert({"users": asked["users"], "roles": asked["roles"]}, People)
