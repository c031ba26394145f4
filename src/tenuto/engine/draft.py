"""One instance's share of a turn: decisions made one after the other, gathered into one write."""

from __future__ import annotations

from typing import assert_never

import msgspec

from tenuto.core import Decision, InstanceState
from tenuto.core.ending import output_of
from tenuto.core.snapshot import encode as encode_snapshot
from tenuto.core.view import current_steps
from tenuto.engine.held import Held
from tenuto.engine.requests import Request
from tenuto.model.effects import (
    ClearTimer,
    CloseWait,
    Effect,
    KeepDeadLetter,
    OpenWait,
    SetTimer,
    StartAttempt,
    StopAttempt,
)
from tenuto.model.inputs import EventMatched, TimerDue, TimerKey
from tenuto.model.log import LogRow, to_row
from tenuto.model.policy import NEAR
from tenuto.model.status import Status
from tenuto.store.protocol import (
    DeadLetterRow,
    Delivery,
    InstanceUpdate,
    InstanceWrite,
    NewInstance,
    Ownership,
    Snapshot,
    TimerRow,
    WaitKey,
    WaitRow,
)

SNAPSHOT_EVERY = 100
"""A tail longer than this, and than the snapshot itself, is folded into a new snapshot."""

_encode = msgspec.json.Encoder().encode


