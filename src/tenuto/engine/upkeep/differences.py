"""Compares stored data with the fold of a log, and collects the differences."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct

from tenuto.core import InstanceState, Plan
from tenuto.core.cancel_trigger import listens
from tenuto.core.ending import output_of
from tenuto.core.snapshot import encode
from tenuto.core.view import current_steps
from tenuto.model.failure import Cancellation, LastError
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.store.parts.instances import InstanceRow

_LONGEST: Final = 400
_MOST_KEPT: Final = 100
"""The most differences of one instance that are kept; the others are counted."""

Timers = dict[TimerKey, datetime]


class Difference(Struct, frozen=True, kw_only=True):
    """A stored value that does not follow from the log."""

    instance_id: str
    what: str
    stored: str
    folded: str


class Verdict(Struct, frozen=True, kw_only=True):
    """The verdict on one instance; without differences it is verified."""

    instance_id: str
    entries: int
    differences: tuple[Difference, ...] = ()
    found: int = 0
    """How many differences there are; the first of them are kept."""


class Report:
    """Gathers the differences of one instance."""

    def __init__(self, instance_id: str) -> None:
        self._instance_id = instance_id
        self._found: list[Difference] = []
        self._count = 0

    def say(self, what: str, stored: object, folded: object) -> None:
        self._count += 1
        if len(self._found) == _MOST_KEPT:
            return
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
            instance_id=self._instance_id,
            entries=entries,
            differences=tuple(self._found),
            found=self._count,
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

    def waits(self, plan: Plan, state: InstanceState, stored: set[tuple[str, str]]) -> None:
        folded = {
            (key.node, key.iteration)
            for key in state.open_nodes()
            if state.nodes[key].listens and not state.status.is_final
        }
        if listens(plan, state):
            folded.add(("", ""))
        if stored != folded:
            self.say("waits", sorted(stored), sorted(folded))

    def timers(self, state: InstanceState, stored: Timers) -> None:
        folded = {
            key: timer.due
            for key, timer in state.timers.items()
            if not timer.is_near and not state.has_ended
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
    yield "lastError", _read(row.last_error, LastError), _plain(state.last_error)
    yield "cancellation", _read(row.cancellation, Cancellation), _plain(state.cancellation)


def _fields(state: InstanceState) -> Object:
    fields: Object = msgspec.json.decode(encode(state))
    return fields


def _read(stored: bytes | None, kind: type[Struct]) -> JSON:
    """A stored value, whichever program wrote it: moments and defaults were spelled otherwise."""
    return _plain(None if stored is None else msgspec.json.decode(stored, type=kind))


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _decoded(value: bytes | None) -> JSON:
    decoded: JSON = msgspec.json.decode(value) if value is not None else None
    return decoded


def _plain(value: object) -> JSON:
    """As it would come back from the store."""
    return _decoded(msgspec.json.encode(value)) if value is not None else None
