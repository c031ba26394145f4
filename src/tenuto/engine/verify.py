"""Proves that what is stored follows from the logs: folds each from its beginning and compares.

The store may be in use: an instance is judged only when its log was equally long before and after
everything that belongs to it was read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct

from tenuto.core import InstanceState, Plan, blank, fold_all
from tenuto.core.ending import output_of
from tenuto.core.snapshot import decode, encode, references
from tenuto.core.view import current_steps
from tenuto.engine.plans import Plans
from tenuto.model.entries import Entry
from tenuto.model.errors import NotFound
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.json import JSON, Object
from tenuto.model.log import UnknownEntry, from_row
from tenuto.model.status import Status
from tenuto.store.protocol import InstanceQuery, InstanceRow, Store, StoredInstance

_PAGE: Final = 200
_ROWS: Final = 1_000
_TRIES: Final = 5
_LONGEST: Final = 400

Timers = dict[TimerKey, datetime]


class Difference(Struct, frozen=True, kw_only=True):
    """Something that is stored and does not follow from the log."""

    instance_id: str
    what: str
    stored: str
    folded: str


class Verdict(Struct, frozen=True, kw_only=True):
    """What came of one instance; without differences it is proven."""

    instance_id: str
    entries: int
    differences: tuple[Difference, ...] = ()


async def verify(store: Store, plans: Plans) -> AsyncIterator[Verdict]:
    """Judge every instance, newest first, one at a time: memory does not grow with the store."""
    query: InstanceQuery | None = InstanceQuery(limit=_PAGE)
    while query is not None:
        page = await store.instances(query)
        for row in page.items:
            yield await _judged(store, plans, row.id)
        after = page.next_after
        query = InstanceQuery(limit=_PAGE, after=after) if after is not None else None


async def _judged(store: Store, plans: Plans, instance_id: str) -> Verdict:
    """A difference counts when it is there at a moment at which the instance stood still."""
    verdict = await _verdict(store, plans, instance_id)
    for _ in range(_TRIES):
        if not verdict.differences:
            break
        before = await _version(store, instance_id)
        verdict = await _verdict(store, plans, instance_id)
        if before == await _version(store, instance_id):
            break
    return verdict


async def _verdict(store: Store, plans: Plans, instance_id: str) -> Verdict:
    stored = (await store.load([instance_id])).get(instance_id)
    if stored is None:
        return Verdict(instance_id=instance_id, entries=0)
    report = _Report(instance_id)
    try:
        deployed = await plans.get(
            stored.row.tenant, stored.row.definition_id, stored.row.definition_version
        )
        plan = deployed.plan
        state, snapshot_state = await _folded(store, plan, stored, report)
    except (NotFound, UnknownEntry) as error:
        report.say("log", "cannot be read", str(error))
        return report.verdict(0)
    report.snapshot(snapshot_state, await _snapshot(store, stored))
    report.row(plan, state, stored.row)
    waits = {(wait.node, wait.iteration) for wait in await store.waits(instance_id)}
    report.waits(state, waits)
    report.timers(state, {row.key: row.due for row in await store.timers([instance_id])})
    return report.verdict(state.version)


async def _folded(
    store: Store, plan: Plan, stored: StoredInstance, report: _Report
) -> tuple[InstanceState, InstanceState | None]:
    """The fold of the whole log, and of as much of it as the snapshot covers."""
    state = blank(stored.row.id)
    at_snapshot: InstanceState | None = None
    newest = stored.tail[-1].seq if stored.tail else stored.state_version
    while state.version < newest:
        # A page ends where the snapshot does.
        until = stored.state_version if state.version < stored.state_version else newest
        limit = min(_ROWS, until - state.version)
        rows = await store.entries(stored.row.id, after=state.version, limit=limit)
        if not rows:
            report.say("log", f"ends at {state.version}", f"{newest} entries")
            break
        numbered = enumerate(rows, state.version + 1)
        hole = next(((row.seq, seq) for seq, row in numbered if row.seq != seq), None)
        if hole is not None:
            report.say("log", f"seq {hole[0]}", f"seq {hole[1]}")
            break
        state = fold_all(plan, state, map(from_row, rows))
        if state.version == stored.state_version:
            at_snapshot = state
    return state, at_snapshot


async def _snapshot(store: Store, stored: StoredInstance) -> InstanceState | None:
    if stored.state is None:
        return None
    seqs = references(stored.state)
    rows = await store.entries_at(stored.row.id, seqs) if seqs else []
    entries: dict[int, Entry] = {row.seq: from_row(row) for row in rows}
    return decode(stored.state, entries)


async def _version(store: Store, instance_id: str) -> int:
    stored = (await store.load([instance_id])).get(instance_id)
    if stored is None:
        return 0
    return stored.tail[-1].seq if stored.tail else stored.state_version


class _Report:
    """Gathers the differences of one instance."""

    def __init__(self, instance_id: str) -> None:
        self._instance_id = instance_id
        self._found: list[Difference] = []

    def say(self, what: str, stored: object, folded: object) -> None:
        self._found.append(
            Difference(
                instance_id=self._instance_id,
                what=what,
                stored=_short(stored),
                folded=_short(folded),
            )
        )

    def verdict(self, entries: int) -> Verdict:
        return Verdict(
            instance_id=self._instance_id, entries=entries, differences=tuple(self._found)
        )

    def snapshot(self, folded: InstanceState | None, stored: InstanceState | None) -> None:
        if stored is None:
            return
        if folded is None:
            self.say("snapshot", f"version {stored.version}", "the log is shorter")
        else:
            ours, theirs = _fields(folded), _fields(stored)
            for name in sorted(ours.keys() | theirs.keys()):
                if ours.get(name) != theirs.get(name):
                    self.say(f"snapshot.{name}", theirs.get(name), ours.get(name))

    def row(self, plan: Plan, state: InstanceState, row: InstanceRow) -> None:
        for what, stored, folded in _row_values(plan, state, row):
            if stored != folded:
                self.say(what, stored, folded)

    def waits(self, state: InstanceState, stored: set[tuple[str, str]]) -> None:
        folded = {
            (key.node, key.iteration)
            for key in state.open
            if state.nodes[key].is_wait and not state.status.is_final
        }
        if stored != folded:
            self.say("waits", sorted(stored), sorted(folded))

    def timers(self, state: InstanceState, stored: Timers) -> None:
        folded = {
            key: timer.due
            for key, timer in state.timers.items()
            if not timer.is_near and not state.status.is_final
        }
        for key in sorted(stored.keys() | folded.keys()):
            if key.kind is TimerKind.RETRY and state.pause is not None and key not in stored:
                continue  # it came due while paused; resuming finds it in the log
            if stored.get(key) != folded.get(key):
                self.say(f"timer {key.kind} {key.node}", stored.get(key), folded.get(key))


def _row_values(
    plan: Plan, state: InstanceState, row: InstanceRow
) -> Iterator[tuple[str, object, object]]:
    yield "status", row.status.value, state.status.value
    yield "definition", row.definition_id, state.definition_id
    yield "definitionVersion", row.definition_version, state.definition_version
    yield "correlationId", row.correlation_id, state.correlation_id
    parent = state.parent
    yield "parentId", row.parent_id, parent.id if parent else None
    yield "rootId", row.root_id, parent.root_id if parent else None
    yield "createdAt", row.created_at, state.created_at
    yield "startedAt", row.started_at, state.started_at
    if state.needs_owner:
        return  # lists may lag a second behind what runs
    yield "completedAt", row.completed_at, state.completed_at
    yield "updatedAt", row.updated_at, state.updated_at
    steps = () if state.status.is_final else tuple(current_steps(state))
    yield "currentSteps", row.current_steps, steps
    output = output_of(plan, state) if state.status is Status.COMPLETED else None
    yield "output", _decoded(row.output), output
    yield "lastError", _decoded(row.last_error), _plain(state.last_error)
    yield "cancellation", _decoded(row.cancellation), _plain(state.cancellation)


def _fields(state: InstanceState) -> Object:
    fields: Object = msgspec.json.decode(encode(state))
    return fields


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _decoded(value: bytes | None) -> JSON:
    decoded: JSON = msgspec.json.decode(value) if value is not None else None
    return decoded


def _plain(value: object) -> JSON:
    """As it would come back from the store."""
    return _decoded(msgspec.json.encode(value)) if value is not None else None
