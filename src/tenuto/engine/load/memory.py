"""The memory of this process, and what it may have: the group's limit, else the machine's."""

from __future__ import annotations

import os
import resource
import sys
from functools import cache
from pathlib import Path

_GROUP = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNLIMITED = 1 << 60


def memory_percent() -> float:
    """How much of the memory that this process may have it uses."""
    return 100 * used_bytes() / allowed_bytes()


def used_bytes() -> int:
    """The resident memory of this process."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:  # no Linux: the most that it ever had
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return pages * os.sysconf("SC_PAGE_SIZE")


@cache
def allowed_bytes() -> int:
    """The least of the limits that are set, and the memory of the machine."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _GROUP:
        try:
            text = Path(path).read_text("ascii").strip()
        except OSError:
            continue
        if text.isdecimal() and int(text) < _UNLIMITED:
            found.append(int(text))
    return max(1, min(found))
