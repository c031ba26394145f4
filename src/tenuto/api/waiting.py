"""Waiting for the end of an instance, for as long as somebody asks."""

from __future__ import annotations

import asyncio

from tenuto.api.service import Service
from tenuto.engine.held import Held


async def ended_within(service: Service, id: str, seconds: float) -> Held | None:
    """The instance once it has ended; None where that takes longer, or the service stops."""
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
