"""Secrets of a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tenuto.workspace.secret_values import Secret
from tenuto.workspace.values import Page


class Secrets(Protocol):
    """Values that steps use and no record shows; no method gives one back."""

    async def put(
        self, name: str, value: str, *, destinations: Sequence[str] | None = None
    ) -> Secret:
        """Store a secret, new or not; attempts that start from now on get this value.

        `destinations` are the hosts and data sources that it may be sent to; without them it may
        stand in the input of every step. InvalidInput, without the value.
        """
        ...

    async def get(self, name: str) -> Secret:
        """A secret, without its value; NotFound."""
        ...

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[Secret]:
        """A page of secrets, without their values, ordered by name."""
        ...

    async def remove(self, name: str, *, force: bool = False) -> None:
        """Remove a secret; Conflict while something names it, unless `force`. NotFound.

        Attempts that start after that and need it fail with `UNKNOWN_SECRET`.
        """
        ...

    async def list(self) -> list[Secret]:
        """Every secret, without its value, ordered by name."""
