"""Ready-made writes, so that a test names only what it is about."""

# ruff: noqa: ANN401 - what a test names is handed on as it is

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from tenuto.model.events import Event
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.log import LogRow
from tenuto.model.search_terms import SearchTerm
from tenuto.model.status import Status
from tenuto.store.parts.dead_letters import DeadLetterRow
from tenuto.store.parts.inbox import PastEvents
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.timers import TimerRow
from tenuto.store.parts.turns import InstanceUpdate, InstanceWrite, NewInstance, Searchable, Turn
from tenuto.store.parts.waits import WaitRow
from tenuto.store.protocol import Store

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
ME = "process-1"


def moment(milliseconds: int) -> datetime:
    return NOON + timedelta(milliseconds=milliseconds)


async def inbox(
    store: Store,
    pattern: str | None = None,
    since: datetime = NOON,
    *,
    tenant: str = "default",
    limit: int = 100,
) -> list[tuple[int, Event]]:
    """The events of the inbox, as one reads them who is no instance; pairs (number, event)."""
    asked = PastEvents(tenant=tenant, pattern=pattern, since=since)
    found: list[tuple[int, Event]] = []
    after, is_last = 0, False
    while not is_last:
        page = await store.inbox.past(asked, after=after, limit=limit)
        found += page.items
        after, is_last = page.after, page.is_last
    return found


def entry(seq: int, event_type: str = "SYSTEM_SET", **columns: Any) -> LogRow:
    row = LogRow(seq, event_type, None, "", 1, None, None, b'{"n":%d}' % seq, None, 1_700_000)
    return row._replace(**columns)


def node_entry(seq: int, event_type: str, node: str = "a", **columns: Any) -> LogRow:
    return entry(seq, event_type, node_id=node, **columns)


def new_instance(**fields: Any) -> NewInstance:
    standard = NewInstance(
        definition_id="order",
        definition_version=1,
        status=Status.RUNNING,
        correlation_id=None,
        priority=0,
        deadline=None,
        created_at=NOON,
        started_at=NOON,
        current_steps=("a",),
    )
    return msgspec.structs.replace(standard, **fields)


def begin(instance_id: str, *rows: LogRow, **fields: Any) -> InstanceWrite:
    return InstanceWrite(
        instance_id=instance_id,
        version=0,
        rows=rows or (entry(1, "INPUT_SET"),),
        create=new_instance(**fields),
    )


def found_by(
    tenant: str = "default", definition_id: str = "order", at: datetime = NOON, **values: str
) -> Searchable:
    terms = tuple(SearchTerm(name, value) for name, value in values.items())
    return Searchable(tenant=tenant, definition_id=definition_id, created_at=at, terms=terms)


def step(instance_id: str, version: int, *rows: LogRow, **parts: Any) -> InstanceWrite:
    return InstanceWrite(
        instance_id=instance_id, version=version, rows=rows or (entry(version + 1),), **parts
    )


def aside(instance_id: str, *, version: int = 9_999, **parts: Any) -> InstanceWrite:
    """A write without entries, by somebody who has seen the whole log."""
    return InstanceWrite(instance_id=instance_id, version=version, **parts)


def turn(id: str, *writes: InstanceWrite, process_id: str = ME, **parts: Any) -> Turn:
    ordered = tuple(sorted(writes, key=lambda write: write.instance_id))
    return Turn(id=id, process_id=process_id, at=NOON, writes=ordered, **parts)


def update(**fields: Any) -> InstanceUpdate:
    standard = InstanceUpdate(
        status=Status.COMPLETED,
        updated_at=moment(5),
        started_at=NOON,
        completed_at=moment(5),
        current_steps=(),
    )
    return msgspec.structs.replace(standard, **fields)


def timer(instance_id: str, due_ms: int, node: str = "a", **key: Any) -> TimerRow:
    kind = key.pop("kind", TimerKind.DELAY)
    return TimerRow(instance_id=instance_id, key=TimerKey(kind, node, **key), due=moment(due_ms))


def wait(instance_id: str, node: str = "w", **fields: Any) -> WaitRow:
    standard = WaitRow(
        instance_id=instance_id,
        node=node,
        iteration="",
        attempt=1,
        pattern="order.paid",
        is_wildcard=False,
        condition=None,
        captures=b"[]",
        term_paths="",
        term_values="",
        since=NOON,
        opened_at=NOON,
        correlation_id=None,
    )
    return msgspec.structs.replace(standard, **fields)


def event(id: str, **fields: Any) -> Event:
    standard = Event(id=id, pattern="order.paid", payload={"id": id}, received_at=NOON)
    return msgspec.structs.replace(standard, **fields)


def mail(id: str, instance_id: str, **fields: Any) -> Mail:
    standard = Mail(id=id, instance_id=instance_id, input=b'{"type":"x"}', created_at=NOON)
    return msgspec.structs.replace(standard, **fields)


def dead_letter(id: str, instance_id: str, **fields: Any) -> DeadLetterRow:
    standard = DeadLetterRow(
        id=id,
        instance_id=instance_id,
        kind="TASK",
        node="a",
        iteration="",
        attempt=3,
        task_id="charge",
        input=b"{}",
        error=b'{"code":"X"}',
        output=None,
        at=NOON,
    )
    return msgspec.structs.replace(standard, **fields)
