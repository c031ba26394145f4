"""Saved definition versions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import for_tenants, writes
from tenuto.store.parts.waits import WaitRow

REMOVED = b"null"
"""The content of a version that marks its definition as removed."""


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
        """Whether this version marks the definition as removed."""
        return self.content == REMOVED


class DefinitionKey(NamedTuple):
    """The key of a definition."""

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
        """Save a new version; if the newest version has the same content, return that one.

        With `only_after` the version is saved only if that one is the newest, else Superseded is
        raised.

        The content `REMOVED` removes all versions before it: a start that needs one of them is
        committed before, or its outcome is `REMOVED`. The next version begins the definition anew.

        `triggers` of a new version replace those of the previous version; their `attempt` is set to
        the version.
        """

    @for_tenants
    async def get(self, tenant: str, id: str, version: int | None = None) -> DefinitionRow | None:
        """A version of a definition; without `version` the newest."""

    @for_tenants
    async def ids(self, tenant: str) -> list[str]:
        """Ids of all definitions but removed ones, in order, without reading a document."""

    @for_tenants
    async def newest(self, tenant: str, *, after: str = "", limit: int) -> list[DefinitionRow]:
        """The newest version of each definition with an id after `after`, ordered by id.

        Definitions of test runs are left out.
        """

    @writes
    async def erase(self, tenant: str, id: str) -> None:
        """Delete all versions of a definition that has no instances."""

    async def old_test_runs(self, before: datetime, limit: int) -> list[DefinitionKey]:
        """Definitions of test runs (`~test:`) created before then, oldest first."""
