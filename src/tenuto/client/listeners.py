"""The webhooks and subscriptions of a server."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tenuto.client.connection import Ask, Connection, part
from tenuto.client.pages import every
from tenuto.client.shapes import Page
from tenuto.workspace.values import Subscription, Webhook


class RemoteWebhooks:
    """Addresses that are told of events for as long as they are there."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def add(
        self,
        url: str,
        patterns: str | Iterable[str],
        *,
        secret: str | None = None,
        description: str | None = None,
    ) -> Webhook:
        """Tell `url` of every event that fits one of `patterns`, from now on.

        The secret, made unless it is given, is in what this returns and nowhere else.
        """
        body = {
            "url": url,
            "patterns": _patterns(patterns),
            "secret": secret,
            "description": description,
        }
        ask = Ask("POST", "/webhooks", body=body, is_repeatable=False)
        return await self._connection.ask(ask, Webhook)

    async def change(
        self,
        id: str,
        url: str,
        patterns: str | Iterable[str],
        *,
        secret: str | None = None,
        description: str | None = None,
    ) -> Webhook:
        """Tell another address, or of other events, from now on; NotFound when there is none.

        What is on its way goes to the new address. The secret stays unless another is given.
        """
        body = {
            "url": url,
            "patterns": _patterns(patterns),
            "secret": secret,
            "description": description,
        }
        return await self._connection.ask(Ask("PUT", f"/webhooks/{part(id)}", body=body), Webhook)

    async def list(self) -> list[Webhook]:
        """Every webhook, oldest first, and how its deliveries go."""
        return await every(self._connection, "/webhooks", Page[Webhook])

    async def get(self, id: str) -> Webhook:
        """A webhook, and how its deliveries go; NotFound when there is none."""
        return await self._connection.get(f"/webhooks/{part(id)}", Webhook)

    async def remove(self, id: str) -> None:
        """Tell it nothing more; what was on its way is dropped. NotFound when there is none."""
        await self._connection.do(Ask("DELETE", f"/webhooks/{part(id)}", is_repeatable=False))

    async def enable(self, id: str) -> Webhook:
        """Tell it of events again, from now on; one that was not disabled stays as it is."""
        return await self._connection.ask(Ask("POST", f"/webhooks/{part(id)}/enable"), Webhook)


class RemoteSubscriptions:
    """Addresses that somebody outside has named, until they expire."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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
        """Notify `callback_url` of events that fit one of `patterns`, and the rest that is asked.

        The secret, made unless it is given, is in what this returns and nowhere else.
        """
        body = {
            "subscriberId": subscriber_id,
            "callbackUrl": callback_url,
            "patterns": _patterns(patterns),
            "filter": filter,
            "correlationId": correlation_id,
            "expirationTime": expiration_time,
            "secret": secret,
        }
        ask = Ask("POST", "/subscriptions", body=body, is_repeatable=False)
        return await self._connection.ask(ask, Subscription)

    async def list(self) -> list[Subscription]:
        """Every subscription, oldest first, and how its deliveries go."""
        return await every(self._connection, "/subscriptions", Page[Subscription])

    async def get(self, id: str) -> Subscription:
        """A subscription, and how its deliveries go; NotFound when there is none."""
        return await self._connection.get(f"/subscriptions/{part(id)}", Subscription)

    async def remove(self, id: str) -> None:
        """End it; what was on its way is dropped. NotFound when there is none."""
        await self._connection.do(Ask("DELETE", f"/subscriptions/{part(id)}", is_repeatable=False))

    async def enable(self, id: str) -> Subscription:
        """Notify it again, from now on; one that was not disabled stays as it is."""
        ask = Ask("POST", f"/subscriptions/{part(id)}/enable")
        return await self._connection.ask(ask, Subscription)


def _patterns(patterns: str | Iterable[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)
