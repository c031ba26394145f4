"""Dead letters: failures that nothing handled, kept for people to look at."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import for_tenants, writes


class DeadLetterRow(Struct, frozen=True, gc=False, kw_only=True):
    """Something that could not be done, kept for people to look at."""

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


class DeadLetters(Protocol):
    """Dead letters of a tenant."""

    @for_tenants
    async def page(
        self, tenant: str, limit: int = 100, *, below: DeadLetterPlace | None = None
    ) -> list[DeadLetterRow]:
        """Dead letters, newest first; those below a place, where one is named."""

    @for_tenants
    async def get(self, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
        """One dead letter, if it is there."""

    @writes
    async def discard(self, tenant: str, instance_id: str, id: str) -> bool:
        """Forget a dead letter; whether it was there."""
