"""The secrets of a server."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.client.operations import Operations
from tenuto.client.pages import every
from tenuto.workspace.secret_values import Secret
from tenuto.workspace.values import Page


class RemoteSecrets:
    """Values that steps use and no record shows; no method gives one back."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def put(
        self, name: str, value: str, *, destinations: Sequence[str] | None = None
    ) -> Secret:
        """Store a secret, new or not; attempts that start from now on get this value.

        `destinations` are the hosts and data sources that it may be sent to; without them it may
        stand in the input of every step. InvalidInput, without the value.
        """
        named = None if destinations is None else tuple(destinations)
        return await self._operations.put_secret(name, value=value, destinations=named)

    async def get(self, name: str) -> Secret:
        """A secret, without its value; NotFound."""
        return await self._operations.get_secret(name)

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[Secret]:
        """A page of secrets, without their values, ordered by name."""
        return await self._operations.list_secrets(limit=limit, cursor=cursor)

    async def remove(self, name: str, *, force: bool = False) -> None:
        """Remove a secret; Conflict while something names it, unless `force`. NotFound."""
        await self._operations.remove_secret(name, force=force)

    async def list(self) -> list[Secret]:
        """Every secret, without its value, ordered by name."""
        return await every(self._operations.list_secrets)
