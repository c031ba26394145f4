"""Webhooks of a workspace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from tenuto.workspace.values import Page, PendingDelivery, Webhook


class Webhooks(Protocol):
    """Addresses that are notified of events."""

    async def add(
        self,
        url: str,
        patterns: str | Iterable[str],
        *,
        secret: str | None = None,
        description: str | None = None,
    ) -> Webhook:
        """Notify `url` of every event that matches one of `patterns`, from now on."""
        ...

    async def change(
        self,
        id: str,
        url: str,
        patterns: str | Iterable[str],
        *,
        secret: str | None = None,
        description: str | None = None,
    ) -> Webhook:
        """Change its address or patterns; its secret stays unless another is given. NotFound."""
        ...

    async def get(self, id: str) -> Webhook:
        """A webhook, and the state of its deliveries; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Remove it; pending deliveries are dropped. NotFound."""
        ...

    async def deliveries(
        self, id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Page[PendingDelivery]:
        """What is on its way to it, in the order in which it is tried; NotFound."""
        ...

    async def resend(self, id: str) -> int:
        """Try at once what was put off after failures; how many deliveries. NotFound."""
        ...

    async def enable(self, id: str) -> Webhook:
        """Notify it again, from now on; one that was not disabled stays as it is."""
        ...

    async def list(self) -> list[Webhook]:
        """Every webhook, oldest first."""
        ...
