"""What the watched instances of one tenant share: a turn to make messages, and memory for them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import MutableMapping
from typing import Any

from tenuto.engine.turns.sharing import Sharing
from tenuto.live.window import Window
from tenuto.ports import Clock

MOST_PAGES = 16
"""Pages of the past that are kept for other subscribers; the newest ones."""
MOST_BYTES = 64_000_000
"""Of all windows together; beyond it those that have not moved for longest are emptied."""
_LONGEST_REST = 0.02


class TenantShare:
    """However many instances are watched, the messages of one at a time are made."""

    def __init__(self, clock: Clock, sharing: Sharing, tenant: str) -> None:
        """`sharing` says for how long it rests while other tenants are at work."""
        self.turn = asyncio.Lock()
        """Held while messages are made, and while it rests."""
        self._clock = clock
        self._sharing = sharing
        self._tenant = tenant
        self._pages: deque[tuple[MutableMapping[int, Any], int]] = deque()
        self._windows: dict[Window, int] = {}
        """The bytes of each; the one that moved last is the last."""
        self._bytes = 0

    def now(self) -> float:
        """When a first part begins."""
        return self._clock.ticks()

    async def pause(self, began: float) -> float:
        """Let others go on after a part that began then; returns when the next one begins."""
        took = self._clock.ticks() - began
        rest = self._sharing.rest_after(took, self._tenant, _LONGEST_REST, is_in_loop=True)
        await self._clock.sleep(rest)
        return self._clock.ticks()

    def keep(self, pages: MutableMapping[int, Any], after: int) -> None:
        """A page is among these: it is dropped once there are too many newer ones."""
        self._pages.append((pages, after))
        if len(self._pages) > MOST_PAGES:
            others, oldest = self._pages.popleft()
            others.pop(oldest, None)

    def moved(self, window: Window) -> None:
        """A window has new messages: subscribers of one that is emptied go on from its log."""
        self.left(window)
        self._windows[window] = window.bytes
        self._bytes += window.bytes
        while self._bytes > MOST_BYTES:
            oldest = next(iter(self._windows))
            oldest.clear()
            self.left(oldest)

    def left(self, window: Window) -> None:
        """Nobody watches it any more."""
        self._bytes -= self._windows.pop(window, 0)
