"""A PostgreSQL database: the store of several processes."""

from __future__ import annotations

from tenuto.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
