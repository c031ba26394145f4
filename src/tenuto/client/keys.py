"""The API keys of a server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from tenuto.client.operations import Operations
from tenuto.client.pages import every
from tenuto.model.json import Object


class RemoteKeys:
    """The API keys of the tenant."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def create(
        self,
        name: str,
        *,
        role: str,
        scopes: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> Object:
        """Create a key; `key` in the result is the secret, and is shown only this once."""
        return await self._operations.create_key(
            name=name, role=role, scopes=scopes, expires_at=expires_at
        )

    async def revoke(self, id: str) -> list[str]:
        """Revoke a key and those that were made by it; the ids of those. NotFound."""
        return cast("list[str]", (await self._operations.revoke_key(id))["alsoRevoked"])

    async def list(self) -> list[Object]:
        """Every key, also expired and revoked ones, oldest first."""
        return await every(self._operations.list_keys)
