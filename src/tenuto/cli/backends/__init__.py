"""Where commands act: a store beside an engine, or a server over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from tenuto.cli.backends.place import ServerUrl

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.cli.backends.reader import Reader
    from tenuto.client import Client

T = TypeVar("T")


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


async def looked_up(
    place: str,
    stored: Callable[[Reader], Awaitable[T]],
    served: Callable[[Client], Awaitable[T]],
) -> T:
    """A value that a store or a server has, read without loading what commands need beside it."""
    if isinstance(place, ServerUrl):
        from tenuto.cli.backends.server import connected

        async with connected(place) as server:
            return await served(server.space)
    from tenuto.cli.backends.reader import reading

    async with reading(place) as reader:
        return await stored(reader)
