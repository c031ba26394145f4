"""Open approvals of a workspace."""

from __future__ import annotations

from typing import Protocol

from tenuto.workspace.values import ANY_APPROVAL, ApprovalFilter, OpenApproval, Page


class Approvals(Protocol):
    """Decisions that instances wait for."""

    async def page(
        self, which: ApprovalFilter = ANY_APPROVAL, *, limit: int = 100, cursor: str | None = None
    ) -> Page[OpenApproval]:
        """Open approvals: those of the newest instances first, of one instance the oldest first.

        A page may have fewer items than its limit, although there is another one.
        """
        ...
