"""Turns of tenants in the outbox: the backlog of one delays no other.

A claim has the oldest rows of all, and the oldest few of each of some tenants. Of a stream both
have the first rows without a gap, so their union has too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import chain, islice, zip_longest
from typing import Final

from tenuto.store.parts.outbox import TENANTS_IN_TURN, OutboxRow

ROWS_IN_TURN: Final = 4
"""Rows of each tenant whose turn it is, at least."""


def tenants_in_turn(tenants: Iterable[str], after: str) -> list[str]:
    """Tenants in a circle, which begins behind one of them."""
    ordered = sorted(tenants)
    begin = bisect_right(ordered, after)
    return ordered[begin:] + ordered[:begin]


def in_turn(rows: Iterable[OutboxRow], after: str, limit: int) -> list[OutboxRow]:
    """One row of each tenant, then the second of each, and so on; each tenant's in order."""
    queues: dict[str, list[OutboxRow]] = {}
    for row in sorted({row.number: row for row in rows}.values(), key=lambda row: row.number):
        queues.setdefault(row.tenant, []).append(row)
    rounds = zip_longest(*(queues[tenant] for tenant in tenants_in_turn(queues, after)))
    return list(islice((row for row in chain.from_iterable(rounds) if row is not None), limit))


def chosen(rows: list[OutboxRow], after: str, limit: int) -> list[OutboxRow]:
    """What a claim has of all rows, the oldest first: as the statements of databases choose."""
    found = rows[:limit]
    tenants = tenants_in_turn({row.tenant for row in rows}, after)[:TENANTS_IN_TURN]
    for tenant in tenants:
        found += islice((row for row in rows if row.tenant == tenant), ROWS_IN_TURN)
    return in_turn(found, after, limit)
