"""What a worker needs of whoever hands out tasks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from tenuto.model.executions import ClaimedTask, Heartbeat, ReportAnswer, TaskReport


class Desk(Protocol):
    """The way to a server.

    StoreUnavailable and Overloaded from each of its verbs: nothing is known to be done, try again.
    """

    async def claim(
        self,
        worker_id: str,
        task_ids: Sequence[str],
        *,
        most: int,
        wait: timedelta,
        lease: timedelta,
        request_id: str | None = None,
        with_outputs: bool = False,
    ) -> list[ClaimedTask]:
        """Tasks to work on; none when there are none for as long as `wait`.

        What a claim was granted whose answer got lost is given to one of the same `request_id`.
        """
        ...

    async def heartbeat(
        self, execution_id: str, lease_token: str, details: object = None
    ) -> Heartbeat:
        """Extend a lease; Conflict or NotFound when it is over."""
        ...

    async def report(self, reports: Sequence[TaskReport]) -> list[ReportAnswer]:
        """Tell how tasks ended; what became of each, in their order."""
        ...

    async def close(self) -> None: ...
