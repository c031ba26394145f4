"""Live updates: subscribers watch instances, and get a message for each change."""

from __future__ import annotations

from tenuto.live.feed import Dropped, Feed
from tenuto.live.hub import HubBounds, LiveHub
from tenuto.live.messages import Message

__all__ = ["Dropped", "Feed", "HubBounds", "LiveHub", "Message"]
