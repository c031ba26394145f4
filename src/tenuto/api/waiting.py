"""Waiting for the end of an instance, for as long as somebody asks and is there."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from tenuto.api.call import Call, ClientGone
from tenuto.engine.turns.held import Held

QueryT = TypeVar("QueryT")


async def ended_within(call: Call[QueryT], id: str, seconds: float) -> Held | None:
    """The instance once it has ended; None where that takes longer, or the service stops.

    Also once whoever asked has left: what they asked for beside the wait is done, and recorded.
    """
    service = call.service
    end = asyncio.ensure_future(service.app.engine.final_state(id))
    service.waiting.add(end)
    try:
        await call.while_heard(end, seconds=0.0 if service.stopping.is_set() else seconds)
    except (ClientGone, TimeoutError):
        return None
    finally:
        service.waiting.discard(end)
    return None if end.cancelled() else end.result()
