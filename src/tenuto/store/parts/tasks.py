"""Declared tasks, and the state of their push targets."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import for_tenants, writes


class TaskRow(Struct, frozen=True, gc=False, kw_only=True):
    """A declared task."""

    tenant: str
    id: str
    version: int
    """1, 2, 3, …: rises with each change."""
    document: bytes
    """JSON."""
    is_pushed: bool
    """Whether its jobs are sent to an address, and not claimed by workers."""
    created_at: datetime
    updated_at: datetime


class TasksMark(NamedTuple):
    """A fingerprint of all declared tasks: differs after one is declared, changed or deleted."""

    number: int = 0
    """The number of tasks."""
    versions: int = 0
    """The sum of their versions."""
    newest: int = 0
    """The time of the last change, in milliseconds."""


class TargetRow(NamedTuple):
    """The state of a task's push target, shared by all processes."""

    version: int
    state: bytes
    """JSON."""


class Tasks(Protocol):
    """Declared tasks. All verbs are safe to repeat.

    After StoreUnavailable it is unknown whether something was written.
    """

    @writes
    async def put(self, task: TaskRow) -> bool:
        """Store a task; False unless its version follows the stored version.

        The stored task must have the same `created_at`, too: a task that was deleted and declared
        again begins with version 1.
        """

    @for_tenants
    async def get(self, tenant: str, id: str) -> TaskRow | None:
        """A task of a tenant."""

    @for_tenants
    async def page(self, tenant: str, *, after: str = "", limit: int = 1_000) -> list[TaskRow]:
        """The tasks of a tenant with ids after `after`, ordered by id."""

    async def pushed(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        """The pushed tasks of all tenants, after one of them, ordered by tenant and id."""

    async def pushed_with_jobs(self) -> list[tuple[str, str]]:
        """The pushed tasks of all tenants that have unclaimed jobs, as pairs (tenant, id).

        A hint only: a claim decides which of these jobs are available.
        """

    async def every(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        """The tasks of all tenants, after one of them, ordered by tenant and id."""

    @writes
    async def remove(self, tenant: str, id: str) -> bool:
        """Delete a task and the state of its push target; returns whether it existed."""

    async def target(self, tenant: str, task_id: str) -> TargetRow | None:
        """The state of a task's push target; None if there is none yet."""

    @writes
    async def put_target(self, tenant: str, task_id: str, target: TargetRow) -> bool:
        """Store the state of a push target; False unless its version follows the stored one."""