class Draft:
    """What a turn will write for one instance, and what follows once it is durable."""

    __slots__ = (
        "answers",
        "before",
        "bytes",
        "closed",
        "create",
        "dead_letters",
        "deliveries",
        "follow_ups",
        "held",
        "instance_id",
        "mail_taken",
        "opened",
        "requests",
        "rows",
        "snapshot",
        "state",
        "timers",
    )

    def __init__(self, instance_id: str, held: Held) -> None:
        self.instance_id = instance_id
        self.held = held
        self.before: InstanceState = held.state
        self.state: InstanceState = held.state
        self.requests: list[Request] = []
        self.answers: list[tuple[Request, Decision]] = []
        self.rows: list[LogRow] = []
        self.bytes = 0
        self.follow_ups: list[Effect] = []
        self.timers: dict[TimerKey, TimerRow | None] = {}
        self.opened: dict[WaitKey, WaitRow] = {}
        self.closed: set[WaitKey] = set()
        self.deliveries: list[Delivery] = []
        self.mail_taken: list[str] = []
        self.dead_letters: list[DeadLetterRow] = []
        self.create: NewInstance | None = None
        self.snapshot: Snapshot | None = None

    def take(self, request: Request, decision: Decision) -> None:
        """Add a decision; its entries follow those of the decisions before it."""
        self.requests.append(request)
        self.answers.append((request, decision))
        seq = self.state.version
        for entry in decision.entries:
            seq += 1
            row = to_row(seq, entry)
            self.rows.append(row)
            self.bytes += 100 + len(row.payload or b"")
        self.state = decision.state
        for effect in decision.effects:
            self._effect(effect)
        if request.mail_id is not None:
            self.mail_taken.append(request.mail_id)
        if decision.rejection is not None:
            self._rejected(request)
        if request.start is not None and decision.rejection is None:
            self.create = self._new_instance(request)

    def write(self) -> InstanceWrite | None:
        """The write, or None when nothing changes."""
        state, held = self.state, self.held
        ownership = Ownership.KEEP
        if state.needs_owner != held.is_owned:
            ownership = Ownership.TAKE if state.needs_owner else Ownership.RELEASE
        is_touched = bool(
            self.rows
            or self.timers
            or self.mail_taken
            or self.dead_letters
            or self.deliveries
            or ownership is not Ownership.KEEP
        )
        if not is_touched and held.is_projected:
            return None
        self.snapshot = self._new_snapshot(ownership)
        return InstanceWrite(
            instance_id=self.instance_id,
            version=self.before.version,
            rows=tuple(self.rows),
            create=self.create,
            update=self._update(),
            snapshot=self.snapshot,
            timers_set=tuple(row for row in self.timers.values() if row is not None),
            timers_cleared=tuple(key for key, row in self.timers.items() if row is None),
            waits_opened=tuple(self.opened.values()),
            waits_closed=tuple(self.closed),
            deliveries=tuple(self.deliveries),
            mail_taken=tuple(self.mail_taken),
            dead_letters=tuple(self.dead_letters),
            ownership=ownership,
        )

    def committed(self) -> None:
        """The write is durable: the held instance advances."""
        held = self.held
        if self.rows:
            held.is_projected = self._is_update_due()
        else:
            held.is_projected = True
        held.state = self.state
        held.is_owned = self.state.needs_owner
        if self.snapshot is None:
            held.tail_entries += len(self.rows)
            held.tail_bytes += self.bytes
        else:
            held.tail_entries = held.tail_bytes = 0
            held.snapshot_bytes = len(self.snapshot.state)

    def _effect(self, effect: Effect) -> None:
        match effect:
            case StartAttempt() | StopAttempt():
                self.follow_ups.append(effect)
            case SetTimer():
                self._set_timer(effect)
            case ClearTimer():
                if effect.due - effect.set_at <= NEAR:
                    self.follow_ups.append(effect)
                else:
                    self.timers[effect.key] = None
            case OpenWait():
                self._open_wait(effect)
            case CloseWait():
                self._close_wait(effect)
            case KeepDeadLetter():
                self._dead_letter(effect)
            case _:
                assert_never(effect)

    def _set_timer(self, effect: SetTimer) -> None:
        if effect.due - effect.set_at > NEAR:
            self.timers[effect.key] = TimerRow(
                instance_id=self.instance_id, key=effect.key, due=effect.due
            )
        self.follow_ups.append(effect)

    def _open_wait(self, effect: OpenWait) -> None:
        key = WaitKey(self.instance_id, effect.node, effect.iteration)
        self.opened[key] = WaitRow(
            instance_id=self.instance_id,
            node=effect.node,
            iteration=effect.iteration,
            attempt=effect.attempt,
            pattern=effect.pattern,
            is_wildcard="*" in effect.pattern,
            condition=effect.condition,
            captures=_encode(effect.captures),
            term_paths=effect.term_paths,
            term_values=effect.term_values,
            since=effect.since,
            opened_at=self.state.updated_at,
            correlation_id=effect.correlation_id,
            tenant=self.held.tenant,
        )
        self.follow_ups.append(effect)

    def _close_wait(self, effect: CloseWait) -> None:
        key = WaitKey(self.instance_id, effect.node, effect.iteration)
        if self.opened.pop(key, None) is None:
            self.closed.add(key)
        if effect.event_id is not None:
            self.deliveries.append(Delivery(effect.event_id, *key, outcome="resumed"))

    def _dead_letter(self, effect: KeepDeadLetter) -> None:
        seq = self.state.version
        self.dead_letters.append(
            DeadLetterRow(
                id=f"{self.instance_id}:{effect.node}:{effect.iteration}:{effect.attempt}:"
                f"{effect.kind}:{seq}",
                instance_id=self.instance_id,
                kind=effect.kind,
                node=effect.node,
                iteration=effect.iteration,
                attempt=effect.attempt,
                task_id=effect.task_id,
                input=_encode(effect.input),
                error=_encode(effect.error) if effect.error else None,
                output=_encode(effect.output),
                at=self.state.updated_at,
                tenant=self.held.tenant,
            )
        )

    def _rejected(self, request: Request) -> None:
        match request.input:
            case EventMatched() as report:
                key = WaitKey(self.instance_id, report.node, report.iteration)
                self.deliveries.append(Delivery(report.event.id, *key, outcome="discarded"))
            case TimerDue() as report if report.key not in self.state.timers:
                # A row that outlived its timer would come due again for ever.
                self.timers.setdefault(report.key, None)
            case _:
                pass

    def _new_instance(self, request: Request) -> NewInstance:
        assert request.start is not None
        state = self.state
        return NewInstance(
            definition_id=state.definition_id,
            definition_version=state.definition_version,
            status=state.status,
            correlation_id=state.correlation_id,
            priority=state.priority,
            deadline=state.deadline,
            created_at=state.created_at,
            started_at=state.started_at,
            current_steps=tuple(current_steps(state)),
            tenant=request.start.tenant,
            key=request.start.key,
            content_hash=request.start.content_hash,
        )

    def _is_update_due(self) -> bool:
        """Lists show a status as soon as it holds; where a running instance is, a little later."""
        if self.create is not None:
            return True
        return self.state.status is not self.before.status or not self.state.needs_owner

    def _update(self) -> InstanceUpdate | None:
        state = self.state
        if self.rows and not self._is_update_due():
            return None
        if self.create is not None and not state.status.is_final:
            return None
        completed = state.status is Status.COMPLETED
        return InstanceUpdate(
            status=state.status,
            updated_at=state.updated_at,
            started_at=state.started_at,
            completed_at=state.completed_at,
            current_steps=() if state.status.is_final else tuple(current_steps(state)),
            output=_encode(output_of(self.held.plan, state)) if completed else None,
            last_error=_encode(state.last_error) if state.last_error else None,
            cancellation=_encode(state.cancellation) if state.cancellation else None,
        )

    def _new_snapshot(self, ownership: Ownership) -> Snapshot | None:
        held = self.held
        entries = held.tail_entries + len(self.rows)
        if entries < SNAPSHOT_EVERY or not self.rows:
            return None
        if (
            held.tail_bytes + self.bytes < held.snapshot_bytes
            and ownership is not Ownership.RELEASE
        ):
            return None
        return Snapshot(version=self.state.version, state=encode_snapshot(self.state))
