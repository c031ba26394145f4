"""Open waits and triggers, indexed by the events that they wait for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import for_tenants


class WaitRow(Struct, frozen=True, gc=False, kw_only=True):
    """An open wait, with the indexed terms that match it to events."""

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
    """Whether its look-back is done: events stored before the wait was committed were examined."""
    follows: int = 0
    """The number of the newest event in the inbox when it was opened; the store fills it in."""
    arm: str = ""
    """The id of the arm, if the wait has several; of a trigger, its number."""
    position: int = 0
    """The order among the arms: if an event matches several, the first wins."""
    is_sealed: bool = False
    """Whether its values are stored encrypted, as those of its instance; no column."""

    @property
    def is_trigger(self) -> bool:
        """Whether the event starts an instance of the definition `node`: it has no instance yet."""
        return not self.instance_id

    @property
    def is_cancellation(self) -> bool:
        """Whether the event cancels the whole instance: it belongs to no node."""
        return not self.node


class WaitKey(NamedTuple):
    """The key of a wait.

    A cancellation trigger has no node, and its number as arm. A start trigger has no instance, its
    definition as node, its tenant as iteration, and its number as arm.
    """

    instance_id: str
    node: str
    iteration: str
    arm: str = ""


class LookedBack(NamedTuple):
    """A wait whose look-back is done, for all its arms.

    The attempt counts: a retry opens the wait again, with a look-back of its own.
    """

    instance_id: str
    node: str
    iteration: str
    attempt: int


class WaitTerm(NamedTuple):
    """An index term: waits are open under a pattern and the paths and values of their condition."""

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
        """Open waits under these (pattern, term_paths), with any values: near misses.

        At most `limit` for each term, ordered by values and then by key; term after term.
        """

    @for_tenants
    async def of(self, instance_id: str) -> list[WaitRow]:
        """The open waits of one instance."""

    async def unlooked(self, limit: int) -> list[WaitRow]:
        """Open waits whose look-back is not done."""
