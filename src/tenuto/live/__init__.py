"""Instances as they go: what happens to one is told to everybody who watches it."""

from __future__ import annotations

from tenuto.live.feed import Dropped, Feed
from tenuto.live.hub import LiveHub
from tenuto.live.messages import Message

__all__ = ["Dropped", "Feed", "LiveHub", "Message"]
