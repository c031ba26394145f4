"""The event loop of services and workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the event loop: uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
