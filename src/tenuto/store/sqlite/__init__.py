"""One SQLite file: the store of a single machine."""

from __future__ import annotations

from tenuto.store.sqlite.store import SqliteStore
from tenuto.store.sqlite.workers import DedicatedThread, Inline, Worker

__all__ = ["DedicatedThread", "Inline", "SqliteStore", "Worker"]
