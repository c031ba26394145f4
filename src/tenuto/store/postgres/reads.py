"""What is read, from rows to values. Each function is one statement, so that it sees one moment."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.model.status import Status
from tenuto.store.columns import (
    DeadLetterColumns,
    DefinitionColumns,
    EventColumns,
    InstanceColumns,
    WaitColumns,
    dead_letter_bound,
    dead_letter_row,
    definition_row,
    event_value,
    instance_row,
    wait_row,
)
from tenuto.store.cursor import Position, write_cursor
from tenuto.store.job_columns import overrun
from tenuto.store.job_protocol import JobKey, Lease, Overrun
from tenuto.store.pages import page_bounds
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.queries import Column, page_of_instances
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
    PastEvents,
    PastPage,
    StoredInstance,
    UsedKey,
    WaitKey,
    WaitRow,
    WaitTerm,
)

_COLUMNS = len(InstanceColumns._fields)
_JOB_COLUMNS = 4
_ENDLESS = 2**62
"""Below this is everything."""


async def load(
    pool: Pool, process_id: str, instance_ids: Sequence[str], known: Mapping[str, int]
) -> dict[str, StoredInstance]:
    ids = list(dict.fromkeys(instance_ids))
    found = await pool.rows("load", {"ids": ids, "known": [known.get(id, 0) for id in ids]})
    return {row[0]: _stored(row, process_id) for row in found}


def _stored(row: Row, process_id: str) -> StoredInstance:
    owner, is_clean, state, state_version, state_bytes, *tail = row[_COLUMNS:-_JOB_COLUMNS]
    jobs = row[-_JOB_COLUMNS:]
    return StoredInstance(
        row=instance_row(InstanceColumns._make(row[:_COLUMNS])),
        state=state,
        state_version=state_version,
        state_bytes=state_bytes,
        tail=tuple(map(LogRow._make, zip(*tail, strict=True))) if tail[0] else (),
        owner=owner,
        was_left_clean=is_clean and owner == process_id,
        jobs=tuple(
            Lease(JobKey(row[0], *place), token) for *place, token in zip(*jobs, strict=True)
        )
        if jobs[0]
        else (),
    )


async def entries(pool: Pool, instance_id: str, after: int, limit: int) -> list[LogRow]:
    page = {"instance_id": instance_id, "after": after, "limit": limit}
    return [LogRow._make(row) for row in await pool.rows("entries_after", page)]


async def entries_at(pool: Pool, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
    wanted = {"instance_id": instance_id, "seqs": list(seqs)}
    return [LogRow._make(row) for row in await pool.rows("entries_at", wanted)]


async def newest_seqs(pool: Pool, instance_ids: Collection[str]) -> dict[str, int]:
    ids = list(dict.fromkeys(instance_ids))
    found = await pool.rows("newest_seqs", {"ids": ids}) if ids else ()
    return {row[0]: row[1] for row in found}


async def instances(pool: Pool, schema: str, query: InstanceQuery) -> InstancePage:
    terms = list(query.terms)
    lead = None
    if terms and not query.ids:
        lead = terms.pop(await _rarest(pool, query))
    filters: dict[str, Column] = {
        **page_bounds(query),
        "ids": list(dict.fromkeys(query.ids)),
        "statuses": [status.value for status in query.statuses or Status],
        "definition_id": query.definition_id,
        "correlation_id": query.correlation_id,
        "step_id": query.current_step,
        "names": [term.name for term in terms],
        "values": [term.value for term in terms],
        "name": lead and lead.name,
        "value_text": lead and lead.value,
    }
    found = await pool.fetch(page_of_instances(_narrowest(query), schema), filters)
    rows = [instance_row(InstanceColumns._make(row)) for row in found]
    shown = rows[: query.limit]
    if len(rows) <= query.limit or not shown:
        return InstancePage(shown, None)
    last = shown[-1]
    return InstancePage(shown, write_cursor(Position(epoch_ms(last.created_at), last.id)))


async def _rarest(pool: Pool, query: InstanceQuery) -> int:
    """Which term the fewest are found by; the others are tested on those."""
    if len(query.terms) == 1:
        return 0
    asked = {
        "tenant": query.tenant,
        "definition_id": query.definition_id,
        "names": [term.name for term in query.terms],
        "values": [term.value for term in query.terms],
    }
    [(rarest,)] = await pool.rows("rarest_term", asked)
    return int(rarest)


def _narrowest(query: InstanceQuery) -> str:
    if query.ids:
        return "positions_by_id"
    if query.terms:
        return "positions_by_value"
    if query.current_step is not None:
        return "positions_by_step"
    if query.correlation_id is not None:
        return "positions_by_correlation"
    if query.definition_id is not None:
        return "positions_by_definition"
    return "positions_by_status"


async def definition(pool: Pool, tenant: str, id: str, version: int | None) -> DefinitionRow | None:
    name = "newest_definition" if version is None else "definition"
    found = await pool.rows(name, {"tenant": tenant, "id": id, "version": version})
    return definition_row(DefinitionColumns._make(found[0])) if found else None


async def definition_ids(pool: Pool, tenant: str) -> list[str]:
    return [id for (id,) in await pool.rows("definition_ids", {"tenant": tenant})]


async def newest_definitions(
    pool: Pool, tenant: str, after: str, limit: int
) -> list[DefinitionRow]:
    page: dict[str, Column] = {"tenant": tenant, "after": after, "limit": limit}
    found = await pool.rows("newest_definitions", page)
    return [definition_row(DefinitionColumns._make(row)) for row in found]


async def wait_terms(pool: Pool, tenant: str, pattern: str) -> list[WaitTerm]:
    found = await pool.rows("wait_terms", {"tenant": tenant, "pattern": pattern})
    return [WaitTerm(*term) for term in found]


async def waits_for(
    pool: Pool, tenant: str, terms: Sequence[WaitTerm], limit: int, after: WaitKey | None
) -> list[WaitRow]:
    wanted = list(dict.fromkeys(terms))
    if not wanted:
        return []
    start = after or WaitKey("", "", "")
    page: dict[str, Column] = {
        "tenant": tenant,
        "patterns": [term.pattern for term in wanted],
        "term_paths": [term.term_paths for term in wanted],
        "term_values": [term.term_values for term in wanted],
        "after_instance": start.instance_id,
        "after_node": start.node,
        "after_iteration": start.iteration,
        "after_arm": start.arm,
        "limit": limit,
    }
    return _waits(await pool.rows("waits_for", page))


async def waits_near(
    pool: Pool, tenant: str, terms: Sequence[WaitTerm], limit: int
) -> list[WaitRow]:
    wanted = list(dict.fromkeys((term.pattern, term.term_paths) for term in terms))
    if not wanted:
        return []
    near: dict[str, Column] = {
        "tenant": tenant,
        "patterns": [pattern for pattern, _ in wanted],
        "term_paths": [term_paths for _, term_paths in wanted],
        "limit": limit,
    }
    return _waits(await pool.rows("waits_near", near))


async def waits(pool: Pool, instance_id: str) -> list[WaitRow]:
    return _waits(await pool.rows("waits_of_instance", {"instance_id": instance_id}))


async def unlooked_waits(pool: Pool, limit: int) -> list[WaitRow]:
    return _waits(await pool.rows("unlooked_waits", {"limit": limit}))


async def past_events(pool: Pool, asked: PastEvents, after: int, limit: int) -> PastPage:
    page: dict[str, Column] = {
        "tenant": asked.tenant,
        "pattern": asked.pattern,
        "instance_id": asked.instance_id,
        "since": epoch_ms(asked.since),
        "received_from": epoch_ms(asked.received_from),
        "long_before": epoch_ms(asked.received_from) - EARLIER_MS,
        "after": after,
        "limit": limit,
        "paths": [term.path for term in asked.terms],
        "texts": [term.text for term in asked.terms],
        "numbers": [term.number for term in asked.terms],
    }
    name = "past_events" if asked.pattern is None else "past_events_of_pattern"
    rows = await pool.rows(name, page)
    [(last, count)] = [(row[0], row[5]) for row in rows if row[2] is None]
    items = _events([row for row in rows if row[2] is not None])
    return PastPage(items, last or after, count < limit)


async def first_past(pool: Pool, asked: Sequence[PastEvents]) -> list[int | None]:
    questions: dict[str, Column] = {
        "tenant": [each.tenant for each in asked],
        "pattern": [each.pattern for each in asked],
        "instance_id": [each.instance_id for each in asked],
        "since": [epoch_ms(each.since) for each in asked],
    }
    return [number for (number,) in await pool.rows("first_past", questions)]


async def past_texts(  # noqa: PLR0917 - what the statement asks for
    pool: Pool, tenant: str, pattern: str, path: str, first: int, limit: int
) -> list[tuple[int, str | None]]:
    page: dict[str, Column] = {
        "tenant": tenant,
        "pattern": pattern,
        "path": path,
        "first": first,
        "limit": limit,
        "most": MOST_READ,
    }
    return [(number, text) for number, text in await pool.rows("past_texts", page)]


async def latest_events(
    pool: Pool,
    tenant: str,
    pattern: str | None,
    since: datetime,
    *,
    limit: int,
    below: EventPlace | None,
) -> list[tuple[int, Event]]:
    page: dict[str, Column] = {
        "tenant": tenant,
        "pattern": pattern,
        "since": epoch_ms(since),
        "limit": limit,
        "below_at": _ENDLESS if below is None else epoch_ms(below.received_at),
        "below": _ENDLESS if below is None else below.number,
    }
    name = "latest_events" if pattern is None else "latest_events_of_pattern"
    return _events(await pool.rows(name, page))


async def event(pool: Pool, tenant: str, id: str) -> InboxEvent | None:
    for row in await pool.rows("event", {"tenant": tenant, "id": id}):
        number, *columns = row[:10]
        matched_at, *counts = row[10:]
        found = event_value(EventColumns._make(columns))
        return InboxEvent(number, found, matched_at is not None, *counts)
    return None


async def unmatched_events(pool: Pool, limit: int) -> list[tuple[int, Event]]:
    return _events(await pool.rows("unmatched_events", {"limit": limit}))


async def dead_letters(
    pool: Pool, tenant: str, limit: int, below: DeadLetterPlace | None
) -> list[DeadLetterRow]:
    names = ("below_at", "below_id", "below_instance")
    bound = dict(zip(names, dead_letter_bound(below), strict=True))
    found = await pool.rows("dead_letters", {"tenant": tenant, "limit": limit, **bound})
    return [dead_letter_row(DeadLetterColumns._make(row)) for row in found]


async def used_key(pool: Pool, tenant: str, key: str) -> UsedKey | None:
    found = await pool.rows("used_keys", {"tenant": [tenant], "key": [key]})
    return UsedKey(*found[0][2:]) if found else None


async def dead_letter(pool: Pool, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
    found = await pool.rows("dead_letter", {"tenant": tenant, "instance_id": instance_id, "id": id})
    return dead_letter_row(DeadLetterColumns._make(found[0])) if found else None


async def deliveries(pool: Pool, instance_id: str) -> list[Delivery]:
    found = await pool.rows("deliveries_of_instance", {"instance_id": instance_id})
    return [Delivery(*row) for row in found]


async def deliveries_of(pool: Pool, tenant: str, event_id: str) -> list[Delivery]:
    found = await pool.rows("deliveries_of_event", {"tenant": tenant, "event_id": event_id})
    return [Delivery(*row) for row in found]


def _waits(rows: Sequence[Row]) -> list[WaitRow]:
    return [wait_row(WaitColumns._make(row)) for row in rows]


def _events(rows: Sequence[Row]) -> list[tuple[int, Event]]:
    return [(row[0], event_value(EventColumns._make(row[1:]))) for row in rows]


def overrun_of(row: Row) -> Overrun | None:
    """What the lease ended by that a row of `claim_jobs` shows as lapsed, if it is a worker's."""
    until, is_outside, overdue_at, timeout, silence, lease, details = row[6:]
    if not is_outside:
        return None
    return overrun(
        until=until,
        overdue_at=overdue_at,
        timeout=timeout,
        silence=silence,
        lease=lease,
        details=details,
    )
