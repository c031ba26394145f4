"""The open approvals of a server."""

from __future__ import annotations

import msgspec

from tenuto.client.operations import Operations
from tenuto.workspace.values import ANY_APPROVAL, ApprovalFilter, OpenApproval, Page


class RemoteApprovals:
    """Decisions that instances wait for."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def page(
        self, which: ApprovalFilter = ANY_APPROVAL, *, limit: int = 100, cursor: str | None = None
    ) -> Page[OpenApproval]:
        """Open approvals: those of the newest instances first, of one instance the oldest first.

        A page may have fewer items than its limit, although there is another one.
        """
        answer = await self._operations.list_approvals(
            limit=limit,
            cursor=cursor,
            mine=which.is_mine or None,
            overdue=which.is_overdue or None,
            user=which.user,
            role=which.role,
        )
        return msgspec.convert(answer, Page[OpenApproval])
