"""Definitions that are taken away, and what becomes of their instances."""

from __future__ import annotations

from tenuto.access.permissions import Permission
from tenuto.api.call import Call
from tenuto.api.operation import API, operation
from tenuto.api.operations import recorded
from tenuto.api.operations.bulk import BulkView, bulk_view
from tenuto.api.operations.workflows import TAG
from tenuto.api.shapes import Query
from tenuto.workspace.bulk.asked import BulkAsked, Which
from tenuto.workspace.instance import WORKFLOW_REMOVED


class RemoveQuery(Query, frozen=True, kw_only=True, rename="camel"):
    """What becomes of its instances."""

    force: bool = False
    """Cancel those that run, and undo what they have done: a bulk operation, which is answered."""


@operation(
    "DELETE",
    f"{API}/workflows/{{id}}",
    summary="Remove a definition and its triggers; with force its instances are cancelled.",
    tag=TAG,
    permission=Permission.WORKFLOWS_WRITE,
    query=RemoveQuery,
    response=BulkView,
    status=202,
    other_statuses=(204, 409),
)
async def remove_workflow(call: Call[RemoveQuery]) -> BulkView | None:
    call.after = {"force": call.query.force}
    if call.query.force:
        return await _by_force(call)
    call.before = recorded.definition(await call.workspace.definition(call.path["id"]))
    await call.workspace.remove_definition(call.path["id"])
    call.status = 204
    return None


async def _by_force(call: Call[RemoveQuery]) -> BulkView:
    """Nothing starts from here on; of what runs there may be more than a request can wait for."""
    id = call.path["id"]
    call.before = recorded.definition(await call.workspace.withdraw_definition(id))
    asked = BulkAsked(
        target="instances",
        action="cancel",
        which=Which(workflow_id=id),
        by=call.principal.name,
        reason=WORKFLOW_REMOVED,
    )
    row = await call.service.bulk.ask(call.principal.tenant, asked, None)
    call.after = {"force": True, "bulkOperation": row.id}
    call.response_headers["location"] = f"{API}/instances/bulk/{row.id}"
    return bulk_view(row)
