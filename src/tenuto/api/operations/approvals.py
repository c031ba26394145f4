"""The operation on approvals: list what waits for a decision."""

from __future__ import annotations

from typing import Any

from tenuto.access.permissions import Permission
from tenuto.api.call import Call
from tenuto.api.operation import API, Resource
from tenuto.api.paging import PageQuery
from tenuto.api.shapes import Answer
from tenuto.workspace.approvals import TenantApprovals
from tenuto.workspace.values import ApprovalFilter, OpenApproval

APPROVALS = Resource(f"{API}/approvals", tag="approvals", read=Permission.INSTANCES_READ)


class ApprovalsQuery(PageQuery):
    """Which approvals."""

    mine: bool = False
    """Only those on which the caller may decide."""
    overdue: bool = False
    """Only those that were reminded of, or have escalated."""
    user: str | None = None
    """Only those that name this user: `key:<id>`, `<issuer>|<subject>`, or a subject."""
    role: str | None = None
    """Only those that name this role."""


class OpenApprovals(Answer):
    """A part of the list of open approvals, and how to go on with it."""

    items: list[OpenApproval]
    next_cursor: str | None


@APPROVALS.get()
async def list_approvals(call: Call[ApprovalsQuery]) -> OpenApprovals:
    """List open approvals: those of the newest instances first, of one the oldest first."""
    asked = call.query
    which = ApprovalFilter(
        is_mine=asked.mine, is_overdue=asked.overdue, user=asked.user, role=asked.role
    )
    page = await approvals_of(call).page(which, limit=asked.limit, cursor=asked.cursor)
    return OpenApprovals(items=page.items, next_cursor=page.next_cursor)


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
