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
    """What they are all found by; only beside a `definition_id`."""
    created_from: datetime | None = None
    created_before: datetime | None = None
    tenant: str = "default"
    limit: int = 100
    after: str | None = None
    """The cursor that the page before gave."""


class InstancePage(NamedTuple):
    """Some instances, and where the next page begins."""

    items: list[InstanceRow]
    next_after: str | None


class UsedKey(NamedTuple):
    """An idempotency key, by who has it."""

    instance_id: str
    content_hash: bytes


class Erasure(Struct, frozen=True, gc=False, kw_only=True):
    """In which manner instances are forgotten."""

    with_dead_letters: bool = False
    """Whether those go too that left dead letters."""
    with_debts: bool = False
    """Whether those go too that have ended and owe something; it goes with them."""
    dry_run: bool = False
    """Nothing goes: the answer is what would."""


CAREFULLY = Erasure()
"""What has ended and leaves nothing open."""


class Instances(Protocol):
    """Instances and their logs."""

    @for_tenants
    async def page(self, query: InstanceQuery) -> InstancePage:
        """A page of instances, newest first, stable under inserts."""

    @for_tenants
    async def entries(self, instance_id: str, *, after: int = 0, limit: int = 1000) -> list[LogRow]:
        """The log from `after` on, ascending."""

    async def entries_at(self, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
        """Single rows of the log: values too large for a snapshot."""

    async def newest_seqs(self, instance_ids: Collection[str]) -> dict[str, int]:
        """How long these logs are: the seq of each one's newest entry; where there is none, none.

        One statement for all: whoever watches instances that others run asks again and again.
        """

    async def used_key(self, tenant: str, key: str) -> UsedKey | None:
        """Which instance was started under an idempotency key; None: nobody has used it.

        For whoever cannot have a start decided on any more: `commit` settles a key by itself.
        """

    @writes
    async def erase(
        self, tenant: str, ids: Collection[str], manner: Erasure = CAREFULLY
    ) -> list[str]:
        """Forget roots with all that is below them, every row about them; which of `ids` are gone.

        Their logs, snapshots, steps, deliveries, dead letters and idempotency keys, and whatever is
        owed. Events that they published are the inbox's and stay. One root stays as it is where it
        is none, is not the tenant's, or where it or something below it has not ended or owes
        something: it has an owner, timer, wait, job or letter, or somebody is still to be told of
        it; and where it left a dead letter. `manner` says what of that does not count.

        All of one root or nothing. Who goes on with one of them at the same time (`had_ended`) is
        seen, so that it stays; or comes too late, and has `LOST`.
        """
