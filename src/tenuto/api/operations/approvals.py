"""The operation on approvals: list what waits for a decision."""

from __future__ import annotations

from typing import Any

from tenuto.access.permissions import Permission
from tenuto.api.call import Call
from tenuto.api.operation import API, Resource
from tenuto.api.paging import PageQuery
from tenuto.workspace.approvals import OpenApprovals, TenantApprovals

APPROVALS = Resource(f"{API}/approvals", tag="approvals", read=Permission.INSTANCES_READ)


class ApprovalsQuery(PageQuery):
    """Which approvals."""

    mine: bool = False
    """Only those that the caller may decide on; a page may then be short, or empty, and have a
    `nextCursor` all the same."""


@APPROVALS.get()
async def list_approvals(call: Call[ApprovalsQuery]) -> OpenApprovals:
    """List open approvals, those of the newest instances first."""
    asked = call.query
    return await approvals_of(call).page(limit=asked.limit, cursor=asked.cursor, is_mine=asked.mine)


def approvals_of(call: Call[Any]) -> TenantApprovals:
    """The approvals, as the principal of the call may decide on them."""
    principal = call.principal
    # A user of this machine, who is trusted, may decide in the name of any.
    return TenantApprovals(
        call.workspace.engine,
        principal.tenant,
        principal.identity,
        (principal.role.value,),
        is_trusted=principal.kind == "local",
    )
