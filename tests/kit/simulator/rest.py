"""The moment at which every client has done what was planned, and nobody has helped yet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Rest:
    """Clients wait here for each other; the last one to come looks around for all of them."""

    def __init__(self, clients: int, look_around: Callable[[], Awaitable[None]]) -> None:
        self._missing = clients
        self._look_around = look_around
        self._is_over = asyncio.Event()

    async def reached(self) -> None:
        self._missing -= 1
        if self._missing == 0:
            await self._look_around()
            self._is_over.set()
        await self._is_over.wait()
