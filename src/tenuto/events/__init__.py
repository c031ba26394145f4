"""Events: which patterns fit which names, and how events are read that come from outside."""

from __future__ import annotations

from tenuto.events.given import GivenEvent, Reading
from tenuto.events.names import name_problems
from tenuto.events.patterns import fits
from tenuto.events.reading import read_events

__all__ = ["GivenEvent", "Reading", "fits", "name_problems", "read_events"]
