"""Outcomes of writes and events, derived from the rows that a database already has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tenuto.model.events import Event
from tenuto.store.parts.inbox import DeliveryOutcome
from tenuto.store.parts.turns import EventResult, InstanceWrite, Outcome, Turn, WriteResult

WON = WriteResult(Outcome.WON)
LOST = WriteResult(Outcome.LOST)
REMOVED = WriteResult(Outcome.REMOVED)
FULL = WriteResult(Outcome.FULL)

Outcomes = dict[str, WriteResult]
UsedKeys = dict[tuple[str, str], tuple[str, bytes]]
"""(tenant, key) → the instance that has it, and the hash of its start request."""


def key_taken(write: InstanceWrite, used: UsedKeys) -> WriteResult | None:
    """The outcome of a start whose key is in use; None if the key is free, or there is none."""
    if write.create is None or write.create.key is None:
        return None
    instance_id, content_hash = used.get((write.create.tenant, write.create.key), (None, b""))
    if instance_id is None:
        return None
    is_same = content_hash == write.create.content_hash
    return WriteResult(Outcome.DUPLICATE if is_same else Outcome.KEY_CONFLICT, instance_id)


def settled_loser(write: InstanceWrite, *, is_there: bool) -> WriteResult:
    """The outcome of a write that did not win in a turn which was committed before.

    A start whose instance does not exist did not lose to another: its definition was removed, or
    there was no slot for it.
    """
    new = write.create
    if new is not None and write.slots_taken and not is_there:
        return FULL
    return REMOVED if new is not None and new.needs_definition and not is_there else LOST


def needed_definitions(writes: Iterable[InstanceWrite]) -> list[tuple[str, str, int]]:
    """(tenant, id, version) of definitions that have to be there for these starts, in order."""
    return sorted(
        {
            (new.tenant, new.definition_id, new.definition_version)
            for write in writes
            if (new := write.create) is not None and new.needs_definition
        }
    )


def may_follow(before: DeliveryOutcome, outcome: DeliveryOutcome) -> bool:
    """Whether the outcome of a delivery may still change.

    A retry opens again what had missed an event.
    """
    return before == "matched" or (before == "discarded" and outcome in ("resumed", "cancelled"))


def events_of(turn: Turn, won: Iterable[InstanceWrite]) -> list[Event]:
    """The events to store: those from outside, and those that winners publish; each id once."""
    found = {event.id: event for write in won for event in write.events}
    found |= {event.id: event for event in turn.events}
    return list(found.values())


def known_event(
    *, is_same: bool, is_own: bool, is_matched: bool, number: int, counts: Sequence[int]
) -> EventResult:
    """The outcome of an event whose id exists; `is_own` if this very turn has stored it.

    `counts` is how many it resumed, cancelled and started.
    """
    if not is_same:
        return EventResult("conflict")
    if is_own and not is_matched:
        return EventResult("stored", number=number)
    resumed, cancelled, started = counts
    return EventResult("duplicate", resumed, is_matched, number, cancelled, started)
