"""Instances as lists show them, their logs, and erasing them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import nlargest
from typing import Any

from tenuto.model.log import LogRow
from tenuto.model.search_terms import SearchTerm
from tenuto.model.status import Status
from tenuto.store.cursor import Position, write_cursor
from tenuto.store.erasing import erasable
from tenuto.store.pages import is_by_change, page_bounds
from tenuto.store.parts.instances import (
    ANY_DEFINITION,
    CAREFULLY,
    Erasure,
    InstancePage,
    InstanceQuery,
    UsedKey,
)
from tenuto.store.sqlite.part import SqlitePart, looks, looks_for, none, seeks, writes
from tenuto.store.sqlite.rows import entries_of, instances_of
from tenuto.store.sqlite.session import Column, Session, as_json

_ABOUT_THEM = (
    "erase_steps",
    "delete_searchable",
    "erase_snapshots",
    "erase_logs",
    "erase_keys",
    "erase_waits",
    "erase_deliveries",
    "erase_timers",
    "erase_mail",
    "erase_owners",
    "erase_jobs",
    "erase_dead_letters",
    "erase_outbox",
    "erase_postings",
    "erase_instances",
)


class SqliteInstances(SqlitePart):
    """Instances and their logs, in tables of the file."""

    @seeks(lambda: InstancePage([], None))
    def page(self, session: Session, query: InstanceQuery) -> InstancePage:
        """Positions from an index first, then the rows of one page."""
        positions = _positions(session, query)
        shown = positions[: query.limit]
        rows = {
            row.id: row for row in instances_of(session, (as_json([place.id for place in shown]),))
        }
        has_more = len(positions) > query.limit and bool(shown)
        next_after = write_cursor(shown[-1]) if has_more else None
        return InstancePage([rows[place.id] for place in shown], next_after)

    @looks_for(list)
    def entries(
        self, session: Session, instance_id: str, *, after: int = 0, limit: int = 1000
    ) -> list[LogRow]:
        parameters: dict[str, Column] = {"instance_id": instance_id, "after": after, "limit": limit}
        return [entry for _, entry in entries_of(session, "entries", parameters)]

    @looks
    def entries_at(self, session: Session, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
        parameters: dict[str, Column] = {"instance_id": instance_id, "seqs": as_json(list(seqs))}
        return [entry for _, entry in entries_of(session, "entries_at", parameters)]

    @looks
    def newest_seqs(self, session: Session, instance_ids: Collection[str]) -> dict[str, int]:
        found = session.packed("newest_seqs", (as_json(list(dict.fromkeys(instance_ids))),))
        return {id: seq for id, seq in found if seq is not None}

    @looks
    def ended(self, session: Session, instance_ids: Collection[str]) -> dict[str, bool]:
        found = session.packed("ended_instances", (as_json(list(dict.fromkeys(instance_ids))),))
        return {id: bool(has_ended) for id, has_ended in found}

    @looks_for(none)
    def used_key(self, session: Session, tenant: str, key: str) -> UsedKey | None:
        found = session.packed("used_keys", (as_json([(tenant, key)]),))
        return UsedKey(found[0][2], bytes.fromhex(found[0][3])) if found else None

    @looks
    def keys(self, session: Session, tenant: str, instance_ids: Collection[str]) -> dict[str, str]:
        which: dict[str, Column] = {"tenant": tenant, "ids": as_json(list(instance_ids))}
        return dict(session.packed("keys_of_instances", which))

    @looks
    def open_of_origin(self, session: Session, origin_id: str, most: int) -> int:
        return int(session.rows("open_of_origin", (origin_id, most))[0][0])

    @writes
    def erase(
        self, session: Session, tenant: str, ids: Collection[str], manner: Erasure = CAREFULLY
    ) -> list[str]:
        which: dict[str, Column] = {
            "tenant": tenant,
            "ids": as_json(list(ids)),
            "with_dead_letters": int(manner.with_dead_letters),
            "with_debts": int(manner.with_debts),
        }
        members = session.packed("families", which)
        families = erasable((root, id, bool(may_go)) for root, id, may_go in members)
        if families and not manner.dry_run:
            gone = as_json([id for family in families.values() for id in family])
            for name in _ABOUT_THEM:
                session.run(name, (gone,))
        return sorted(families)


def _positions(session: Session, query: InstanceQuery) -> list[Position]:
    """One row more than a page, to find out whether there is another page."""
    page: dict[str, Column] = {**page_bounds(query)}
    name, filters = _narrowest(session, query)
    found = (
        [Position(*each) for each in session.packed(name, page | filters)]
        if name
        else [
            Position(*each)
            for status in query.statuses or Status
            for each in _of_status(session, query, status, page)
        ]
    )
    return nlargest(query.limit + 1, found)


def _narrowest(session: Session, query: InstanceQuery) -> tuple[str | None, dict[str, Column]]:
    filters: dict[str, Column] = {
        "definition_id": query.definition_id,
        "statuses": as_json(query.statuses) if query.statuses else None,
        "correlation_id": query.correlation_id,
        "waiting_for": query.waiting_for,
        "roots": int(query.roots),
        "parent_id": query.parent_id,
    }
    if query.ids:
        filters |= {"ids": as_json(query.ids), "terms": as_json(query.terms)}
        return "positions_by_id", filters | {"step_id": query.current_step}
    if is_by_change(query):
        filters |= {"step_id": query.current_step, "terms": as_json(query.terms)}
        return "positions_by_change", filters
    if query.mark is not None:
        filters |= {"definition_id": ANY_DEFINITION, "terms": as_json([]), "step_id": None}
        filters |= {"name": query.mark.name, "value_text": query.mark.value}
        return "positions_by_value", filters
    if query.terms:
        lead, *others = _rarest_first(session, query)
        filters |= {"name": lead.name, "value_text": lead.value, "terms": as_json(others)}
        return "positions_by_value", filters | {"step_id": query.current_step}
    if query.current_step is not None:
        return "positions_by_step", filters | {"step_id": query.current_step}
    if query.correlation_id is not None:
        return "positions_by_correlation", filters
    if query.waiting_for is not None:
        return "positions_by_wait", filters
    if query.parent_id is not None:
        return "positions_by_parent", filters
    if query.roots and query.definition_id is None and not query.statuses:
        return "positions_by_root", filters
    return None, filters


def _rarest_first(session: Session, query: InstanceQuery) -> list[SearchTerm]:
    """The most selective term, and the other terms, which filter its results."""
    terms = list(query.terms)
    if len(terms) > 1:
        asked = {
            "tenant": query.tenant,
            "definition_id": query.definition_id,
            "terms": as_json(terms),
        }
        [(rarest,)] = session.rows("rarest_term", asked)
        terms.insert(0, terms.pop(rarest))
    return terms


def _of_status(
    session: Session, query: InstanceQuery, status: Status, page: dict[str, Column]
) -> list[Any]:
    if query.definition_id is None:
        name = "positions_by_root_status" if query.roots else "positions_by_status"
        return session.packed(name, page | {"status": status.value})
    filters: dict[str, Column] = {"status": status.value, "definition_id": query.definition_id}
    name = "positions_by_root_definition" if query.roots else "positions_by_definition"
    return session.packed(name, page | filters)
