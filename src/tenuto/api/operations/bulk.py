"""Bulk operations on instances and dead letters: start, list, get, cancel."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tenuto.access.permissions import Permission
from tenuto.access.principal import refuse_unless
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.api.paging import Page, PageQuery, Place
from tenuto.api.shapes import MOST_ITEMS, Answer, Body, Moment, shaped
from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.store.parts.bulk import BulkPlace
from tenuto.workspace import audit_values, values
from tenuto.workspace.cursors import read_cursor, write_cursor
from tenuto.workspace.values import BulkAction, BulkOperation, BulkTarget

BULK = Resource(API, tag="bulk", read=Permission.INSTANCES_READ, write=Permission.INSTANCES_CONTROL)

_KEY_HEADER = (("Idempotency-Key", "At most one action is begun under a key."),)

Ids = Annotated[tuple[str, ...], Meta(max_length=MOST_ITEMS)]


class InstanceFilter(Body):
    """Which instances; a field that is left out matches all."""

    ids: Ids = ()
    status: tuple[Status, ...] = ()
    """Without it, those to which the action applies."""
    workflow_id: str | None = None
    correlation_id: str | None = None
    current_step: str | None = None
    created_from: Moment | None = None
    created_before: Moment | None = None
    waiting_for: str | None = None
    """The pattern of an event for which a step waits, as its wait was opened."""
    roots: bool = False
    """Only instances that are no children of others."""
    parent_id: str | None = None


class LetterFilter(Body):
    """Which dead letters; a field that is left out matches all."""

    ids: Ids = ()
    kind: str | None = None
    task_id: str | None = None
    workflow_id: str | None = None
    step_id: str | None = None
    code: str | None = None
    """Of the error; an empty text: those without one."""
    instance_id: str | None = None
    created_from: Moment | None = None
    created_before: Moment | None = None


class BulkRequest(Body):
    """An action on all instances that a filter matches."""

    action: Literal["cancel", "pause", "resume", "retry"]
    filter: InstanceFilter
    reason: str | None = None
    should_compensate: bool = True
    dry_run: bool = False
    """Only count them."""


class LettersRequest(Body):
    """An action on all dead letters that a filter matches."""

    action: Literal["retry", "discard"]
    filter: LetterFilter
    dry_run: bool = False
    """Only count them."""


class FailureItem(Answer):
    """Why the action failed for one record."""

    id: str
    code: str
    message: str


class BulkView(Answer):
    """A bulk operation and its progress."""

    id: str | UnsetType = UNSET
    """Absent for a dry run."""
    target: BulkTarget
    action: BulkAction
    status: Literal["running", "done", "cancelled", "dry-run"]
    matched: int
    """Records that were matched so far, of a stopped operation all; of a dry run up to 100,000."""
    done: int
    failed: int
    failures: list[FailureItem]
    """The first hundred."""
    created_at: str | None = None
    ended_at: str | None = None
    requested_by: str
    stopped_by: str | None = None
    """The principal that stopped it."""


@BULK.post(
    "/instances/bulk", status=202, headers=_KEY_HEADER, other_statuses=(200, 409), size="value"
)
async def start_bulk(call: Call[NoQuery], body: BulkRequest) -> BulkView:
    """Cancel, pause, resume or retry all instances that a filter matches, with progress."""
    given = body.filter
    started = await call.workspace.bulk.start(
        body.action,
        values.InstanceFilter(
            ids=given.ids,
            status=given.status,
            workflow=given.workflow_id,
            correlation_id=given.correlation_id,
            current_step=given.current_step,
            created_from=given.created_from,
            created_before=given.created_before,
            waiting_for=given.waiting_for,
            roots=given.roots,
            parent_id=given.parent_id,
        ),
        reason=body.reason,
        should_compensate=body.should_compensate,
        dry_run=body.dry_run,
        key=call.headers.get("idempotency-key"),
    )
    return _started(call, started, given, body.reason)


@BULK.post(
    "/dead-letters/bulk",
    permission=Permission.DEAD_LETTERS_WRITE,
    status=202,
    headers=_KEY_HEADER,
    other_statuses=(200, 409),
    size="value",
)
async def start_bulk_of_dead_letters(call: Call[NoQuery], body: LettersRequest) -> BulkView:
    """Retry or discard all dead letters that a filter matches, with progress."""
    given = body.filter
    started = await call.workspace.bulk.start_on_dead_letters(
        body.action,
        values.DeadLetterFilter(
            ids=given.ids,
            kind=given.kind,
            task_id=given.task_id,
            workflow=given.workflow_id,
            step_id=given.step_id,
            code=given.code,
            instance_id=given.instance_id,
            created_from=given.created_from,
            created_before=given.created_before,
        ),
        dry_run=body.dry_run,
        key=call.headers.get("idempotency-key"),
    )
    return _started(call, started, given)


@BULK.get("/instances/bulk", otherwise=Permission.SCHEDULES_READ)
async def list_bulks(call: Call[PageQuery]) -> Page[BulkView]:
    """List bulk operations, newest first; without `instances:read`, the backfills alone."""
    place = read_cursor(call.query.cursor, Place)
    below = None if place is None else BulkPlace(from_epoch_ms(place.at_ms), place.id)
    found, end = await call.workspace.bulk.page(
        call.query.limit,
        below=below,
        only_backfills=not call.principal.may(Permission.INSTANCES_READ),
    )
    return Page(
        items=[*map(bulk_view, found)],
        next_cursor=None if end is None else write_cursor(Place(epoch_ms(end.created_at), end.id)),
    )


@BULK.get("/instances/bulk/{id}", otherwise=Permission.SCHEDULES_READ)
async def get_bulk(call: Call[NoQuery]) -> BulkView:
    """Get a bulk operation and its progress."""
    found = await call.workspace.bulk.get(call.path["id"])
    _refuse_unless_may(call, found, Permission.INSTANCES_READ, Permission.SCHEDULES_READ)
    return bulk_view(found)


@BULK.delete("/instances/bulk/{id}", otherwise=Permission.SCHEDULES_CONTROL)
async def cancel_bulk(call: Call[NoQuery]) -> BulkView:
    """Cancel a bulk operation; records that are done stay done."""
    bulk, id = call.workspace.bulk, call.path["id"]
    found = await bulk.get(id)
    _refuse_unless_may(call, found, Permission.INSTANCES_CONTROL, Permission.SCHEDULES_CONTROL)
    call.before = audit_values.bulk(found)
    cancelled = await bulk.cancel(id)
    call.after = audit_values.bulk(cancelled)
    return bulk_view(cancelled)


def _refuse_unless_may(
    call: Call[NoQuery], found: BulkOperation, usual: Permission, of_schedules: Permission
) -> None:
    """Forbidden, unless it is a backfill that the principal might have begun."""
    if found.target != "ticks" or not call.principal.may(of_schedules):
        refuse_unless(call.principal, usual)


def _started(
    call: Call[NoQuery],
    started: BulkOperation,
    given: InstanceFilter | LetterFilter,
    reason: str | None = None,
) -> BulkView:
    """The answer to a bulk operation that was started, or only counted."""
    if started.id is None:
        call.status = 200
    else:
        call.response_headers["location"] = f"{API}/instances/bulk/{started.id}"
        call.after = {**audit_values.bulk(started), "filter": _said(given)}
        if reason is not None:
            call.after = {**call.after, "reason": reason}
    return bulk_view(started)


def _said(given: InstanceFilter | LetterFilter) -> Object:
    """What a filter says, for the audit log; ids, which may be many, are counted."""
    said: Object = {
        name: value
        for name, value in msgspec.to_builtins(given).items()
        if name != "ids" and value not in (None, False, [], ())
    }
    return {**said, "idCount": len(given.ids)} if given.ids else said


def bulk_view(shown: BulkOperation) -> BulkView:
    """A bulk operation in JSON."""
    return shaped(
        BulkView,
        shown,
        id=UNSET if shown.id is None else shown.id,
        failures=[shaped(FailureItem, each) for each in shown.failures],
    )
