"""Rows that an instance's share of a turn sets and clears beside its log."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenuto.engine.turns.held import Place
from tenuto.engine.turns.requests import OfferJob
from tenuto.model.effects import (
    CloseWait,
    DropDeadLetters,
    KeepDeadLetter,
    OpenWait,
    ReleaseSlot,
    SendMail,
    SetTimer,
    StartAttempt,
    StopAttempt,
    TakeEvent,
)
from tenuto.model.events import Event
from tenuto.model.inputs import Started, TimerKey
from tenuto.store.parts.dead_letters import DeadLetterRow
from tenuto.store.parts.inbox import Delivery, DeliveryOutcome
from tenuto.store.parts.jobs import JobKey, JobRow, Lease
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.slot_rows import SlotKey, SlotRow
from tenuto.store.parts.timers import TimerRow
from tenuto.store.parts.waits import WaitKey, WaitRow

_encode = msgspec.json.Encoder().encode


class Obligations(Struct, kw_only=True):
    """Timers, waits, deliveries, mail and dead letters; what a turn sets and clears cancels out.

    A struct, whose empty collections cost next to nothing: most of them stay empty.
    """

    instance_id: str
    tenant: str
    inbox: str
    """The inbox of its events."""
    is_sealed: bool = False
    """Whether its values are encrypted."""
    timers: dict[TimerKey, TimerRow | None] = {}
    """None: the timer's row, if there is one, is deleted."""
    opened: dict[tuple[str, str], dict[str, WaitRow]] = {}
    """By node and iteration, and then by arm."""
    closed: set[WaitKey] = set()
    deliveries: list[Delivery] = []
    mail_taken: list[str] = []
    mail_sent: list[Mail] = []
    dead_letters: list[DeadLetterRow] = []
    dead_letters_dropped: list[tuple[str, str]] = []
    jobs: list[JobRow] = []
    jobs_withdrawn: list[JobKey] = []
    jobs_cancelled: list[JobKey] = []
    leases: list[Lease] = []
    events: list[Event] = []
    slots: dict[SlotKey, SlotRow | None] = {}
    """None: it is given back."""
    slots_taken: dict[SlotKey, SlotRow] = {}

    def set_timer(self, timer: SetTimer) -> None:
        self.timers[timer.key] = TimerRow(
            instance_id=self.instance_id, key=timer.key, due=timer.due
        )

    def ask_slot(self, slot: SlotRow) -> None:
        self.slots[slot.slot_key] = slot

    def may_take(self, slot: SlotRow) -> bool:
        """Whether this turn has not touched the slot yet."""
        return slot.slot_key not in self.slots and slot.slot_key not in self.slots_taken

    def ask_instead(self, slot: SlotRow) -> None:
        """Ask for a slot that was to be taken."""
        del self.slots_taken[slot.slot_key]
        self.ask_slot(slot)

    def release_slot(self, order: ReleaseSlot) -> None:
        self.slots[SlotKey(self.instance_id, order.node, order.iteration)] = None

    def clear_timer(self, key: TimerKey) -> None:
        self.timers[key] = None

    def forget_timer(self, key: TimerKey) -> None:
        """A row that outlived its timer would come due again for ever."""
        self.timers.setdefault(key, None)

    def open_wait(self, wait: OpenWait, at: datetime) -> None:
        self.opened.setdefault((wait.node, wait.iteration), {})[wait.arm] = WaitRow(
            instance_id=self.instance_id,
            node=wait.node,
            iteration=wait.iteration,
            attempt=wait.attempt,
            pattern=wait.pattern,
            is_wildcard="*" in wait.pattern,
            condition=wait.condition,
            captures=b"" if wait.captures is None else _encode(wait.captures),
            term_paths=wait.term_paths,
            term_values=wait.term_values,
            since=wait.since,
            opened_at=at,
            correlation_id=wait.correlation_id,
            tenant=self.inbox,
            looked_back=not wait.looks_back,
            arm=wait.arm,
            position=wait.position,
        )

    def close_wait(self, wait: CloseWait) -> None:
        if self.opened.pop((wait.node, wait.iteration), None) is None:
            self.closed.add(WaitKey(self.instance_id, wait.node, wait.iteration))
        if wait.event_id is not None:
            outcome: DeliveryOutcome = "resumed" if wait.node else "cancelled"
            self._deliver(wait.event_id, (wait.node, wait.iteration, wait.arm), outcome)

    def take_event(self, taken: TakeEvent) -> None:
        self._deliver(taken.event_id, (taken.node, taken.iteration, ""), "resumed")

    def arms_opened(self, node: str, iteration: str) -> list[WaitRow]:
        """The rows of a wait that this turn opens and does not close again, as they are listed."""
        return list(self.opened.get((node, iteration), {}).values())

    def discard_event(self, place: tuple[str, str, str], event: Event) -> None:
        """An event came for a wait that had ended otherwise."""
        self._deliver(event.id, place, "discarded")

    def start_by_event(self, started: Started, refusal: str | None) -> None:
        """An event has started the instance, or was to start it."""
        if started.cause is not None:
            place = (started.definition_id, "", str(started.cause.trigger))
            outcome: DeliveryOutcome = "started" if refusal is None else "refused"
            cause = started.cause
            self._deliver(cause.event_id, place, outcome, refusal, tenant=cause.tenant)

    def _deliver(
        self,
        event_id: str,
        place: tuple[str, str, str],
        outcome: DeliveryOutcome,
        reason: str | None = None,
        tenant: str | None = None,
    ) -> None:
        node, iteration, arm = place
        to = (self.instance_id, node, iteration)
        self.deliveries.append(
            Delivery(event_id, *to, outcome, arm=arm, reason=reason, tenant=tenant or self.inbox)
        )

    def send(self, message: SendMail) -> None:
        self.mail_sent.append(
            Mail(
                id=message.id,
                instance_id=message.to,
                input=_encode(message.input),
                created_at=message.at,
                is_sealed=self.is_sealed,
            )
        )

    def offer(
        self, order: StartAttempt | OfferJob, at: datetime, *, is_limited: bool = False
    ) -> None:
        self.jobs.append(
            JobRow(
                key=JobKey(self.instance_id, order.node, order.iteration, order.attempt),
                task_id=order.task_id,
                offered_at=at,
                tenant=self.tenant,
                timeout=order.timeout,
                heartbeat_timeout=order.heartbeat_timeout,
                is_limited=is_limited,
            )
        )

    def cancel_attempt(self, order: StopAttempt) -> None:
        """Cancel an attempt that other processes have, or were to be offered."""
        key = JobKey(self.instance_id, order.node, order.iteration, order.attempt)
        self.jobs_cancelled.append(key)
        self.jobs = [
            replace(job, is_cancelled=True) if job.key == key else job for job in self.jobs
        ]

    def withdraw(self, places: Iterable[Place]) -> None:
        self.jobs_withdrawn += [JobKey(self.instance_id, *place) for place in places]

    def under(self, place: Place, token: int) -> None:
        """Make the write conditional on the lease."""
        self.leases.append(Lease(JobKey(self.instance_id, *place), token))

    def drop_dead_letters(self, order: DropDeadLetters) -> None:
        """Also those of this turn: the store takes away only what it had before."""
        key = (order.node, order.iteration)
        self.dead_letters_dropped.append(key)
        self.dead_letters = [
            each
            for each in self.dead_letters
            if each.kind == "late-result" or (each.node, each.iteration) != key
        ]

    def keep_dead_letter(self, dead: KeepDeadLetter, seq: int, at: datetime) -> None:
        place = f"{self.instance_id}:{dead.node}:{dead.iteration}:{dead.attempt}"
        self.dead_letters.append(
            DeadLetterRow(
                id=f"{place}:{dead.kind}:{seq}",
                instance_id=self.instance_id,
                kind=dead.kind,
                node=dead.node,
                iteration=dead.iteration,
                attempt=dead.attempt,
                task_id=dead.task_id,
                input=_encode(dead.input),
                error=_encode(dead.error) if dead.error else None,
                output=_encode(dead.output),
                at=at,
                tenant=self.tenant,
            )
        )
