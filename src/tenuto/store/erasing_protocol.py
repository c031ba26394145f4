"""What a store forgets for good: instances with every trace of them, and what was tried out."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct


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


class DefinitionKey(NamedTuple):
    """Which definition of which tenant."""

    tenant: str
    id: str


class Erasing(Protocol):
    """The verbs of a store about forgetting. All of them are safe to repeat."""

    async def erase_instances(
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

    async def erase_definition(self, tenant: str, id: str) -> None:
        """Forget all versions of a definition of which there is no instance."""

    async def old_rehearsals(self, before: datetime, limit: int) -> list[DefinitionKey]:
        """Definitions that are only tried out (`~test:`), made before then, oldest first."""
