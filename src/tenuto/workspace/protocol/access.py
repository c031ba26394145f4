"""API keys and the audit log of a workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Protocol

from tenuto.model.json import Object
from tenuto.workspace.values import Page


class Keys(Protocol):
    """The API keys of the tenant."""

    async def create(
        self,
        name: str,
        *,
        role: str,
        scopes: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> Object:
        """Create a key; `key` in the result is the secret, and is shown only this once."""
        ...

    async def revoke(self, id: str) -> list[str]:
        """Revoke a key and those that were made by it; the ids of those. NotFound."""
        ...

    async def list(self) -> list[Object]:
        """Every key, also expired and revoked ones, oldest first."""
        ...


class Audit(Protocol):
    """The audit log of the tenant."""

    async def page(
        self,
        *,
        actor: str | None = None,
        action: str | None = None,
        target: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Object]:
        """Lines, newest first."""
        ...

    def export(self) -> AsyncIterator[str]:
        """Every line, oldest first: JSON, with its hash."""
        ...

    async def verify(self, known: str | None = None) -> Object:
        """Read the chain of hashes: `{tenant, lines, hash, problem}`.

        `known` is a line that the caller noted earlier, as `<number>:<hash>`.
        """
        ...
