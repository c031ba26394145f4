"""What is read, from packed rows to values. Each function is one job of the reading connection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set as AbstractSet
from datetime import datetime
from heapq import merge, nlargest
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from tenuto.model.durations import epoch_ms
from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.model.search_terms import SearchTerm
from tenuto.model.status import Status
from tenuto.store.columns import (
    DeadLetterColumns,
    DefinitionColumns,
    EventColumns,
    InstanceColumns,
    MailColumns,
    WaitColumns,
    dead_letter_bound,
    dead_letter_row,
    definition_row,
    event_value,
    instance_row,
    mail_row,
    wait_row,
)
from tenuto.store.cursor import Position, write_cursor
from tenuto.store.job_protocol import JobKey, Lease
from tenuto.store.pages import page_bounds
from tenuto.store.protocol import (
    EARLIER_MS,
    MOST_READ,
    DeadLetterPlace,
    DeadLetterRow,
    DefinitionRow,
    Delivery,
    EventPlace,
    InboxEvent,
    InstancePage,
    InstanceQuery,
    InstanceRow,
    Mail,
    PastEvents,
    PastPage,
    StoredInstance,
    UsedKey,
    WaitKey,
    WaitRow,
    WaitTerm,
)
from tenuto.store.sqlite.session import Column, Session, as_json

_seq = attrgetter("seq")
_ENDLESS = 2**62
"""Below this is everything."""


class OwnerRow(NamedTuple):
    """Who works for an instance; the epoch rises when it is taken over."""

    instance_id: str
    process_id: str
    epoch: int


def load(
    session: Session, instance_ids: Sequence[str], left_clean: AbstractSet[OwnerRow]
) -> dict[str, StoredInstance]:
    """Rows, folds and tails of one moment; `left_clean`: rows of owners that took over so."""
    ids = (as_json(list(dict.fromkeys(instance_ids))),)
    rows = {row.id: row for row in _instances(session, ids)}
    folds = {id: (version, state) for id, version, state in session.rows("snapshots", ids)}
    owners = {owner.instance_id: owner for owner in owners_of(session, ids)}
    jobs = jobs_of(session, ids)
    tails: dict[str, list[LogRow]] = {id: [] for id in rows}
    for instance_id, entry in _entries(session.packed("tails", ids)):
        if instance_id in tails:
            tails[instance_id].append(entry)
    return {
        id: StoredInstance(
            row=row,
            state=folds[id][1] if id in folds else None,
            state_version=folds[id][0] if id in folds else 0,
            state_bytes=len(folds[id][1]) if id in folds else 0,
            tail=tuple(sorted(tails[id], key=_seq)),
            owner=owners[id].process_id if id in owners else None,
            was_left_clean=id in owners and owners[id] in left_clean,
            jobs=tuple(job for job in jobs if job.key.instance_id == id) if jobs else (),
        )
        for id, row in rows.items()
    }


def owners_of(session: Session, ids: tuple[str]) -> list[OwnerRow]:
    return [OwnerRow(*row) for row in session.packed("owner_rows", ids)]


def jobs_of(session: Session, ids: tuple[str]) -> list[Lease]:
    found = session.packed("jobs_of", ids)
    return sorted(Lease(JobKey(*key), token) for *key, token in found)


def entries(session: Session, instance_id: str, after: int, limit: int) -> list[LogRow]:
    parameters: dict[str, Column] = {"instance_id": instance_id, "after": after, "limit": limit}
    return [entry for _, entry in _entries(session.packed("entries", parameters))]


def entries_at(session: Session, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
    parameters: dict[str, Column] = {"instance_id": instance_id, "seqs": as_json(list(seqs))}
    return [entry for _, entry in _entries(session.packed("entries_at", parameters))]


def newest_seqs(session: Session, instance_ids: Collection[str]) -> dict[str, int]:
    found = session.packed("newest_seqs", (as_json(list(dict.fromkeys(instance_ids))),))
    return {id: seq for id, seq in found if seq is not None}


def instances(session: Session, query: InstanceQuery) -> InstancePage:
    """Positions from an index first, then the rows of one page."""
    positions = _positions(session, query)
    shown = positions[: query.limit]
    rows = {row.id: row for row in _instances(session, (as_json([place.id for place in shown]),))}
    has_more = len(positions) > query.limit and bool(shown)
    next_after = write_cursor(shown[-1]) if has_more else None
    return InstancePage([rows[place.id] for place in shown], next_after)


def wait_terms(session: Session, tenant: str, pattern: str) -> list[WaitTerm]:
    found = session.packed("wait_terms", {"tenant": tenant, "pattern": pattern})
    return [WaitTerm(*term) for term in found]


def waits_for(
    session: Session, tenant: str, terms: Sequence[WaitTerm], limit: int, after: WaitKey | None
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


def waits_near(
    session: Session, tenant: str, terms: Sequence[WaitTerm], limit: int
) -> list[WaitRow]:
    near: list[WaitRow] = []
    for pattern, term_paths in dict.fromkeys(term[:2] for term in terms):
        term: dict[str, Column] = {"pattern": pattern, "term_paths": term_paths}
        found = session.packed("waits_near_term", term | {"tenant": tenant, "limit": limit})
        near += [wait_row(wait) for wait in _waits(found)]
    return near


def waits(session: Session, instance_id: str) -> list[WaitRow]:
    found = session.packed("waits_of_instance", (instance_id,))
    return [wait_row(wait) for wait in _waits(found)]


def unlooked_waits(session: Session, limit: int) -> list[WaitRow]:
    return [wait_row(wait) for wait in _waits(session.packed("unlooked_waits", (limit,)))]


def past_events(session: Session, asked: PastEvents, after: int, limit: int) -> PastPage:
    page: dict[str, Column] = {
        "tenant": asked.tenant,
        "instance_id": asked.instance_id,
        "since": epoch_ms(asked.since),
        "received_from": epoch_ms(asked.received_from),
        "long_before": epoch_ms(asked.received_from) - EARLIER_MS,
        "after": after,
        "limit": limit,
        "terms": as_json([(_path(term.path), *term[1:]) for term in asked.terms]),
    }
    name = "past_events"
    if asked.pattern is not None:
        name, page["pattern"] = "past_events_of_pattern", asked.pattern
    last, count, items = session.packed(name, page)
    return PastPage(_events(items), last or after, count < limit)


def _path(names: str) -> str:
    """Names joined by dots as SQLite spells a path."""
    return "$" + "".join(f'."{name}"' for name in names.split("."))


def first_past(session: Session, asked: Sequence[PastEvents]) -> list[int | None]:
    questions = [
        (each.tenant, each.pattern, each.instance_id, epoch_ms(each.since)) for each in asked
    ]
    return session.packed("first_past", (as_json(questions),))


def past_texts(  # noqa: PLR0917 - what the statement asks for
    session: Session, tenant: str, pattern: str, path: str, first: int, limit: int
) -> list[tuple[int, str | None]]:
    page: dict[str, Column] = {
        "tenant": tenant,
        "pattern": pattern,
        "path": _path(path),
        "first": first,
        "limit": limit,
        "most": MOST_READ,
    }
    return [(number, text) for number, text in session.packed("past_texts", page)]


def newest_definitions(
    session: Session, tenant: str, after: str, limit: int
) -> list[DefinitionRow]:
    page: dict[str, Column] = {"tenant": tenant, "after": after, "limit": limit}
    found = session.rows("newest_definitions", page)
    return [definition_row(DefinitionColumns(*row)) for row in found]


def latest_events(
    session: Session,
    tenant: str,
    pattern: str | None,
    since: datetime,
    *,
    limit: int,
    below: EventPlace | None,
) -> list[tuple[int, Event]]:
    page: dict[str, Column] = {
        "tenant": tenant,
        "since": epoch_ms(since),
        "limit": limit,
        "below_at": _ENDLESS if below is None else epoch_ms(below.received_at),
        "below": _ENDLESS if below is None else below.number,
    }
    if pattern is None:
        return _events(session.packed("latest_events", page))
    return _events(session.packed("latest_events_of_pattern", page | {"pattern": pattern}))


def event(session: Session, tenant: str, id: str) -> InboxEvent | None:
    for row in session.packed("event", (tenant, id)):
        [(number, found)] = _events([row[:10]])
        is_matched, *counts = row[10:]
        return InboxEvent(number, found, bool(is_matched), *counts)
    return None


def unmatched_events(session: Session, limit: int) -> list[tuple[int, Event]]:
    return _events(session.packed("unmatched_events", (limit,)))


def mail(session: Session, process_id: str, limit: int) -> list[Mail]:
    parameters: dict[str, Column] = {"process_id": process_id, "limit": limit}
    return [
        mail_row(MailColumns(id, instance_id, bytes.fromhex(input), created_at))
        for id, instance_id, input, created_at in session.packed("mail", parameters)
    ]


def used_key(session: Session, tenant: str, key: str) -> UsedKey | None:
    found = session.packed("used_keys", (as_json([(tenant, key)]),))
    return UsedKey(found[0][2], bytes.fromhex(found[0][3])) if found else None


def dead_letters(
    session: Session, tenant: str, limit: int, below: DeadLetterPlace | None
) -> list[DeadLetterRow]:
    found = session.packed("dead_letters", (tenant, *dead_letter_bound(below), limit))
    return list(map(_dead_letter, found))


def dead_letter(session: Session, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
    found = session.packed("dead_letter", (instance_id, id, tenant))
    return _dead_letter(found[0]) if found else None


def _dead_letter(row: list[Any]) -> DeadLetterRow:
    return dead_letter_row(
        DeadLetterColumns._make([*row[:8], *map(_bytes, row[8:11]), row[11]]),
    )


def deliveries(session: Session, instance_id: str) -> list[Delivery]:
    found = session.packed("deliveries_of_instance", (instance_id,))
    return [Delivery(*delivery) for delivery in found]


def deliveries_of(session: Session, tenant: str, event_id: str) -> list[Delivery]:
    found = session.packed("deliveries_of_event", (event_id, tenant))
    return [Delivery(*delivery) for delivery in found]


def _instances(session: Session, ids: tuple[str]) -> list[InstanceRow]:
    return [
        instance_row(InstanceColumns._make([*row[:16], *map(_bytes, row[16:])]))
        for row in session.packed("instances_by_id", ids)
    ]


def _positions(session: Session, query: InstanceQuery) -> list[Position]:
    """One more than a page, so that it is known whether there is another."""
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
    }
    if query.ids:
        filters |= {"ids": as_json(query.ids), "terms": as_json(query.terms)}
        return "positions_by_id", filters | {"step_id": query.current_step}
    if query.terms:
        lead, *others = _rarest_first(session, query)
        filters |= {"name": lead.name, "value_text": lead.value, "terms": as_json(others)}
        return "positions_by_value", filters | {"step_id": query.current_step}
    if query.current_step is not None:
        return "positions_by_step", filters | {"step_id": query.current_step}
    if query.correlation_id is not None:
        return "positions_by_correlation", filters
    return None, filters


def _rarest_first(session: Session, query: InstanceQuery) -> list[SearchTerm]:
    """The term by which the fewest are found, and the others, which are tested on those."""
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
        return session.packed("positions_by_status", page | {"status": status.value})
    filters: dict[str, Column] = {"status": status.value, "definition_id": query.definition_id}
    return session.packed("positions_by_definition", page | filters)


def _entries(rows: Iterable[Sequence[Any]]) -> Iterable[tuple[str, LogRow]]:
    return ((row[0], LogRow._make([*row[1:8], _bytes(row[8]), *row[9:]])) for row in rows)


def _waits(rows: Iterable[Sequence[Any]]) -> list[WaitColumns]:
    return [WaitColumns._make([*row[:8], bytes.fromhex(row[8]), *row[9:]]) for row in rows]


def _events(rows: Iterable[Sequence[Any]]) -> list[tuple[int, Event]]:
    return [
        (
            row[0],
            event_value(
                EventColumns._make(
                    [*row[1:4], bytes.fromhex(row[4]), *row[5:8], bytes.fromhex(row[8]), row[9]]
                )
            ),
        )
        for row in rows
    ]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)
