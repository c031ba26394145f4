"""How widely a test searches: as far as `make test` has time for, and further in `make soak`."""

from __future__ import annotations

import os

EVERY_WRITE = bool(os.environ.get("TENUTO_EVERY_WRITE"))
"""Whether every write is broken off by every fault, and every other search is as wide."""


def breadth(gate: int, soak: int) -> int:
    """How many seeds, examples or instances: so many in `make test`, so many in `make soak`."""
    return soak if EVERY_WRITE else gate
