"""All that a store in memory holds, so that a test can say that nothing has changed."""

from __future__ import annotations

from typing import TypeAlias

from tenuto import Tenuto
from tenuto.store.memory import MemoryStore
from tenuto.store.parts.slot_rows import ConcurrencyRow
from tests.kit.memory_tables import memory_tables

Rows: TypeAlias = dict[tuple[str, object], object]

_AUDIT = frozenset({"audit_log", "audit_heads"})
_RESTLESS = frozenset(
    {
        *("live", "guests", "ears", "claims", "unseen", "shares", "owners", "processes"),
        *("outbox", "postings", "posting_numbers"),
        # What lists show follows from the log, a moment later.
        "instances",
    }
)
"""What the engine itself writes to while nobody asks for anything."""


_OWN_FIELDS = len(ConcurrencyRow.__struct_fields__)


def rows_of(app: Tenuto) -> Rows:
    """Every row by its table and key, but for the audit log and when keys were used."""
    store = app.engine.store
    assert isinstance(store, MemoryStore)
    rows: Rows = {}
    for table, held in memory_tables(store.disk).items():
        if table in _AUDIT | _RESTLESS:
            continue
        for key, row in held.items():
            rows[table, key] = dict(row) if isinstance(row, dict) else row
            if table == "access_keys":
                # When it was used stands last, and is written whenever it is.
                rows[table, key] = row[:-1]
            if table == "concurrency":
                # The row of the service numbers the changes of all tenants, behind its own fields.
                rows[table, key] = row[:_OWN_FIELDS]
    return rows


def is_of(tenant: str, place: tuple[str, object]) -> bool:
    """Whether a row is a tenant's by its key."""
    key = place[1]
    return isinstance(key, tuple) and tenant in key
