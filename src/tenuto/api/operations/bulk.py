"""Actions over many instances or dead letters: asked for, followed, cancelled."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.cursors import read_cursor
from tenuto.api.operation import API, Resource
from tenuto.api.paging import Page, PageQuery, Place, page_of, place_of
from tenuto.api.shapes import MOST_ITEMS, Answer, Body, Moment, moment
from tenuto.model.checks import refuse_bad_ids, refuse_bad_text
from tenuto.model.durations import from_epoch_ms, iso
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.store.bulk_protocol import BulkPlace, BulkRow
from tenuto.workspace.bulk.asked import Action, BulkAsked, Target, Which
from tenuto.workspace.bulk.office import read_row

BULK = Resource(API, tag="bulk", read=Permission.INSTANCES_READ, write=Permission.INSTANCES_CONTROL)

_KEY_HEADER = (("Idempotency-Key", "At most one action is begun under a key."),)

Ids = Annotated[tuple[str, ...], Meta(max_length=MOST_ITEMS)]


class InstanceFilter(Body):
    """Which instances; what is not said does not count."""

    ids: Ids = ()
    status: tuple[Status, ...] = ()
    """Without it those with which the action can do something."""
    workflow_id: str | None = None
    correlation_id: str | None = None
    current_step: str | None = None
    created_from: Moment | None = None
    created_before: Moment | None = None


class LetterFilter(Body):
    """Which dead letters; what is not said does not count."""

    ids: Ids = ()
    kind: str | None = None
    task_id: str | None = None
    created_from: Moment | None = None
    created_before: Moment | None = None


class BulkRequest(Body):
    """An action over all instances that a filter finds."""

    action: Literal["cancel", "pause", "resume", "retry"]
    filter: InstanceFilter
    reason: str | None = None
    should_compensate: bool = True
    dry_run: bool = False
    """Only count them."""


class LettersRequest(Body):
    """An action over all dead letters that a filter finds."""

    action: Literal["retry", "discard"]
    filter: LetterFilter
    dry_run: bool = False
    """Only count them."""


class FailureItem(Answer):
    """Why it could not be done to one."""

    id: str
    code: str
    message: str


class BulkView(Answer):
    """An action over many things, and how far it has come."""

    id: str | UnsetType = UNSET
    """Not of a dry run."""
    target: Target
    action: Action
    status: Literal["running", "done", "cancelled", "dry-run"]
    matched: int
    """How many were found so far; of a dry run up to 100,000."""
    done: int
    failed: int
    failures: list[FailureItem]
    """Of the first hundred."""
    created_at: str | None = None
    ended_at: str | None = None
    requested_by: str


@BULK.post(
    "/instances/bulk", status=202, headers=_KEY_HEADER, other_statuses=(200, 409), size="value"
)
async def start_bulk(call: Call[NoQuery], body: BulkRequest) -> BulkView:
    """Cancel, pause, resume or retry all instances that a filter finds, with progress."""
    given = body.filter
    refuse_bad_text(reason=body.reason)
    asked = BulkAsked(
        target="instances",
        action=body.action,
        which=Which(
            ids=given.ids,
            statuses=given.status,
            workflow_id=given.workflow_id,
            correlation_id=given.correlation_id,
            current_step=given.current_step,
            created_from=given.created_from,
            created_before=given.created_before,
        ),
        by=call.principal.name,
        reason=body.reason,
        should_compensate=body.should_compensate,
    )
    return await _asked_for(call, asked, is_dry=body.dry_run)


@BULK.post(
    "/dead-letters/bulk",
    permission=Permission.DEAD_LETTERS_WRITE,
    status=202,
    headers=_KEY_HEADER,
    other_statuses=(200, 409),
    size="value",
)
async def start_bulk_of_dead_letters(call: Call[NoQuery], body: LettersRequest) -> BulkView:
    """Retry or discard all dead letters that a filter finds, with progress."""
    given = body.filter
    asked = BulkAsked(
        target="dead-letters",
        action=body.action,
        which=Which(
            ids=given.ids,
            kind=given.kind,
            task_id=given.task_id,
            created_from=given.created_from,
            created_before=given.created_before,
        ),
        by=call.principal.name,
    )
    return await _asked_for(call, asked, is_dry=body.dry_run)


@BULK.get("/instances/bulk")
async def list_bulks(call: Call[PageQuery]) -> Page[BulkView]:
    """List actions over many instances or dead letters, newest first."""
    place = read_cursor(call.query.cursor, Place)
    below = None if place is None else BulkPlace(from_epoch_ms(place.at_ms), place.id)
    rows = await call.service.bulk.page(call.principal.tenant, call.query.limit, below)
    return page_of(rows, bulk_view, place_of, has_more=len(rows) == call.query.limit)


@BULK.get("/instances/bulk/{id}")
async def get_bulk(call: Call[NoQuery]) -> BulkView:
    """See how far an action over many instances or dead letters has come."""
    return bulk_view(await call.service.bulk.get(call.principal.tenant, call.path["id"]))


@BULK.delete("/instances/bulk/{id}")
async def cancel_bulk(call: Call[NoQuery]) -> BulkView:
    """Go no further with an action over many instances or dead letters."""
    bulk, tenant, id = call.service.bulk, call.principal.tenant, call.path["id"]
    call.before = _recorded(bulk_view(await bulk.get(tenant, id)))
    cancelled = bulk_view(await bulk.cancel(tenant, id))
    call.after = _recorded(cancelled)
    return cancelled


async def _asked_for(call: Call[NoQuery], asked: BulkAsked, *, is_dry: bool) -> BulkView:
    if asked.which == Which():
        problem = Problem(
            code="TEN-2614",
            path="$.filter",
            message="the filter says nothing, so that it would find everything",
            advice="Say at least one thing: a status, a workflow, ids.",
        )
        raise InvalidInput("an action over everything is not taken", [problem])
    office, tenant = call.service.bulk, call.principal.tenant
    if is_dry:
        call.status = 200
        return BulkView(
            target=asked.target,
            action=asked.action,
            status="dry-run",
            matched=await office.count(tenant, asked),
            done=0,
            failed=0,
            failures=[],
            requested_by=asked.by,
        )
    key = call.headers.get("idempotency-key")
    refuse_bad_ids(key=key)
    row = await office.ask(tenant, asked, key)
    call.response_headers["location"] = f"{API}/instances/bulk/{row.id}"
    view = bulk_view(row)
    call.after = _recorded(view)
    return view


def _recorded(view: BulkView) -> Object:
    assert isinstance(view.id, str), "what is only counted is not recorded"
    return {
        "id": view.id,
        "target": view.target,
        "action": view.action,
        "status": view.status,
        "done": view.done,
    }


def bulk_view(row: BulkRow) -> BulkView:
    """An operation as it is shown."""
    asked, progress = read_row(row)
    return BulkView(
        id=row.id,
        target=asked.target,
        action=asked.action,
        status=progress.status,
        matched=progress.matched,
        done=progress.done,
        failed=progress.failed,
        failures=[
            FailureItem(id=each.id, code=each.code, message=each.message)
            for each in progress.failures
        ],
        created_at=iso(row.created_at),
        ended_at=moment(progress.ended_at),
        requested_by=asked.by,
    )
