"""Dead letters: unhandled failures, kept for inspection by operators."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import for_tenants, writes


class DeadLetterRow(Struct, frozen=True, gc=False, kw_only=True):
    """A failure that no step handled, or a result that came too late."""

    id: str
    instance_id: str
    kind: str
    node: str
    iteration: str
    attempt: int
    task_id: str | None
    input: bytes | None
    error: bytes | None
    output: bytes | None
    at: datetime
    tenant: str = "default"


class DeadLetterPlace(NamedTuple):
    """A place in the list of dead letters, which is ordered by these, newest first."""

    at: datetime
    id: str
    instance_id: str


class LetterQuery(NamedTuple):
    """Which dead letters; a field that is None does not count."""

    kind: str | None = None
    task_id: str | None = None
    definition_id: str | None = None
    """The workflow of their instances."""
    code: str | None = None
    """The first field of their error, which is JSON."""


EVERY_LETTER = LetterQuery()


class DeadLetters(Protocol):
    """Dead letters of a tenant."""

    @for_tenants
    async def page(
        self,
        tenant: str,
        limit: int = 100,
        *,
        below: DeadLetterPlace | None = None,
        down_to: DeadLetterPlace | None = None,
        which: LetterQuery = EVERY_LETTER,
    ) -> list[DeadLetterRow]:
        """Dead letters, newest first; those after `below`, up to and with `down_to`."""

    @for_tenants
    async def place(
        self, tenant: str, count: int, *, below: DeadLetterPlace | None = None
    ) -> DeadLetterPlace | None:
        """The place of the letter that so many are read with; None if there are fewer.

        A query that finds little is asked for the letters down to it: it reads no further.
        """

    @for_tenants
    async def get(self, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
        """A dead letter by its key; None if there is none."""

    @writes
    async def discard(self, tenant: str, instance_id: str, id: str) -> bool:
        """Delete a dead letter, also beside an engine; returns whether it existed."""
