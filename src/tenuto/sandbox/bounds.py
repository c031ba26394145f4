"""How much a sandbox does at once: known before there is one."""

from __future__ import annotations

import os
from typing import Final

from msgspec import Struct

_ENOUGH: Final = 4
"""Calls for each process of a tenant: one that runs, and those that follow at once."""


class PoolBounds(Struct, frozen=True, kw_only=True):
    """How many processes a sandbox has, and for how long."""

    processes: int = max(4, 2 * (os.cpu_count() or 1))
    """The most that serve tenants."""
    of_tenant: int = max(1, max(4, 2 * (os.cpu_count() or 1)) * 3 // 4)
    """Of these, the most of one tenant."""
    spares: int = 1
    """Processes that are started ahead."""
    calls: int = 1_000
    """The most calls of a process: then it is replaced."""
    slice: float = 0.5
    """Seconds for which a process stays with its tenant while others wait."""
    idle: float = 60.0
    """Seconds after which a process without calls is ended."""

    @property
    def calls_of_tenant(self) -> int:
        """With so many calls of a tenant none of its processes is left without one."""
        return _ENOUGH * self.of_tenant
