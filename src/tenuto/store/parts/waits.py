"""Open waits and triggers, found by the events that they wait for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import for_tenants


class WaitRow(Struct, frozen=True, gc=False, kw_only=True):
    """An open wait, with the terms by which events find it."""

    instance_id: str
    node: str
    iteration: str
    attempt: int
    pattern: str
    is_wildcard: bool
    condition: str | None
    captures: bytes
    """JSON array: the instance's side of the condition."""
    term_paths: str
    term_values: str
    since: datetime
    opened_at: datetime
    correlation_id: str | None
    tenant: str = "default"
    looked_back: bool = False
    """False until events that came before the wait was committed have been looked at."""
    follows: int = 0
    """The number of the newest event that was there when it was opened; the store fills it in."""
    arm: str = ""
    """Which of several that a wait is open for, by its id; of triggers, by its number."""
    position: int = 0
    """Where it is listed among those of its place: of several that an event fits the first wins."""

    @property
    def is_trigger(self) -> bool:
        """Whether the event starts an instance of the definition `node`: there is none yet."""
        return not self.instance_id

    @property
    def is_cancellation(self) -> bool:
        """Whether the event cancels the instance, and is for none of its nodes."""
        return not self.node


class WaitKey(NamedTuple):
    """Which wait of which instance.

    A cancellation trigger has no node, and its number as arm. A trigger has no instance, its
    definition as node, its tenant as iteration, and its number as arm.
    """

    instance_id: str
    node: str
    iteration: str
    arm: str = ""


class LookedBack(NamedTuple):
    """Which opening of a wait has seen the events that came before it: a retry opens it anew.

    All its arms have.
    """

    instance_id: str
    node: str
    iteration: str
    attempt: int


class WaitTerm(NamedTuple):
    """A (pattern, term) under which waits are open."""

    pattern: str
    term_paths: str
    term_values: str = ""


class Waits(Protocol):
    """Open waits."""

    @for_tenants
    async def terms(self, tenant: str, pattern: str) -> list[WaitTerm]:
        """Distinct (pattern, term_paths) of open waits: of `pattern`, and of all wildcards."""

    @for_tenants
    async def matching(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int, after: WaitKey | None = None
    ) -> list[WaitRow]:
        """Open waits under exactly these (pattern, term_paths, term_values), in key order."""

    @for_tenants
    async def near(self, tenant: str, terms: Sequence[WaitTerm], *, limit: int) -> list[WaitRow]:
        """Some open waits under these (pattern, term_paths), whatever their values.

        Of each term at most `limit`, ordered by their values and then by key; term after term.
        """

    @for_tenants
    async def of(self, instance_id: str) -> list[WaitRow]:
        """The open waits of one instance."""

    async def unlooked(self, limit: int) -> list[WaitRow]:
        """Open waits whose look-back has not run."""
