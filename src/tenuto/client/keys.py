"""The API keys of a server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tenuto.client.connection import Ask, Connection, part
from tenuto.client.pages import every
from tenuto.client.shapes import Page
from tenuto.model.json import Object


class RemoteKeys:
    """Who may ask a service for what."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(
        self,
        name: str,
        *,
        role: str,
        scopes: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> Object:
        """Make a key; `key` in what this returns is it, and stands nowhere else."""
        body = {
            "name": name,
            "role": role,
            "scopes": None if scopes is None else list(scopes),
            "expiresAt": expires_at,
        }
        ask = Ask("POST", "/keys", body=body, is_repeatable=False)
        return await self._connection.ask(ask, dict[str, Any])

    async def list(self) -> list[Object]:
        """Every key, also those that open nothing any more."""
        return await every(self._connection, "/keys", Page[dict[str, Any]])

    async def revoke(self, id: str) -> None:
        """Let a key open nothing any more; NotFound when there is none."""
        await self._connection.do(Ask("DELETE", f"/keys/{part(id)}"))
