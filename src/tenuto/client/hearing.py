"""Hears that something happened to an instance, from the stream that a server has of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress

from tenuto.client.connection import API, Ask, Connection, part
from tenuto.model.errors import TenutoError

_AGAIN_AFTER = 0.5
"""Seconds until a stream that broke or ended is asked for anew."""


async def news_of(connection: Connection, id: str, after: int) -> AsyncGenerator[None, None]:
    """Comes on with each message behind an entry, and now and then so that nothing is missed.

    A stream that breaks, or ends, is asked for anew from the last message that came; whoever
    listens looks for themselves meanwhile, and finds out what is wrong or that all is over.
    """
    path = f"{API}/instances/{part(id)}/stream"
    last = after
    while True:
        ask = Ask("GET", path, {"untilEnd": True}, headers={"last-event-id": str(last)})
        with suppress(TenutoError):
            async for line in connection.lines(ask):
                name, _, value = line.partition(":")
                if name == "id":
                    last = int(value)
                elif not line or not name:
                    # The end of a message, or a word that the server is still there.
                    yield
        yield
        await connection.clock.sleep(_AGAIN_AFTER)
