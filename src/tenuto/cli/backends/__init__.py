"""Where commands act: a store beside an engine, or a server over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tenuto.cli.backends.place import ServerUrl

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend


@asynccontextmanager
async def opened(place: str, *, allow_private: bool = False) -> AsyncIterator[Backend]:
    """The store or the server that a command was given.

    `allow_private`: webhooks may have addresses of private networks. A server decides that itself.
    """
    if isinstance(place, ServerUrl):
        from tenuto.cli.backends.server import connected

        async with connected(place) as server:
            yield server
    else:
        from tenuto.cli.backends.store import StoreBackend

        async with StoreBackend(place, allow_private=allow_private) as store:
            yield store
