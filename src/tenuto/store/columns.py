"""Protocol values as columns and back, the same for every store.

Columns are text, whole numbers, bytes and None: immutable values that any database can store.
Moments are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.events import Event
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.status import Status
from tenuto.store.errors import Superseded
from tenuto.store.parts.dead_letters import DeadLetterPlace, DeadLetterRow, LetterQuery
from tenuto.store.parts.definitions import DefinitionRow
from tenuto.store.parts.inbox import EARLIER_MS, EventPlace, PastEvents, SealedEvent
from tenuto.store.parts.instances import ANY_DEFINITION, InstanceRow
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.timers import TimerRow
from tenuto.store.parts.turns import InstanceUpdate, NewInstance, Searchable
from tenuto.store.parts.upkeep import Depths
from tenuto.store.parts.waits import WaitKey, WaitRow

_encode = msgspec.json.Encoder(decimal_format="number").encode
_encode_sorted = msgspec.json.Encoder(decimal_format="number", order="deterministic").encode
_decode = msgspec.json.Decoder().decode
_decode_names = msgspec.json.Decoder(tuple[str, ...]).decode

_ENDLESS = 2**62
"""Above the number and the moment of every event."""


class InstanceColumns(NamedTuple):
    """A row of workflow_instances."""

    id: str
    tenant: str
    definition_id: str
    definition_version: int
    status: str
    correlation_id: str | None
    priority: int
    deadline: int | None
    created_at: int
    updated_at: int
    started_at: int | None
    completed_at: int | None
    current_steps: str
    parent_id: str | None
    root_id: str | None
    rerun_of: str | None
    origin_id: str | None
    output: bytes | None
    last_error: bytes | None
    cancellation: bytes | None


class UpdateColumns(NamedTuple):
    """The columns of workflow_instances that an update changes."""

    id: str
    status: str
    updated_at: int
    started_at: int | None
    completed_at: int | None
    current_steps: str
    output: bytes | None
    last_error: bytes | None
    cancellation: bytes | None


class SearchableColumns(NamedTuple):
    """A row of workflow_searchable_values."""

    instance_id: str
    name: str
    tenant: str
    definition_id: str
    value_text: str
    created_at: int


class WaitColumns(NamedTuple):
    """A row of workflow_event_subscriptions."""

    instance_id: str
    node: str
    iteration: str
    attempt: int
    tenant: str
    pattern: str
    is_wildcard: int
    condition: str | None
    captures: bytes
    term_paths: str
    term_values: str
    since: int
    opened_at: int
    correlation_id: str | None
    looked_back: int
    follows: int
    arm: str
    position: int

    @property
    def key(self) -> WaitKey:
        """The key, and the order of results."""
        return WaitKey(self.instance_id, self.node, self.iteration, self.arm)


class EventColumns(NamedTuple):
    """A row of events, without the columns that the store adds."""

    tenant: str
    id: str
    pattern: str
    payload: bytes
    received_at: int
    timestamp: int | None
    correlation_id: str | None
    content_hash: bytes
    chain: int
    origin: str | None


class TimerColumns(NamedTuple):
    """A row of timers."""

    instance_id: str
    kind: str
    node: str
    iteration: str
    due: int


class MailColumns(NamedTuple):
    """A row of mailbox."""

    id: str
    instance_id: str
    input: bytes
    created_at: int


class DeadLetterColumns(NamedTuple):
    """A row of dead_letters."""

    instance_id: str
    id: str
    tenant: str
    kind: str
    node: str
    iteration: str
    attempt: int
    task_id: str | None
    input: bytes | None
    error: bytes | None
    output: bytes | None
    at: int


class DefinitionColumns(NamedTuple):
    """A row of workflow_definitions."""

    tenant: str
    id: str
    version: int
    content: bytes
    content_hash: bytes
    created_at: int


def to_ms(moment: datetime | None) -> int | None:
    return None if moment is None else epoch_ms(moment)


def from_ms(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else from_epoch_ms(milliseconds)


def instance_columns(id: str, new: NewInstance, update: InstanceUpdate | None) -> InstanceColumns:
    """The row of a new instance after its first turn."""
    columns = InstanceColumns(
        id,
        new.tenant,
        new.definition_id,
        new.definition_version,
        new.status.value,
        new.correlation_id,
        new.priority,
        to_ms(new.deadline),
        epoch_ms(new.created_at),
        epoch_ms(new.created_at),
        to_ms(new.started_at),
        None,
        _encode(new.current_steps).decode(),
        new.parent_id,
        new.root_id,
        new.rerun_of,
        new.origin_id,
        None,
        None,
        None,
    )
    return columns if update is None else updated(columns, update_columns(id, update))


def update_columns(id: str, update: InstanceUpdate) -> UpdateColumns:
    return UpdateColumns(
        id,
        update.status.value,
        epoch_ms(update.updated_at),
        to_ms(update.started_at),
        to_ms(update.completed_at),
        _encode(update.current_steps).decode(),
        update.output,
        update.last_error,
        update.cancellation,
    )


def move_columns(update: UpdateColumns) -> tuple[str | int | bytes | None, ...]:
    """The columns of an update that keeps the status."""
    return (*update[:1], *update[2:4], *update[5:])


def updated(columns: InstanceColumns, update: UpdateColumns) -> InstanceColumns:
    return columns._replace(
        status=update.status,
        updated_at=update.updated_at,
        started_at=update.started_at,
        completed_at=update.completed_at,
        current_steps=update.current_steps,
        output=update.output,
        last_error=update.last_error,
        cancellation=update.cancellation,
    )


def instance_row(columns: InstanceColumns) -> InstanceRow:
    return InstanceRow(
        id=columns.id,
        tenant=columns.tenant,
        definition_id=columns.definition_id,
        definition_version=columns.definition_version,
        status=Status(columns.status),
        correlation_id=columns.correlation_id,
        priority=columns.priority,
        deadline=from_ms(columns.deadline),
        created_at=from_epoch_ms(columns.created_at),
        updated_at=from_epoch_ms(columns.updated_at),
        started_at=from_ms(columns.started_at),
        completed_at=from_ms(columns.completed_at),
        current_steps=_decode_names(columns.current_steps),
        parent_id=columns.parent_id,
        root_id=columns.root_id,
        rerun_of=columns.rerun_of,
        output=columns.output,
        last_error=columns.last_error,
        cancellation=columns.cancellation,
    )


def searchable_columns(id: str, searchable: Searchable) -> list[SearchableColumns]:
    """A row for each value that an instance is found by."""
    created_at = epoch_ms(searchable.created_at)
    return [
        SearchableColumns(id, term.name, searchable.tenant, definition_id, term.value, created_at)
        for definition_id, terms in (
            (searchable.definition_id, searchable.terms),
            (ANY_DEFINITION, searchable.marks),
        )
        for term in terms
    ]


def wait_columns(wait: WaitRow, follows: int) -> WaitColumns:
    return WaitColumns(
        wait.instance_id,
        wait.node,
        wait.iteration,
        wait.attempt,
        wait.tenant,
        wait.pattern,
        int(wait.is_wildcard),
        wait.condition,
        wait.captures,
        wait.term_paths,
        wait.term_values,
        epoch_ms(wait.since),
        epoch_ms(wait.opened_at),
        wait.correlation_id,
        int(wait.looked_back),
        follows,
        wait.arm,
        wait.position,
    )


def wait_row(columns: WaitColumns) -> WaitRow:
    return WaitRow(
        instance_id=columns.instance_id,
        node=columns.node,
        iteration=columns.iteration,
        attempt=columns.attempt,
        tenant=columns.tenant,
        pattern=columns.pattern,
        is_wildcard=bool(columns.is_wildcard),
        condition=columns.condition,
        captures=columns.captures,
        term_paths=columns.term_paths,
        term_values=columns.term_values,
        since=from_epoch_ms(columns.since),
        opened_at=from_epoch_ms(columns.opened_at),
        correlation_id=columns.correlation_id,
        looked_back=bool(columns.looked_back),
        follows=columns.follows,
        arm=columns.arm,
        position=columns.position,
    )


def event_columns(event: Event) -> EventColumns:
    """The row of an event; two events have equal content when their hashes are equal.

    When it was received is no part of the content: a sender's second try comes later.
    """
    timestamp = to_ms(event.timestamp)
    content = [event.pattern, event.payload, timestamp, event.correlation_id]
    return EventColumns(
        event.tenant,
        event.id,
        event.pattern,
        event.sealed if isinstance(event, SealedEvent) else _encode(event.payload),
        epoch_ms(event.received_at),
        timestamp,
        event.correlation_id,
        blake2b(_encode_sorted(content), digest_size=16).digest(),
        event.chain,
        event.origin,
    )


def event_value(columns: EventColumns) -> Event:
    return Event(
        id=columns.id,
        pattern=columns.pattern,
        payload=_decode(columns.payload),
        received_at=from_epoch_ms(columns.received_at),
        timestamp=from_ms(columns.timestamp),
        correlation_id=columns.correlation_id,
        chain=columns.chain,
        origin=columns.origin,
        tenant=columns.tenant,
    )


def timer_columns(timer: TimerRow) -> TimerColumns:
    return TimerColumns(timer.instance_id, *timer_key_columns(timer.key), epoch_ms(timer.due))


def timer_key_columns(key: TimerKey) -> tuple[str, str, str]:
    """The kind, node and iteration of a timer's row.

    A program that does not know a kind of rows could not go on: later kinds are written as a kind
    that all programs know and that has no rows of its own, with the kind before the node. An older
    program then comes to the log of the instance, which it cannot read, and leaves it to others.
    """
    if key.kind in _LATER_KINDS:
        return TimerKind.GO_ON.value, f"{key.kind.value}:{key.node}", key.iteration
    return key.kind.value, key.node, key.iteration


def timer_row(columns: TimerColumns) -> TimerRow:
    return TimerRow(
        instance_id=columns.instance_id,
        key=_timer_key(columns),
        due=from_epoch_ms(columns.due),
    )


def _timer_key(columns: TimerColumns) -> TimerKey:
    """The key of a row; one of a kind that this program does not know is of the kind `go-on`."""
    kind, node = columns.kind, columns.node
    if kind == TimerKind.GO_ON:
        kind, _, node = node.partition(":")
    if kind in _TIMER_KINDS:
        return TimerKey(TimerKind(kind), node, columns.iteration)
    return TimerKey(TimerKind.GO_ON, f"{kind}:{node}", columns.iteration)


_TIMER_KINDS = frozenset(TimerKind)
_LATER_KINDS = frozenset({TimerKind.SLA_WARNING, TimerKind.SLA_BREACH})
"""A new kind of timers belongs here."""


def mail_columns(mail: Mail) -> MailColumns:
    return MailColumns(mail.id, mail.instance_id, mail.input, epoch_ms(mail.created_at))


def mail_row(columns: MailColumns, tenant: str | None) -> Mail:
    return Mail(
        tenant=tenant or "",
        id=columns.id,
        instance_id=columns.instance_id,
        input=columns.input,
        created_at=from_epoch_ms(columns.created_at),
    )


def dead_letter_columns(letter: DeadLetterRow) -> DeadLetterColumns:
    return DeadLetterColumns(
        letter.instance_id,
        letter.id,
        letter.tenant,
        letter.kind,
        letter.node,
        letter.iteration,
        letter.attempt,
        letter.task_id,
        letter.input,
        letter.error,
        letter.output,
        epoch_ms(letter.at),
    )


def refuse_superseded(newest: DefinitionRow | None, only_after: int | None) -> None:
    """Superseded unless the newest version is the one that was named, if one was."""
    version = 0 if newest is None else newest.version
    if only_after is not None and version != only_after:
        raise Superseded(version)


def dead_letter_bound(below: DeadLetterPlace | None) -> tuple[int, str, str]:
    """The position below which a page of dead letters begins."""
    if below is None:
        return (1 << 63) - 1, "", ""
    return epoch_ms(below.at), below.id, below.instance_id


def letter_page(
    tenant: str,
    limit: int,
    below: DeadLetterPlace | None,
    down_to: DeadLetterPlace | None,
    which: LetterQuery,
) -> dict[str, Any]:
    """Parameters of a page of dead letters."""
    last_at, last_id, last_instance = dead_letter_end(down_to)
    return {
        **letters_below(tenant, below),
        "last_at": last_at,
        "last_id": last_id,
        "last_instance": last_instance,
        "kind": which.kind,
        "task_id": which.task_id,
        "definition_id": which.definition_id,
        "code_start": code_start(which),
        "limit": limit,
    }


def letters_below(tenant: str, below: DeadLetterPlace | None) -> dict[str, Any]:
    """Parameters of a tenant's dead letters below a place."""
    at, id, instance = dead_letter_bound(below)
    return {"tenant": tenant, "below_at": at, "below_id": id, "below_instance": instance}


