"""Events: which patterns fit which names."""

from __future__ import annotations

from tenuto.events.patterns import fits

__all__ = ["fits"]
