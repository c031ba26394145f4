"""Open waits and triggers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Any

from tenuto.store.columns import WaitColumns, wait_row
from tenuto.store.parts.waits import WaitKey, WaitRow, WaitTerm
from tenuto.store.sqlite.part import SqlitePart, looks, looks_for, reads
from tenuto.store.sqlite.session import Column, Session, as_json


class SqliteWaits(SqlitePart):
    """Open waits in a table of the file, indexed by their terms."""

    @looks
    def terms(self, session: Session, tenant: str, pattern: str) -> list[WaitTerm]:
        found = session.packed("wait_terms", {"tenant": tenant, "pattern": pattern})
        return [WaitTerm(*term) for term in found]

    @reads
    def matching(
        self,
        session: Session,
        tenant: str,
        terms: Sequence[WaitTerm],
        *,
        limit: int,
        after: WaitKey | None = None,
    ) -> list[WaitRow]:
        """Each term is a range of one index; the ranges are merged as far as they are wanted."""
        start = after or WaitKey("", "", "")
        found = session.packed(
            "waits_of_terms",
            {
                "tenant": tenant,
                "terms": as_json(list(dict.fromkeys(terms))),
                "after_instance": start.instance_id,
                "after_node": start.node,
                "after_iteration": start.iteration,
                "after_arm": start.arm,
                "limit": limit,
            },
        )
        # Most terms have one wait, or none.
        ranges = [_waits(range_) for range_ in found if range_]
        return [wait_row(wait) for wait in islice(merge(*ranges, key=attrgetter("key")), limit)]

    @looks
    def near(
        self, session: Session, tenant: str, terms: Sequence[WaitTerm], *, limit: int
    ) -> list[WaitRow]:
        near: list[WaitRow] = []
        for pattern, term_paths in dict.fromkeys(term[:2] for term in terms):
            term: dict[str, Column] = {"pattern": pattern, "term_paths": term_paths}
            found = session.packed("waits_near_term", term | {"tenant": tenant, "limit": limit})
            near += [wait_row(wait) for wait in _waits(found)]
        return near

    @looks_for(list)
    def of(self, session: Session, instance_id: str) -> list[WaitRow]:
        found = session.packed("waits_of_instance", (instance_id,))
        return [wait_row(wait) for wait in _waits(found)]

    @looks
    def unlooked(self, session: Session, limit: int) -> list[WaitRow]:
        return [wait_row(wait) for wait in _waits(session.packed("unlooked_waits", (limit,)))]


def _waits(rows: Iterable[Sequence[Any]]) -> list[WaitColumns]:
    return [WaitColumns._make([*row[:8], bytes.fromhex(row[8]), *row[9:]]) for row in rows]
