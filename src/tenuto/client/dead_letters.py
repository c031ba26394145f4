"""What a server could not do."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from tenuto.client.connection import Ask, Connection, part
from tenuto.client.instance import Stands
from tenuto.client.shapes import Page
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status


class DeadLetters:
    """Tasks whose failure nothing handled, poison, and results that came too late."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, limit: int = 100) -> list[Object]:
        """Dead letters, newest first."""
        page = await self._connection.get("/dead-letters", Page[dict[str, Any]], limit=limit)
        return page.items

    async def get(self, id: str) -> Object:
        """A dead letter; NotFound when there is none."""
        return await self._connection.get(f"/dead-letters/{part(id)}", dict[str, Any])

    async def retry(self, id: str, *, input: JSON | UnsetType = UNSET) -> Status:
        """Try again what could not be done; its letter is gone then. Conflict where it cannot.

        `input` is what the task is given instead of what it failed with.
        """
        body: Object = {} if input is UNSET else {"input": input}
        ask = Ask("POST", f"/dead-letters/{part(id)}/retry", body=body, is_repeatable=False)
        return (await self._connection.ask(ask, Stands)).status

    async def discard(self, id: str) -> None:
        """Forget a dead letter; NotFound when there is none."""
        ask = Ask("POST", f"/dead-letters/{part(id)}/discard", body={}, is_repeatable=False)
        await self._connection.do(ask)
