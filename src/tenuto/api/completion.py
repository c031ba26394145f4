"""Waits for the end of an instance, while the client is connected."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from tenuto.api.call import Call, ClientGone
from tenuto.engine.turns.held import Held

QueryT = TypeVar("QueryT")


async def ended_within(call: Call[QueryT], id: str, seconds: float) -> Held | None:
    """The instance once it has ended; None where that takes longer, or the service stops.

    Also None where the client disconnects: the rest of its request is done, and recorded.
    """
    service = call.service
    end = asyncio.ensure_future(service.app.engine.final_state(id))
    service.waiting.add(end)
    try:
        await call.while_connected(end, seconds=0.0 if service.stopping.is_set() else seconds)
    except (ClientGone, TimeoutError):
        return None
    finally:
        service.waiting.discard(end)
    return None if end.cancelled() else end.result()
