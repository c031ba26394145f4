"""What could not be done: looked at, tried again, discarded."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.cursors import Milliseconds, read_cursor, write_cursor
from tenuto.api.operation import API, operation
from tenuto.api.operations import recorded
from tenuto.api.operations.commanding import NothingMore
from tenuto.api.operations.instances import HistoryItem
from tenuto.api.operations.workflows import PageQuery
from tenuto.api.shapes import Answer, Body, Page, StatusAnswer, decoded
from tenuto.engine.upkeep.dead_letter_history import entries_behind
from tenuto.instances import history_view
from tenuto.model.durations import epoch_ms, from_epoch_ms, iso
from tenuto.model.json import JSON, Object
from tenuto.store.parts.dead_letters import DeadLetterPlace, DeadLetterRow

TAG = "dead-letters"


class DeadLetter(Answer, frozen=True, kw_only=True, rename="camel"):
    """Something that could not be done, with what people need to judge it."""

    id: str
    kind: str
    instance_id: str
    step_id: str
    iteration: str
    task_id: str | None
    input: JSON
    error: JSON
    attempts: int
    at: str
    output: JSON | UnsetType = UNSET
    """Of a result that came too late."""


class DeadLetterDetails(DeadLetter, frozen=True, kw_only=True, rename="camel"):
    """A dead letter, and what led to it."""

    history: list[HistoryItem]
    """The entries of its step, oldest first, of the last 500 of the log before it."""


class RetryRequest(Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """With what to try it again."""

    input: Any = UNSET
    """What the task is given instead of what it failed with."""


class Place(NamedTuple):
    """Where a page ends."""

    at_ms: Milliseconds
    id: str
    instance_id: str


@operation(
    "GET",
    f"{API}/dead-letters",
    summary="List what could not be done, newest first.",
    tag=TAG,
    permission=Permission.DEAD_LETTERS_READ,
    query=PageQuery,
    response=Page[DeadLetter],
)
async def list_dead_letters(call: Call[PageQuery]) -> Page[DeadLetter]:
    place = read_cursor(call.query.cursor, Place)
    below = None
    if place is not None:
        below = DeadLetterPlace(from_epoch_ms(place.at_ms), place.id, place.instance_id)
    rows = await call.workspace.dead_letters(call.query.limit, below=below)
    is_full = len(rows) == call.query.limit
    return Page(
        items=list(map(_item, rows)),
        next_cursor=write_cursor(_place(rows[-1])) if is_full else None,
    )


@operation(
    "GET",
    f"{API}/dead-letters/{{id}}",
    summary="Look at something that could not be done, and at what led to it.",
    tag=TAG,
    permission=Permission.DEAD_LETTERS_READ,
    response=DeadLetterDetails,
)
async def get_dead_letter(call: Call[NoQuery]) -> Object:
    row = await call.workspace.dead_letter(call.path["id"])
    item: Object = msgspec.to_builtins(_item(row))
    seen = call.workspace.engine.store.seen_by(call.workspace.tenant)
    entries = await entries_behind(seen, row)
    return {**item, "history": [history_view(each) for each in entries]}


@operation(
    "POST",
    f"{API}/dead-letters/{{id}}/retry",
    summary="Try again what could not be done: the instance goes on where it failed.",
    tag=TAG,
    permission=Permission.DEAD_LETTERS_WRITE,
    request=RetryRequest,
    response=StatusAnswer,
    other_statuses=(409,),
    size="value",
    may_be_empty=True,
)
async def retry_dead_letter(call: Call[NoQuery], body: RetryRequest) -> StatusAnswer:
    id = call.path["id"]
    call.before = recorded.letter(await call.workspace.dead_letter(id))
    status = await call.workspace.retry_dead_letter(id, input=body.input)
    call.after = {"status": status, "edited": body.input is not UNSET}
    return StatusAnswer(instance_id=id.partition(":")[0], status=status)


@operation(
    "DELETE",
    f"{API}/dead-letters/{{id}}",
    summary="Discard a dead letter; the instance stays as it is.",
    tag=TAG,
    permission=Permission.DEAD_LETTERS_WRITE,
    status=204,
)
async def remove_dead_letter(call: Call[NoQuery]) -> None:
    id = call.path["id"]
    call.before = recorded.letter(await call.workspace.dead_letter(id))
    await call.workspace.discard_dead_letter(id)


@operation(
    "POST",
    f"{API}/dead-letters/{{id}}/discard",
    summary="Discard a dead letter; the instance stays as it is.",
    tag=TAG,
    permission=Permission.DEAD_LETTERS_WRITE,
    status=204,
    request=NothingMore,
    may_be_empty=True,
)
async def discard_dead_letter(call: Call[NoQuery], _: NothingMore) -> None:
    id = call.path["id"]
    call.before = recorded.letter(await call.workspace.dead_letter(id))
    await call.workspace.discard_dead_letter(id)


def _place(row: DeadLetterRow) -> Place:
    return Place(epoch_ms(row.at), row.id, row.instance_id)


def _item(row: DeadLetterRow) -> DeadLetter:
    output = decoded(row.output)
    return DeadLetter(
        id=row.id,
        kind=row.kind,
        instance_id=row.instance_id,
        step_id=row.node,
        iteration=row.iteration,
        task_id=row.task_id,
        input=decoded(row.input),
        error=decoded(row.error),
        attempts=row.attempt,
        at=iso(row.at),
        output=UNSET if output is None else output,
    )
