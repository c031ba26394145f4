"""Waits for an instance to be somewhere: told by the engine, never by sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenuto import InstanceRef, Tenuto
from tenuto.core import InstanceState
from tenuto.engine.turns.draft import Draft
from tenuto.model.status import Status


async def until(
    app: Tenuto, instance: InstanceRef, is_there: Callable[[InstanceState], bool]
) -> None:
    reached = asyncio.Event()

    def look(draft: Draft) -> None:
        if draft.instance_id == instance.id and is_there(draft.state):
            reached.set()

    unlisten = app.engine.listen(look)
    try:
        if not is_there((await app.engine.state_of(instance.id)).state):
            async with asyncio.timeout(20):
                await reached.wait()
    finally:
        unlisten()


def waits_for_event(state: InstanceState) -> bool:
    return state.status is Status.WAITING_FOR_EVENT
