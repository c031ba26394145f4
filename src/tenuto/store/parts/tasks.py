"""Declared tasks, and the state of the addresses that they are pushed to."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import for_tenants, writes


class TaskRow(Struct, frozen=True, gc=False, kw_only=True):
    """A task as somebody has declared it."""

    tenant: str
    id: str
    version: int
    """1, 2, 3: how often it was changed."""
    document: bytes
    """JSON."""
    is_pushed: bool
    """Whether it is sent to an address, and not left to workers."""
    created_at: datetime
    updated_at: datetime


class TasksMark(NamedTuple):
    """Of all declared tasks together: another whenever one is declared, changed or forgotten."""

    number: int = 0
    """How many there are."""
    versions: int = 0
    """All of them added up."""
    newest: int = 0
    """When one was changed last, in milliseconds."""


class TargetRow(NamedTuple):
    """What all processes know of an address that a task is pushed to."""

    version: int
    state: bytes
    """JSON."""


class Tasks(Protocol):
    """Declared tasks. All verbs are safe to repeat.

    StoreUnavailable where it is not known whether something was written.
    """

    @writes
    async def put(self, task: TaskRow) -> bool:
        """Keep a task; False unless its version is the one after what is kept.

        What is kept has to be of the same origin too: a task that was forgotten and declared anew
        begins with version 1 again.
        """

    @for_tenants
    async def get(self, tenant: str, id: str) -> TaskRow | None:
        """A task of a tenant."""

    @for_tenants
    async def page(self, tenant: str, *, after: str = "", limit: int = 1_000) -> list[TaskRow]:
        """The tasks of a tenant behind `after`, by their ids."""

    async def pushed(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        """The tasks of all tenants that are pushed, behind one of them, by tenant and id."""

    async def pushed_with_jobs(self) -> list[tuple[str, str]]:
        """Of the tasks of all tenants that are pushed those that have jobs which nobody works on.

        By tenant and id. A hint: what of them can be claimed is found out by claiming.
        """

    async def every(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        """The tasks of all tenants, behind one of them, by tenant and id."""

    @writes
    async def remove(self, tenant: str, id: str) -> bool:
        """Forget a task, and what is known of its address; whether there was one."""

    async def target(self, tenant: str, task_id: str) -> TargetRow | None:
        """What is known of the address that a task is pushed to; None: nothing yet."""

    @writes
    async def put_target(self, tenant: str, task_id: str, target: TargetRow) -> bool:
        """Keep what is known now; False unless its version is the one after what is kept."""
