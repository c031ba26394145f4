"""Operations on definitions: save, validate, list, get, remove."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.access.permissions import Permission
from tenuto.access.principal import refuse_unless
from tenuto.api.call import Call, NoQuery
from tenuto.api.entity_tags import read_if_match
from tenuto.api.large_documents.reader import UnreadDocument
from tenuto.api.large_documents.sent import sent_document
from tenuto.api.operation import API, Resource
from tenuto.api.operations.bulk import BulkView, bulk_view
from tenuto.api.paging import Page, PageQuery, page_of
from tenuto.api.problems import ProblemItem, Refusal, item_of
from tenuto.api.shapes import Answer, Query, Version, raw, shaped
from tenuto.model.errors import Conflict, NotFound
from tenuto.model.json import JSON
from tenuto.store.parts.definitions import DefinitionRow
from tenuto.workspace import audit_values
from tenuto.workspace.cursors import Number, read_cursor
from tenuto.workspace.definitions import Saved, listed
from tenuto.workspace.instance import WORKFLOW_REMOVED
from tenuto.workspace.large_definitions import LargeDefinitions
from tenuto.workspace.portions import Portions, size_of_parts
from tenuto.workspace.values import InstanceFilter

WORKFLOWS = Resource(
    f"{API}/workflows",
    tag="workflows",
    read=Permission.WORKFLOWS_READ,
    write=Permission.WORKFLOWS_WRITE,
)


STOPPED = "tenuto-schedules-stopped"
"""The header that says how many schedules a removal has stopped."""


class SavedWorkflow(Answer):
    """A definition that is saved."""

    id: str
    version: int
    problems: tuple[ProblemItem, ...]
    """Warnings: it is saved."""


class WorkflowItem(Answer):
    """A version of a definition as lists show it."""

    id: str
    version: int
    name: str | None
    description: str | None
    created_at: str
    definition: JSON | UnsetType = UNSET
    """With `include=definition`: as its author wrote it."""


class WorkflowView(WorkflowItem):
    """A version of a definition, as its author wrote it."""

    definition: JSON
    schedules: list[str] | UnsetType = UNSET
    """With `include=schedules`: those that start it; at most 100."""


class WorkflowsQuery(PageQuery):
    """Which part of a list, and how much of each definition."""

    include: Literal["definition"] | None = None
    """`definition`: the documents too; the page ends by their bytes."""


class Validation(Answer):
    """Whether a definition is valid, and all its problems."""

    valid: bool
    problems: tuple[ProblemItem, ...]


class VersionQuery(Query):
    """Which version; without it the newest."""

    version: Version | None = None
    include: Literal["schedules"] | None = None
    """`schedules`: also the ids of the schedules that start it."""


@WORKFLOWS.post(request=JSON, status=201, other_statuses=(409,), size="document", is_raw=True)
async def save_workflow(call: Call[NoQuery]) -> SavedWorkflow:
    """Save a new definition; without an id it gets a free one, made of its name."""
    document = await sent_document(call)
    if isinstance(document, UnreadDocument):
        return _answer(call, await _large(call).create(document))
    return _answer(call, await call.workspace.definitions.create(document))


@WORKFLOWS.put(
    "/{id}",
    headers=(("If-Match", 'The version that was changed, such as "3"; `*`: any.'),),
    request=JSON,
    other_statuses=(201, 412),
    size="document",
    is_raw=True,
)
async def put_workflow(call: Call[NoQuery]) -> SavedWorkflow:
    """Save a version of a definition, new or not; with If-Match only after the one it names."""
    document = await sent_document(call, call.path["id"])
    version = await _only_after(call)
    try:
        if isinstance(document, UnreadDocument):
            saved = await _large(call).save(document, only_after=version)
        else:
            saved = await call.workspace.definitions.save(document, only_after=version)
    except Conflict as error:
        raise Refusal(412, error.code, error.message, error.advice) from None
    return _answer(call, saved)


@WORKFLOWS.post(
    "/validate",
    permission=Permission.WORKFLOWS_READ,
    request=JSON,
    size="document",
    is_raw=True,
    is_audited=False,
)
async def validate_workflow(call: Call[NoQuery]) -> Validation:
    """Validate a definition without saving or running it."""
    document = await sent_document(call)
    if isinstance(document, UnreadDocument):
        is_valid, problems = await _large(call).problems(document)
    else:
        checked = await call.workspace.definitions.checked(document)
        is_valid, problems = checked.definition is not None, checked.problems
    return Validation(valid=is_valid, problems=tuple(map(item_of, problems)))


@WORKFLOWS.get()
async def list_workflows(call: Call[WorkflowsQuery]) -> Page[WorkflowItem]:
    """List definitions, each with its newest version."""
    asked = call.query
    rows, cursor = await call.workspace.definitions.page(limit=asked.limit, cursor=asked.cursor)
    item = _item if asked.include is None else _view
    return Page(items=list(map(item, rows)), next_cursor=cursor)


@WORKFLOWS.get(
    "/{id}",
    headers=(("If-None-Match", 'The version that you have, such as "3": 304.'),),
    other_statuses=(304,),
)
async def get_workflow(call: Call[VersionQuery]) -> WorkflowView:
    """Get a definition: its newest version, or another."""
    if call.query.include == "schedules":
        refuse_unless(call.principal, Permission.SCHEDULES_READ)
    row = await call.workspace.definitions.row(call.path["id"], call.query.version)
    view = _view(row)
    if call.query.include == "schedules":
        found = await call.workspace.schedules.list(workflow=row.id)
        return msgspec.structs.replace(view, schedules=[each.id for each in found])
    call.response_headers["etag"] = f'"{row.version}"'
    return view


@WORKFLOWS.get("/{id}/versions")
async def list_versions(call: Call[PageQuery]) -> Page[WorkflowItem]:
    """List the versions of a definition, newest first."""
    id = call.path["id"]
    newest = (await call.workspace.definitions.row(id)).version
    below = min(read_cursor(call.query.cursor, Number) or newest + 1, newest + 1)
    rows: list[DefinitionRow] = []
    portions = Portions()
    while below > 1 and (count := portions.next(call.query.limit, len(rows))):
        wanted = range(below - 1, 0, -1)[:count]
        found = await call.workspace.definitions.versions(id, wanted)
        rows += found
        portions.add(size_of_parts(row.content) for row in found)
        below = wanted[-1]
    return page_of(rows, _item, lambda _: below, has_more=below > 1)


class RemoveQuery(Query):
    """Whether its instances are cancelled."""

    force: bool = False
    """Cancel its running instances with compensation, by the bulk operation in the answer."""


@WORKFLOWS.delete("/{id}", response=BulkView, status=202, other_statuses=(204, 409))
async def remove_workflow(call: Call[RemoveQuery]) -> BulkView | None:
    """Remove a definition, its triggers and its schedules' starts; with force, its instances."""
    if call.query.force:
        return await _by_force(call)
    call.before = audit_values.definition(await call.workspace.definitions.row(call.path["id"]))
    stopped = await call.workspace.remove_definition(call.path["id"])
    call.after = {"force": False, "schedulesStopped": stopped}
    call.response_headers[STOPPED] = str(stopped)
    call.status = 204
    return None