def dead_letter_end(down_to: DeadLetterPlace | None) -> tuple[int, str, str]:
    """The last place of a list, in the order of its columns; before all if there is none."""
    if down_to is None:
        return -(1 << 62), "", ""
    return epoch_ms(down_to.at), down_to.id, down_to.instance_id


def dead_letter_place(at: int, id: str, instance_id: str) -> DeadLetterPlace:
    """A place, of its columns."""
    return DeadLetterPlace(from_epoch_ms(at), id, instance_id)


def code_start(which: LetterQuery) -> bytes | None:
    """The first bytes of errors with the wanted code."""
    return None if which.code is None else b'{"code":' + msgspec.json.encode(which.code)


def dead_letter_row(columns: DeadLetterColumns) -> DeadLetterRow:
    return DeadLetterRow(
        id=columns.id,
        instance_id=columns.instance_id,
        tenant=columns.tenant,
        kind=columns.kind,
        node=columns.node,
        iteration=columns.iteration,
        attempt=columns.attempt,
        task_id=columns.task_id,
        input=columns.input,
        error=columns.error,
        output=columns.output,
        at=from_epoch_ms(columns.at),
    )


def definition_row(columns: DefinitionColumns) -> DefinitionRow:
    return DefinitionRow(
        tenant=columns.tenant,
        id=columns.id,
        version=columns.version,
        content=columns.content,
        content_hash=columns.content_hash,
        created_at=from_epoch_ms(columns.created_at),
    )


