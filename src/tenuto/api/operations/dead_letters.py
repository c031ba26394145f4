"""Operations on dead letters: list, group by cause, get, retry, discard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.api.operations.instance_commands import NothingMore
from tenuto.api.operations.instances import HistoryItem
from tenuto.api.paging import Limit, Page
from tenuto.api.shapes import Answer, Body, Moment, Query, StatusAnswer, decoded, shaped
from tenuto.engine.upkeep.dead_letter_history import entries_behind
from tenuto.model.json import JSON, Object
from tenuto.store.parts.dead_letters import DeadLetterRow
from tenuto.workspace import audit_values
from tenuto.workspace.history import history_view
from tenuto.workspace.values import DeadLetterFilter, DeadLetterGroups

DEAD_LETTERS = Resource(
    f"{API}/dead-letters",
    tag="dead-letters",
    read=Permission.DEAD_LETTERS_READ,
    write=Permission.DEAD_LETTERS_WRITE,
)


class CauseQuery(Query):
    """Which dead letters; a field that is left out matches all."""

    kind: str | None = None
    task_id: str | None = None
    workflow_id: str | None = None
    step_id: str | None = None
    code: str | None = None
    """Of the error; an empty text: those without one."""
    instance_id: str | None = None
    created_from: Moment | None = None
    created_before: Moment | None = None


class LetterQuery(CauseQuery):
    """Which dead letters, and which part of the list."""

    limit: Limit = 100
    cursor: str | None = None


class DeadLetter(Answer):
    """An attempt or result that was given up, with its input and error."""

    id: str
    kind: str
    instance_id: str
    workflow_id: str | None
    """None: the instance was erased."""
    step_id: str
    iteration: str
    task_id: str | None
    input: JSON
    error: JSON
    attempts: int
    at: str
    output: JSON | UnsetType = UNSET
    """The result that came too late, if that is why."""


class DeadLetterDetails(DeadLetter):
    """A dead letter, and the entries that led to it."""

    history: list[HistoryItem]
    """The entries of its step, oldest first, of the last 500 of the log before it."""


class RetryRequest(Body):
    """The input of the retry."""

    input: Any = UNSET
    """The new input of the task; without it the one that it failed with."""


@DEAD_LETTERS.get()
async def list_dead_letters(call: Call[LetterQuery]) -> Page[DeadLetter]:
    """List dead letters, newest first; a page may be short though there are more."""
    letters, asked = call.workspace.dead_letters, call.query
    rows, cursor = await letters.rows(asked.limit, asked.cursor, _which(asked))
    workflows = await letters.workflows(rows)
    items = [_item(row, workflows) for row in rows]
    return Page(items=items, next_cursor=cursor)


@DEAD_LETTERS.get("/groups")
async def group_dead_letters(call: Call[CauseQuery]) -> DeadLetterGroups:
    """Group dead letters by cause: the code of the error, the workflow and the step."""
    return await call.workspace.dead_letters.groups(_which(call.query))


@DEAD_LETTERS.get("/{id}", response=DeadLetterDetails)
async def get_dead_letter(call: Call[NoQuery]) -> Object:
    """Get a dead letter, and the entries that led to it."""
    row = await call.workspace.dead_letters.row(call.path["id"])
    workflows = await call.workspace.dead_letters.workflows([row])
    item: Object = msgspec.to_builtins(_item(row, workflows))
    seen = call.workspace.engine.store.seen_by(call.workspace.tenant)
    entries = await entries_behind(seen, row)
    return {**item, "history": [history_view(each) for each in entries]}


@DEAD_LETTERS.post("/{id}/retry", other_statuses=(409,), size="value", may_be_empty=True)
async def retry_dead_letter(call: Call[NoQuery], body: RetryRequest) -> StatusAnswer:
    """Retry a dead letter: the instance goes on where it failed."""
    id = call.path["id"]
    call.before = audit_values.letter(await call.workspace.dead_letters.row(id))
    status = await call.workspace.dead_letters.retry(id, input=body.input)
    call.after = {"status": status, "edited": body.input is not UNSET}
    return StatusAnswer(instance_id=id.partition(":")[0], status=status)


@DEAD_LETTERS.delete("/{id}")
async def remove_dead_letter(call: Call[NoQuery]) -> None:
    """Discard a dead letter; the instance stays as it is."""
    await _discard(call)


@DEAD_LETTERS.post("/{id}/discard", may_be_empty=True)
async def discard_dead_letter(call: Call[NoQuery], _: NothingMore) -> None:
    """Discard a dead letter; the instance stays as it is."""
    await _discard(call)


async def _discard(call: Call[NoQuery]) -> None:
    id = call.path["id"]
    call.before = audit_values.letter(await call.workspace.dead_letters.row(id))
    await call.workspace.dead_letters.discard(id)


def _which(asked: CauseQuery) -> DeadLetterFilter:
    return DeadLetterFilter(
        kind=asked.kind,
        task_id=asked.task_id,
        workflow=asked.workflow_id,
        step_id=asked.step_id,
        code=asked.code,
        instance_id=asked.instance_id,
        created_from=asked.created_from,
        created_before=asked.created_before,
    )


def _item(row: DeadLetterRow, workflows: Mapping[str, str]) -> DeadLetter:
    output = decoded(row.output)
    return shaped(
        DeadLetter,
        row,
        workflow_id=workflows.get(row.instance_id),
        step_id=row.node,
        input=decoded(row.input),
        error=decoded(row.error),
        attempts=row.attempt,
        output=UNSET if output is None else output,
    )
