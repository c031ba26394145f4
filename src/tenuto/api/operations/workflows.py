"""Definitions: saved, checked, looked at."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from tenuto.access.permissions import Permission
from tenuto.api.bodies import WRONG_FIELD
from tenuto.api.call import Call, NoQuery
from tenuto.api.cursors import Number, read_cursor, write_cursor
from tenuto.api.operation import API, operation
from tenuto.api.operations import recorded
from tenuto.api.problems import ProblemItem, Refusal, item_of
from tenuto.api.shapes import Answer, Limit, Page, Query, Version, decoded
from tenuto.definition import check, unavailable
from tenuto.definition.task_places import TaskPlace, task_places
from tenuto.model.codes import CATALOGUE
from tenuto.model.durations import iso
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Problem
from tenuto.model.graph import Definition
from tenuto.model.json import JSON
from tenuto.store.protocol import DefinitionRow
from tenuto.workspace.engine_workspace import Saved

TAG = "workflows"
_MOST_DIGITS = 18
"""No version has more; a number of thousands of them cannot even be read."""


class SavedWorkflow(Answer, frozen=True, kw_only=True, rename="camel"):
    """A definition that is saved."""

    id: str
    version: int


class WorkflowItem(Answer, frozen=True, kw_only=True, rename="camel"):
    """A version of a definition as lists show it."""

    id: str
    version: int
    name: str | None
    description: str | None
    created_at: str


class WorkflowView(WorkflowItem, frozen=True, kw_only=True, rename="camel"):
    """A version of a definition, as its author wrote it."""

    definition: JSON


class Validation(Answer, frozen=True, kw_only=True, rename="camel"):
    """Whether a definition could be saved, and everything that is wrong with it."""

    valid: bool
    problems: tuple[ProblemItem, ...]


class PageQuery(Query, frozen=True, kw_only=True, rename="camel"):
    """Which part of a list."""

    limit: Limit = 100
    cursor: str | None = None


class VersionQuery(Query, frozen=True, kw_only=True, rename="camel"):
    """Which version; without it the newest."""

    version: Version | None = None


@operation(
    "POST",
    f"{API}/workflows",
    summary="Save a definition; the same content again makes no new version.",
    tag=TAG,
    permission=Permission.WORKFLOWS_WRITE,
    request=Any,
    response=SavedWorkflow,
    status=201,
    other_statuses=(200,),
    size="document",
)
async def save_workflow(call: Call[NoQuery], body: JSON) -> SavedWorkflow:
    return _answer(call, await call.workspace.save(body))


@operation(
    "PUT",
    f"{API}/workflows/{{id}}",
    summary="Save a new version of a definition; with If-Match only after the version it names.",
    tag=TAG,
    permission=Permission.WORKFLOWS_WRITE,
    request=Any,
    response=SavedWorkflow,
    other_statuses=(201, 412),
    size="document",
)
async def put_workflow(call: Call[NoQuery], body: JSON) -> SavedWorkflow:
    document = _named(body, call.path["id"])
    version = await _only_after(call)
    try:
        saved = await call.workspace.save(document, only_after=version)
    except Conflict as error:
        raise Refusal(412, error.code, error.message, error.advice) from None
    return _answer(call, saved)


@operation(
    "POST",
    f"{API}/workflows/validate",
    summary="Check a definition; nothing is saved and nothing runs.",
    tag=TAG,
    permission=Permission.WORKFLOWS_READ,
    request=Any,
    response=Validation,
    size="document",
    is_audited=False,
)
async def validate_workflow(call: Call[NoQuery], body: JSON) -> Validation:
    kept = timedelta(seconds=call.workspace.engine.settings.inbox_retention)
    checked = check(body, events_kept=kept)
    problems = [item_of(each) for each in checked.problems]
    if checked.definition is not None:
        problems += [
            msgspec.structs.replace(item_of(each), severity="warning")
            for each in unavailable(checked.definition)
        ]
        problems += await _undeclared(call, checked.definition)
    return Validation(valid=checked.definition is not None, problems=tuple(problems))


async def _undeclared(call: Call[NoQuery], definition: Definition) -> list[ProblemItem]:
    """Steps whose tasks wait until some worker asks for them, which may be meant so."""
    used: dict[str, TaskPlace] = {}
    for place in task_places(definition):
        if place.task_id not in call.workspace.tasks:
            used.setdefault(place.task_id, place)
    unknown = await call.workspace.task_definitions.undeclared(list(used))
    return [
        ProblemItem(
            code="TEN-2604",
            path=used[id].path,
            message=f"{used[id].step_id}: nobody is known to do the task {id!r}",
            advice=CATALOGUE["TEN-2604"].advice,
            severity="warning",
        )
        for id in unknown
    ]


@operation(
    "GET",
    f"{API}/workflows",
    summary="List definitions, each with its newest version.",
    tag=TAG,
    permission=Permission.WORKFLOWS_READ,
    query=PageQuery,
    response=Page[WorkflowItem],
)
async def list_workflows(call: Call[PageQuery]) -> Page[WorkflowItem]:
    after, limit = read_cursor(call.query.cursor, str), call.query.limit
    # One more than is shown tells whether there are more.
    rows = await call.workspace.newest(after=after or "", limit=limit + 1)
    return Page(
        items=list(map(_item, rows[:limit])),
        next_cursor=write_cursor(rows[limit - 1].id) if len(rows) > limit else None,
    )


@operation(
    "GET",
    f"{API}/workflows/{{id}}",
    summary="Look at a definition: its newest version, or another.",
    tag=TAG,
    permission=Permission.WORKFLOWS_READ,
    query=VersionQuery,
    response=WorkflowView,
    other_statuses=(304,),
)
async def get_workflow(call: Call[VersionQuery]) -> WorkflowView:
    row = await call.workspace.definition(call.path["id"], call.query.version)
    call.response_headers["etag"] = f'"{row.version}"'
    item = _item(row)
    return WorkflowView(
        id=item.id,
        version=item.version,
        name=item.name,
        description=item.description,
        created_at=item.created_at,
        definition=decoded(row.content),
    )


@operation(
    "GET",
    f"{API}/workflows/{{id}}/versions",
    summary="List the versions of a definition, newest first.",
    tag=TAG,
    permission=Permission.WORKFLOWS_READ,
    query=PageQuery,
    response=Page[WorkflowItem],
)
async def list_versions(call: Call[PageQuery]) -> Page[WorkflowItem]:
    id = call.path["id"]
    newest = (await call.workspace.definition(id)).version
    below = min(read_cursor(call.query.cursor, Number) or newest + 1, newest + 1)
    wanted = range(below - 1, 0, -1)[: call.query.limit]
    rows = await call.workspace.versions(id, wanted)
    return Page(
        items=list(map(_item, rows)),
        next_cursor=write_cursor(wanted[-1]) if wanted and wanted[-1] > 1 else None,
    )


def _answer(call: Call[NoQuery], saved: Saved) -> SavedWorkflow:
    call.status = 201 if saved.is_new else 200
    call.response_headers["etag"] = f'"{saved.version}"'
    call.before = recorded.definition(saved.before)
    call.after = {"id": saved.id, "version": saved.version, "hash": saved.digest.hex()}
    return SavedWorkflow(id=saved.id, version=saved.version)


def _named(document: JSON, id: str) -> JSON:
    """The document under the id of the path; one of its own has to be the same."""
    if not isinstance(document, dict):
        return document
    own = document.get("id", id)
    if own != id:
        problem = Problem(
            code=WRONG_FIELD,
            path="$.id",
            message=f"the definition is {own!r}, and the path says {id!r}",
            advice="Leave the id out, or write the one of the path.",
        )
        raise InvalidInput("the definition is another one than the path names", [problem])
    return {"id": id, **document}


def matched(if_match: str) -> int | str:
    """What `If-Match` names: a version, another ETag, or `*`."""
    text = if_match.strip().removeprefix("W/").strip('"')
    is_number = text.isdecimal() and text.isascii() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else text


async def _only_after(call: Call[NoQuery]) -> int | None:
    """The version that `If-Match` asks for; 412 where there is none that it could mean."""
    if_match = call.headers.get("if-match")
    if if_match is None:
        return None
    named = matched(if_match)
    if isinstance(named, int):
        return named
    if named != "*":
        message = f"{if_match[:80]!r} is no version"
        raise Refusal(412, "TEN-3010", message, 'Send the ETag of a version, such as "3".')
    try:
        return (await call.workspace.definition(call.path["id"])).version
    except NotFound as error:
        raise Refusal(412, "TEN-3010", error.message, "Leave `If-Match` out to make it.") from None


def _item(row: DefinitionRow) -> WorkflowItem:
    document = decoded(row.content)
    assert isinstance(document, dict)
    name, description = document.get("name", document.get("title")), document.get("description")
    return WorkflowItem(
        id=row.id,
        version=row.version,
        name=name if isinstance(name, str) else None,
        description=description if isinstance(description, str) else None,
        created_at=iso(row.created_at),
    )
