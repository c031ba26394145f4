"""What a worker needs of whoever hands out tasks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from tenuto.model.errors import TenutoError
from tenuto.model.executions import (
    ClaimedTask,
    Heartbeat,
    ReleasedTask,
    ReportAnswer,
    TaskReport,
)


class NotTaken(TenutoError):
    """The server does not take what it was sent; sent again it would not take it either."""


class TooLarge(NotTaken):
    """It does not take so much at once."""


class BrokerClient(Protocol):
    """The way to a server.

    StoreUnavailable and Overloaded from each of its verbs: nothing is known to be done, try again.
    NotTaken: what was sent is at fault. Other errors are about who asks, and may pass.
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

    async def release(
        self, tasks: Sequence[ReleasedTask], *, patience: float
    ) -> list[ReportAnswer]:
        """Give tasks back, so that others have them at once and nobody counts them as lost.

        What became of each, in their order; the server has `patience` seconds to say so.
        """
        ...

    async def close(self) -> None: ...
