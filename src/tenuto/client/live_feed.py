"""The stream of changes that a server has of one instance."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress

from tenuto.client.operations import Operations
from tenuto.model.errors import TenutoError

_AGAIN_AFTER = 0.5
"""Seconds until a stream that broke or ended is opened again."""


async def changes_of(operations: Operations, id: str, after: int) -> AsyncGenerator[None, None]:
    """Yields with each message after an entry, and now and then so that nothing is missed.

    A stream that breaks, or ends, is opened again after the last message that came; the caller
    looks at the instance meanwhile, and finds out whether it has ended.
    """
    last, clock = after, operations.connection.clock
    while True:
        with suppress(TenutoError):
            async for line in operations.stream_instance(
                id, until_end=True, last_event_id=str(last)
            ):
                name, _, value = line.partition(":")
                if name == "id":
                    last = int(value)
                elif not line or not name:
                    # The end of a message, or a comment that keeps the connection alive.
                    yield
        yield
        await clock.sleep(_AGAIN_AFTER)
