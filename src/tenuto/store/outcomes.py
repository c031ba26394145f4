"""What becomes of a write and of an event, by what a database has of them already."""

from __future__ import annotations

from tenuto.store.protocol import EventResult, InstanceWrite, Outcome, WriteResult

WON = WriteResult(Outcome.WON)
LOST = WriteResult(Outcome.LOST)

Outcomes = dict[str, WriteResult]
UsedKeys = dict[tuple[str, str], tuple[str, bytes]]
"""(tenant, key) → the instance that has it, and the hash of what its start asked for."""


def key_taken(write: InstanceWrite, used: UsedKeys) -> WriteResult | None:
    """The answer to a start whose key is in use; None where it is free, or none was asked for."""
    if write.create is None or write.create.key is None:
        return None
    instance_id, content_hash = used.get((write.create.tenant, write.create.key), (None, b""))
    if instance_id is None:
        return None
    is_same = content_hash == write.create.content_hash
    return WriteResult(Outcome.DUPLICATE if is_same else Outcome.KEY_CONFLICT, instance_id)


def known_event(
    *, is_same: bool, is_own: bool, is_matched: bool, resumed: int, number: int
) -> EventResult:
    """The answer to an event whose id is there; `is_own` if this very turn has stored it."""
    if not is_same:
        return EventResult("conflict")
    if is_own and not is_matched:
        return EventResult("stored", number=number)
    return EventResult("duplicate", resumed, is_matched, number)
