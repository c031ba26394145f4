"""What needs attention, over all kinds of records: failures, dead letters, breakers, schedules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta
from msgspec.structs import replace

from tenuto.access.permissions import Permission
from tenuto.api.call import Call
from tenuto.api.operation import API, Resource
from tenuto.api.operations.approvals import approvals_of
from tenuto.api.shapes import Answer, Query, decoded
from tenuto.core.searchable import RERUN
from tenuto.model.durations import from_epoch_ms, iso
from tenuto.model.json import JSON
from tenuto.model.search_terms import mark_of
from tenuto.model.status import Status
from tenuto.store.parts.instances import InstanceQuery, InstanceRow
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.stats import MOST_HOURS
from tenuto.workspace.values import ApprovalFilter, Webhook

ATTENTION = Resource(f"{API}/attention", tag="stats", read=Permission.STATS_READ)

Kind: TypeAlias = Literal[
    "quarantined",
    "failed",
    "deadLetter",
    "breaker",
    "approval",
    "schedule",
    "webhook",
    "subscription",
]


_MOST_PAGES: Final = 10
"""Pages of failed instances that are looked at for some that were not run again."""
_NOT_CANCELLED: Final = tuple(status for status in Status if status is not Status.CANCELLED)


class AttentionQuery(Query):
    """How much is shown."""

    hours: Annotated[int, Meta(ge=1, le=MOST_HOURS)] = 24
    """Instances that failed within the last so many hours."""
    limit: Annotated[int, Meta(ge=1, le=50)] = 5
    """The most items of each kind."""


class AttentionItem(Answer):
    """One record that needs attention."""

    kind: Kind
    id: str
    """Of an instance, a dead letter, a task, a schedule, a webhook or a subscription, by `kind`."""
    at: str | None
    """Since when."""
    message: str
    instance_id: str | None = None
    workflow_id: str | None = None
    step_id: str | None = None
    iteration: str = ""
    code: str | None = None


class AttentionGroup(Answer):
    """The records of one kind."""

    kind: Kind
    items: list[AttentionItem]
    """The newest first."""
    has_more: bool


class AttentionView(Answer):
    """What needs attention; kinds without a record are left out."""

    since: str
    groups: list[AttentionGroup]


@ATTENTION.get()
async def get_attention(call: Call[AttentionQuery]) -> AttentionView:
    """Get what needs attention: failures, dead letters, breakers, approvals, schedules."""
    limit = call.query.limit
    since = call.service.clock.now() - timedelta(hours=call.query.hours)
    found: list[tuple[Kind, Sequence[AttentionItem]]] = []
    may = call.principal.may
    if may(Permission.INSTANCES_READ):
        found += [
            ("quarantined", await _quarantined(call)),
            ("failed", await _failed(call, since, limit + 1)),
            ("approval", await _overdue(call, limit + 1)),
        ]
    if may(Permission.DEAD_LETTERS_READ):
        letters = await _dead_letters(call, limit + 1)
        found.append(("deadLetter", letters))
    if may(Permission.TASKS_READ):
        found.append(("breaker", _breakers(call)))
    if may(Permission.SCHEDULES_READ):
        found.append(("schedule", await _schedules(call, limit + 1)))
    if may(Permission.LISTENERS_READ):
        hooks = await call.workspace.webhooks.list()
        subscriptions = await call.workspace.subscriptions.list()
        found += [
            ("webhook", _listeners("webhook", hooks)),
            ("subscription", _listeners("subscription", subscriptions)),
        ]
    return AttentionView(
        since=iso(since),
        groups=[
            AttentionGroup(kind=kind, items=list(items[:limit]), has_more=len(items) > limit)
            for kind, items in found
            if items
        ],
    )


async def _failed(
    call: Call[AttentionQuery], since: datetime, most: int
) -> Sequence[AttentionItem]:
    """Roots alone: a failed child fails its parent, or was handled by it.

    One that was run again is left to its rerun, which is listed itself where it has failed, too.
    """
    query = InstanceQuery(statuses=(Status.FAILED,), updated_from=since, roots=True, limit=most)
    found: list[InstanceRow] = []
    for _ in range(_MOST_PAGES):
        page = await instance_rows(call.workspace.engine, call.principal.tenant, query)
        found += [row for row in page.items if not await _was_run_again(call, row.id)]
        if page.next_after is None or len(found) >= most:
            break
        query = replace(query, after=page.next_after)
    return [
        AttentionItem(
            kind="failed",
            id=row.id,
            at=iso(row.updated_at),
            message=_text(decoded(row.last_error), "message") or "it failed",
            instance_id=row.id,
            workflow_id=row.definition_id,
            step_id=_text(decoded(row.last_error), "stepId"),
            code=_text(decoded(row.last_error), "code"),
        )
        for row in found[:most]
    ]


async def _was_run_again(call: Call[AttentionQuery], id: str) -> bool:
    """Whether there is a rerun of it that was not cancelled."""
    query = InstanceQuery(mark=mark_of(RERUN, id), statuses=_NOT_CANCELLED, limit=1)
    page = await instance_rows(call.workspace.engine, call.principal.tenant, query)
    return bool(page.items)


async def _quarantined(call: Call[AttentionQuery]) -> Sequence[AttentionItem]:
    suspects = await call.service.app.engine.store.quarantine.suspects()
    own = [each for each in suspects if each.tenant == call.principal.tenant]
    return [
        AttentionItem(
            kind="quarantined",
            id=each.instance_id,
            at=iso(each.at),
            message=each.reason,
            instance_id=each.instance_id,
        )
        for each in sorted(own, key=lambda each: each.at, reverse=True)
        if each.is_quarantined
    ]


async def _dead_letters(call: Call[AttentionQuery], most: int) -> Sequence[AttentionItem]:
    rows, _ = await call.workspace.dead_letters.rows(most)
    return [
        AttentionItem(
            kind="deadLetter",
            id=row.id,
            at=iso(row.at),
            message=_text(decoded(row.error), "message") or row.kind,
            instance_id=row.instance_id,
            step_id=row.node,
            iteration=row.iteration,
            code=_text(decoded(row.error), "code"),
        )
        for row in rows
    ]


def _breakers(call: Call[AttentionQuery]) -> Sequence[AttentionItem]:
    found = call.service.push.open_breakers(call.principal.tenant).items()
    return [
        AttentionItem(
            kind="breaker",
            id=task_id,
            at=None if state.opened_at is None else iso(from_epoch_ms(state.opened_at)),
            message=f"{task_id} is not pushed: {state.failures} requests in a row failed",
        )
        for task_id, state in sorted(found)
    ]


async def _overdue(call: Call[AttentionQuery], most: int) -> Sequence[AttentionItem]:
    page = await approvals_of(call).page(ApprovalFilter(is_overdue=True), limit=most)
    return [
        AttentionItem(
            kind="approval",
            id=each.instance_id,
            at=each.escalated_at or each.opened_at,
            message="a decision is overdue",
            instance_id=each.instance_id,
            workflow_id=each.workflow_id,
            step_id=each.step_id,
            iteration=each.iteration,
        )
        for each in page.items
    ]


async def _schedules(call: Call[AttentionQuery], most: int) -> Sequence[AttentionItem]:
    found = await call.workspace.schedules.list(status="error", limit=most)
    return [
        AttentionItem(
            kind="schedule",
            id=each.id,
            at=None,
            message=each.problem or "no tick of it can succeed",
            workflow_id=str(each.target["workflowId"]) if "workflowId" in each.target else None,
        )
        for each in found
    ]


def _listeners(kind: Kind, found: Sequence[Webhook]) -> Sequence[AttentionItem]:
    return [
        AttentionItem(
            kind=kind,
            id=each.id,
            at=None if (since := each.disabled_at or each.failing_since) is None else iso(since),
            message=each.last_error or f"it is {each.state}",
        )
        for each in found
        if each.state != "active"
    ]


def _text(error: JSON, field: str) -> str | None:
    """A field of an error, if it is text; cut, since a list shows it."""
    value = error.get(field) if isinstance(error, dict) else None
    return value[:500] if isinstance(value, str) else None
