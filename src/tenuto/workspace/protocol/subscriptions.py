"""Subscriptions of a workspace."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from tenuto.workspace.values import Page, PendingDelivery, Subscription


class Subscriptions(Protocol):
    """Addresses that are notified of events until they expire."""

    async def add(
        self,
        callback_url: str,
        patterns: str | Iterable[str],
        *,
        subscriber_id: str,
        filter: str | None = None,  # noqa: A002 - a word of the contract
        correlation_id: str | None = None,
        expiration_time: datetime | None = None,
        secret: str | None = None,
    ) -> Subscription:
        """Notify `callback_url` of events that match one of `patterns` and the filters."""
        ...

    async def get(self, id: str) -> Subscription:
        """A subscription, and the state of its deliveries; NotFound."""
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

    async def enable(self, id: str) -> Subscription:
        """Notify it again, from now on; one that was not disabled stays as it is."""
        ...

    async def list(self) -> list[Subscription]:
        """Every subscription, oldest first."""
        ...
