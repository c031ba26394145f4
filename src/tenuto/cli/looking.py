"""What commands that look at instances need, whether from a store or from a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from tenuto.cli.places import ServerUrl
from tenuto.cli.stores import reading
from tenuto.engine.events.inspector import NearEvents
from tenuto.engine.turns.held import Held
from tenuto.model.causes import Explanation
from tenuto.model.json import Object
from tenuto.ports import Clock
from tenuto.store.parts.instances import InstancePage, InstanceQuery


class Looker(Protocol):
    """Instances, as somebody sees them who changes nothing."""

    @property
    def clock(self) -> Clock: ...

    async def instances(
        self, query: InstanceQuery, variables: Object | None = None
    ) -> InstancePage:
        """A page of instances; with `variables` of those that have these values."""
        ...

    async def held(self, id: str) -> Held:
        """An instance as its log says it is now; NotFound."""
        ...

    async def advanced(self, held: Held) -> Held:
        """The same instance as it is now."""
        ...

    async def history(self, id: str, after: int = 0) -> list[Object]:
        """Its log behind an entry, oldest first."""
        ...

    def watching(self, id: str, after: int) -> AbstractAsyncContextManager[asyncio.Event]:
        """An event that is set when its log may have grown behind an entry."""
        ...

    async def near_events(self, held: Held) -> NearEvents:
        """The events that its open waits did not take."""
        ...

    async def explained(self, id: str) -> Explanation:
        """Why it is not moving."""
        ...


@asynccontextmanager
async def looking_at(url: str) -> AsyncIterator[Looker]:
    """The store, or the server, that a command was told to look at."""
    if isinstance(url, ServerUrl):
        from tenuto.cli.servers import ServerReader, connected

        async with connected(url) as client:
            yield ServerReader(url, client)
        return
    async with reading(url) as reader:
        yield reader
