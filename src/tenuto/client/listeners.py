"""The webhooks and subscriptions of a server."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from tenuto.client.operations import Operations
from tenuto.client.pages import every
from tenuto.model.json import Object
from tenuto.workspace.values import Page, PendingDelivery, Subscription, Webhook


class RemoteWebhooks:
    """Addresses that are notified of events."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def add(
        self,
        url: str,
        patterns: str | Iterable[str],
        *,
        secret: str | None = None,
        description: str | None = None,
    ) -> Webhook:
        """Notify `url` of every event that matches one of `patterns`, from now on.

        The secret, made unless it is given, is in what this returns and nowhere else.
        """
        return await self._operations.add_webhook(
            url=url, patterns=_patterns(patterns), secret=secret, description=description
        )

    async def change(
        self,
        id: str,
        url: str,
        patterns: str | Iterable[str],
        *,
        secret: str | None = None,
        description: str | None = None,
    ) -> Webhook:
        """Change its address or patterns; its secret stays unless another is given. NotFound.

        Pending deliveries go to the new address.
        """
        return await self._operations.put_webhook(
            id, url=url, patterns=_patterns(patterns), secret=secret, description=description
        )

    async def get(self, id: str) -> Webhook:
        """A webhook, and the state of its deliveries; NotFound."""
        return await self._operations.get_webhook(id)

    async def remove(self, id: str) -> None:
        """Remove it; pending deliveries are dropped. NotFound."""
        await self._operations.remove_webhook(id)

    async def deliveries(
        self, id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Page[PendingDelivery]:
        """What is on its way to it, in the order in which it is tried; NotFound."""
        return await self._operations.list_webhook_deliveries(id, limit=limit, cursor=cursor)

    async def resend(self, id: str) -> int:
        """Try at once what was put off after failures; how many deliveries. NotFound."""
        return _hastened(await self._operations.resend_webhook(id))

    async def enable(self, id: str) -> Webhook:
        """Notify it again, from now on; one that was not disabled stays as it is."""
        return await self._operations.enable_webhook(id)

    async def list(self) -> list[Webhook]:
        """Every webhook, oldest first, and the state of its deliveries."""
        return await every(self._operations.list_webhooks)


class RemoteSubscriptions:
    """Addresses that are notified of events until they expire."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

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
        """Notify `callback_url` of events that match one of `patterns` and the filters.

        The secret, made unless it is given, is in what this returns and nowhere else.
        """
        return await self._operations.add_subscription(
            callback_url=callback_url,
            patterns=_patterns(patterns),
            subscriber_id=subscriber_id,
            filter=filter,
            correlation_id=correlation_id,
            expiration_time=expiration_time,
            secret=secret,
        )

    async def get(self, id: str) -> Subscription:
        """A subscription, and the state of its deliveries; NotFound."""
        return await self._operations.get_subscription(id)

    async def remove(self, id: str) -> None:
        """Remove it; pending deliveries are dropped. NotFound."""
        await self._operations.remove_subscription(id)

    async def deliveries(
        self, id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Page[PendingDelivery]:
        """What is on its way to it, in the order in which it is tried; NotFound."""
        return await self._operations.list_subscription_deliveries(id, limit=limit, cursor=cursor)

    async def resend(self, id: str) -> int:
        """Try at once what was put off after failures; how many deliveries. NotFound."""
        return _hastened(await self._operations.resend_subscription(id))

    async def enable(self, id: str) -> Subscription:
        """Notify it again, from now on; one that was not disabled stays as it is."""
        return await self._operations.enable_subscription(id)

    async def list(self) -> list[Subscription]:
        """Every subscription, oldest first, and the state of its deliveries."""
        return await every(self._operations.list_subscriptions)


def _patterns(patterns: str | Iterable[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)


def _hastened(answer: Object) -> int:
    return msgspec.convert(answer["hastened"], int)
