"""Instances as lists show them, their logs, and erasing them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.model.log import LogRow
from tenuto.model.search_terms import SearchTerm
from tenuto.model.status import Status
from tenuto.store.marks import for_tenants, writes

ANY_DEFINITION = ""
"""In the index of search terms: the definition of marks, by which instances of all are found."""


class InstanceRow(Struct, frozen=True, gc=False, kw_only=True):
    """An instance as lists show it."""

    id: str
    tenant: str
    definition_id: str
    definition_version: int
    status: Status
    correlation_id: str | None
    priority: int
    deadline: datetime | None
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    current_steps: tuple[str, ...]
    parent_id: str | None
    root_id: str | None
    rerun_of: str | None
    output: bytes | None
    last_error: bytes | None
    cancellation: bytes | None


class InstanceQuery(Struct, frozen=True, gc=False, kw_only=True):
    """Which instances to list, newest first."""

    statuses: tuple[Status, ...] = ()
    definition_id: str | None = None
    correlation_id: str | None = None
    current_step: str | None = None
    ids: tuple[str, ...] = ()
    terms: tuple[SearchTerm, ...] = ()
    """Search terms that all must have; only together with a `definition_id`."""
    mark: SearchTerm | None = None
    """A term by which instances of any definition are found; without `terms`, and with no other
    filters than statuses and times of creation."""
    created_from: datetime | None = None
    created_before: datetime | None = None
    updated_from: datetime | None = None
    """This or `updated_before` without `ids` lists by time of change: the latest first."""
    updated_before: datetime | None = None
    waiting_for: str | None = None
    """The pattern of an open wait, as it was opened."""
    roots: bool = False
    """Without children of other instances."""
    parent_id: str | None = None
    tenant: str = "default"
    limit: int = 100
    after: str | None = None
    """The cursor of the previous page."""


class InstancePage(NamedTuple):
    """Some instances, and where the next page begins."""

    items: list[InstanceRow]
    next_after: str | None


class UsedKey(NamedTuple):
    """An idempotency key in use: the instance that it started, and the hash of its request."""

    instance_id: str
    content_hash: bytes


class Erasure(Struct, frozen=True, gc=False, kw_only=True):
    """Which instances may be erased."""

    with_dead_letters: bool = False
    """Erase instances that have dead letters, too."""
    with_debts: bool = False
    """Erase ended instances that have open obligations, too, together with these."""
    dry_run: bool = False
    """Erase nothing: only return what would be erased."""


CAREFULLY = Erasure()
"""Only instances that have ended, without open obligations and dead letters."""


class Instances(Protocol):
    """Instances and their logs."""

    @for_tenants
    async def page(self, query: InstanceQuery) -> InstancePage:
        """A page of instances, newest first, stable under inserts.

        By time of change, one that changes between two pages moves before both.
        """

    @for_tenants
    async def entries(self, instance_id: str, *, after: int = 0, limit: int = 1000) -> list[LogRow]:
        """The log entries after seq `after`, ascending."""

    async def entries_at(self, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
        """Single log entries, to read values that are too large for a snapshot."""

    async def newest_seqs(self, instance_ids: Collection[str]) -> dict[str, int]:
        """The seq of the newest entry of each log; instances without entries are left out.

        A single statement: processes that watch instances of other processes poll with it.
        """

    async def ended(self, instance_ids: Collection[str]) -> dict[str, bool]:
        """Which of these instances, of whatever tenant, have ended; unknown ones are left out."""

    @for_tenants
    async def used_key(self, tenant: str, key: str) -> UsedKey | None:
        """Which instance was started with an idempotency key; None if the key is unused.

        `commit` checks keys by itself: this is for lists, and for a start that cannot be committed
        any more.
        """

    @for_tenants
    async def keys(self, tenant: str, instance_ids: Collection[str]) -> dict[str, str]:
        """The idempotency keys that some instances of a tenant were started with.

        Instances that were started without a key are left out.
        """

    async def open_of_origin(self, origin_id: str, most: int) -> int:
        """How many instances with this origin have not ended; it counts to `most` at most."""

    @writes
    async def erase(
        self, tenant: str, ids: Collection[str], manner: Erasure = CAREFULLY
    ) -> list[str]:
        """Erase root instances with all their descendants; returns which of `ids` were erased.

        Deletes every row about them: logs, snapshots, steps, deliveries, dead letters, idempotency
        keys and open obligations. Events that they published belong to the inbox and stay. An id is
        left alone if it is not a root or belongs to another tenant; or if the root or a descendant
        has not ended, has a dead letter, or has an open obligation: an owner, a timer, a wait, a
        job, a mailbox message or an undelivered notification. `manner` says which of these
        conditions are waived.

        A tree is erased as a whole or not at all. A concurrent write to one of its instances (see
        `may_be_gone`) either comes first, and the tree stays; or it comes too late, and is `LOST`.
        """
