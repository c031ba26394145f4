"""A store that lives as long as its process: for tests, simulation and trying things out."""

from __future__ import annotations

from tenuto.store.memory.disk import MemoryDisk
from tenuto.store.memory.store import MemoryStore

__all__ = ["MemoryDisk", "MemoryStore"]