async def _by_force(call: Call[RemoveQuery]) -> BulkView:
    """End starts at once, and cancel running instances in the background."""
    id = call.path["id"]
    call.before = audit_values.definition(await call.workspace.definitions.withdraw(id))
    stopped = await call.workspace.engine.schedules.removed_workflow(call.principal.tenant, id)
    call.response_headers[STOPPED] = str(stopped)
    started = await call.workspace.bulk.start(
        "cancel", InstanceFilter(workflow=id), reason=WORKFLOW_REMOVED
    )
    call.after = {
        "force": True,
        "bulkOperation": started.id,
        "schedulesStopped": stopped,
    }
    call.response_headers["location"] = f"{API}/instances/bulk/{started.id}"
    return bulk_view(started)


def _large(call: Call[NoQuery]) -> LargeDefinitions:
    workspace = call.workspace
    return LargeDefinitions(workspace.engine, workspace.tenant, workspace.definitions)


def _answer(call: Call[NoQuery], saved: Saved) -> SavedWorkflow:
    call.status = 201 if saved.is_new else 200
    call.response_headers["etag"] = f'"{saved.version}"'
    call.before = audit_values.definition(saved.before)
    call.after = {"id": saved.id, "version": saved.version, "hash": saved.digest.hex()}
    problems = tuple(map(item_of, saved.problems))
    return SavedWorkflow(id=saved.id, version=saved.version, problems=problems)


async def _only_after(call: Call[NoQuery]) -> int | None:
    """The version that `If-Match` names; 412 where it names none."""
    if_match = call.headers.get("if-match")
    if if_match is None:
        return None
    named = read_if_match(if_match)
    if isinstance(named, int):
        return named
    if named != "*":
        message = f"{if_match[:80]!r} is no version"
        raise Refusal(412, "TEN-3010", message, 'Send the ETag of a version, such as "3".')
    try:
        return (await call.workspace.definitions.row(call.path["id"])).version
    except NotFound as error:
        raise Refusal(412, "TEN-3010", error.message, "Leave `If-Match` out to make it.") from None


def _item(row: DefinitionRow) -> WorkflowItem:
    return msgspec.convert(listed(row), WorkflowItem)


def _view(row: DefinitionRow) -> WorkflowView:
    return shaped(WorkflowView, _item(row), definition=raw(row.content), schedules=UNSET)
