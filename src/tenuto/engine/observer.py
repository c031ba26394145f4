"""Observes an engine from outside: its durable changes as they happen, and a poll beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from tenuto.engine.turns.draft import Draft

if TYPE_CHECKING:
    from tenuto.engine.engine import Engine


class Observer:
    """Listens and polls from `start` to `stop`; both may be repeated, and cost nothing then."""

    def __init__(
        self,
        engine: Engine,
        heard: Callable[[Draft], None],
        poll: Callable[[], Coroutine[None, None, None]],
    ) -> None:
        """`heard` takes each durable change of this process; `poll` runs until it is cancelled."""
        self._engine = engine
        self._heard = heard
        self._poll = poll
        self._stop_listening: Callable[[], None] | None = None
        self._polling: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._stop_listening is None:
            self._stop_listening = self._engine.listen(self._heard)
            self._polling = asyncio.get_running_loop().create_task(self._poll())

    def stop(self) -> None:
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
        if self._polling is not None:
            self._polling.cancel()
            self._polling = None
