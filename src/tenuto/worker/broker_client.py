"""The protocol by which a worker talks to the task broker of a server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from msgspec import Struct

from tenuto.model.errors import TenutoError
from tenuto.model.executions import (
    ClaimedTask,
    Heartbeat,
    ReleasedTask,
    ReportAnswer,
    TaskReport,
)
from tenuto.model.task_definition import Registration, WorkerTask
from tenuto.model.task_logs import LogChunk


class RegisteredTask(Struct, frozen=True, kw_only=True, rename="camel"):
    """A task is registered."""

    task_id: str
    others: tuple[Registration, ...] = ()
    """Other policies that workers have registered for it."""


class NotTaken(TenutoError):
    """The server refuses a request for its content; a repeat would be refused too."""


class TooLarge(NotTaken):
    """The request is too large."""


class BrokerClient(Protocol):
    """Talks to the task broker of a server.

    Each verb raises StoreUnavailable or Overloaded where the outcome is unknown and a repeat is
    right, and NotTaken where the content is at fault. Other errors concern the credential, and may
    pass.
    """

    async def register(self, worker_id: str, tasks: Sequence[WorkerTask]) -> list[RegisteredTask]:
        """Register the policies of tasks; NotFound where the server is too old to take them."""
        ...

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
        """Claim tasks; none where there are none for as long as `wait`.

        A claim whose answer got lost is repeated with the same `request_id`, and gets its tasks.
        """
        ...

    async def heartbeat(
        self,
        execution_id: str,
        lease_token: str,
        details: object = None,
        logs: LogChunk | None = None,
    ) -> Heartbeat:
        """Extend a lease; Conflict or NotFound when it is over.

        `logs` are lines of the attempt, for servers that take them.
        """
        ...

    async def report(self, reports: Sequence[TaskReport]) -> list[ReportAnswer]:
        """Report the outcomes of tasks; a result for each, in their order."""
        ...

    async def release(
        self, tasks: Sequence[ReleasedTask], *, patience: float
    ) -> list[ReportAnswer]:
        """Give tasks back, so that other workers get them at once and none counts as lost.

        A result for each, in their order; the server has `patience` seconds to answer.
        """
        ...

    async def close(self) -> None: ...
