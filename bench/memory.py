"""How much memory this process takes."""

from __future__ import annotations

import os
from pathlib import Path


def resident() -> float:
    """Megabytes that are really there."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
