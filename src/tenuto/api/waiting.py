"""Waiting for the end of an instance, for as long as somebody asks and is there."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from tenuto.api.call import Call, ClientGone
from tenuto.api.service import Service
from tenuto.engine.held import Held

QueryT = TypeVar("QueryT")


async def ended_within(call: Call[QueryT], id: str, seconds: float) -> Held | None:
    """The instance once it has ended; None where that takes longer, or the service stops.

    Also once whoever asked has left: what they asked for beside the wait is done, and recorded.
    """
    try:
        return await call.while_heard(asyncio.ensure_future(_ended(call.service, id, seconds)))
    except ClientGone:
        return None


async def _ended(service: Service, id: str, seconds: float) -> Held | None:
    end = asyncio.ensure_future(service.app.engine.final_state(id))
    stopping = asyncio.ensure_future(service.stopping.wait())
    try:
        done, _ = await asyncio.wait(
            {end, stopping}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        return end.result() if end in done else None
    finally:
        for task in (end, stopping):
            task.cancel()
        await asyncio.gather(end, stopping, return_exceptions=True)
