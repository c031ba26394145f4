"""Saved definition versions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import for_tenants, writes
from tenuto.store.parts.waits import WaitRow

REMOVED = b"null"
"""The content of a version that says that its definition was removed."""


class DefinitionRow(Struct, frozen=True, gc=False, kw_only=True):
    """A saved definition version: immutable, as its author wrote it."""

    id: str
    version: int
    content: bytes
    content_hash: bytes
    created_at: datetime
    tenant: str = "default"

    @property
    def is_removed(self) -> bool:
        """Whether this version only says that the definition was removed."""
        return self.content == REMOVED


class DefinitionKey(NamedTuple):
    """Which definition of which tenant."""

    tenant: str
    id: str


class Definitions(Protocol):
    """Definitions by tenant, id and version."""

    @writes
    async def save(
        self,
        tenant: str,
        id: str,
        content: bytes,
        content_hash: bytes,
        now: datetime,
        *,
        triggers: Sequence[WaitRow] = (),
        only_after: int | None = None,
    ) -> DefinitionRow:
        """A new version, or the newest one when its content is the same.

        With `only_after` only while that version is the newest; Superseded.

        The content `REMOVED` removes the definition, until another version is saved: starts that
        need it are committed before, or their outcome is `REMOVED`.

        With a new version `triggers` take the place of those of the version before; `attempt` is
        the version, whatever they say.
        """

    @for_tenants
    async def get(self, tenant: str, id: str, version: int | None = None) -> DefinitionRow | None:
        """A version, or the newest."""

    @for_tenants
    async def ids(self, tenant: str) -> list[str]:
        """Ids of all definitions, for lists and for "did you mean"."""

    @for_tenants
    async def newest(self, tenant: str, *, after: str = "", limit: int) -> list[DefinitionRow]:
        """The newest version of each definition behind the id `after`, in the order of ids.

        Those that are only tried out are not among them.
        """

    @writes
    async def erase(self, tenant: str, id: str) -> None:
        """Forget all versions of a definition of which there is no instance."""

    async def old_test_runs(self, before: datetime, limit: int) -> list[DefinitionKey]:
        """Definitions that are only tried out (`~test:`), made before then, oldest first."""