def past_page(asked: PastEvents, after: int, limit: int) -> dict[str, str | int]:
    """Parameters of a page of past events, without the pattern and the terms."""
    return {
        "tenant": asked.tenant,
        "instance_id": asked.instance_id,
        "since": epoch_ms(asked.since),
        "received_from": epoch_ms(asked.received_from),
        "long_before": epoch_ms(asked.received_from) - EARLIER_MS,
        "after": after,
        "limit": limit,
    }


def latest_page(
    tenant: str, since: datetime, below: EventPlace | None, limit: int
) -> dict[str, str | int]:
    """Parameters of a page of the latest events, without the pattern."""
    return {
        "tenant": tenant,
        "since": epoch_ms(since),
        "limit": limit,
        "below_at": _ENDLESS if below is None else epoch_ms(below.received_at),
        "below": _ENDLESS if below is None else below.number,
    }


def depths_of(row: Sequence[Any], *, connections: int = 0, connections_in_use: int = 0) -> Depths:
    """The row of the statement `depths`: seven counts, then the oldest moment of five of them."""
    active, waits, mail, jobs, timers_due, untold, postings = row[:7]
    oldest_mail, oldest_job, oldest_timer, oldest_untold, oldest_posting = map(from_ms, row[7:])
    return Depths(
        active=active,
        waits=waits,
        mail=mail,
        jobs=jobs,
        timers_due=timers_due,
        untold=untold,
        postings=postings,
        oldest_mail=oldest_mail,
        oldest_job=oldest_job,
        oldest_timer=oldest_timer,
        oldest_untold=oldest_untold,
        oldest_posting=oldest_posting,
        connections=connections,
        connections_in_use=connections_in_use,
    )
