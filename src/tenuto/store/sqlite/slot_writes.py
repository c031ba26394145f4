"""What a turn does to slots: takes, gives back, asks, and whether a pass has to follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tenuto.store.parts.slot_rows import (
    MOST_EXAMINED,
    KnownRoom,
    count_rows,
    slot_columns,
    tenant_of,
    wanted_counts,
)
from tenuto.store.parts.turns import InstanceWrite, Turn
from tenuto.store.sqlite.session import Session, as_json

_LEAST_EXAMINED = 20
"""So many waiting rows a pass looks at that is made with a turn, beyond what that gives back."""

_names = msgspec.json.Decoder(list[str]).decode


def has_room(session: Session, turn: Turn) -> bool:
    """Whether the slots that a turn takes fit under every limit, and no row waits for one."""
    wanted = wanted_counts(slot for write in turn.writes for slot in write.slots_taken)
    if not wanted:
        return True
    room = turn.slots
    if room is None or session.rows("slots_mark")[0][0] != room.changes:
        return False
    return not room.lacks(wanted, _counts_of(session, wanted)) or (
        _take_back_freed(session) and not room.lacks(wanted, _counts_of(session, wanted))
    )


def _counts_of(session: Session, keys: Iterable[str]) -> dict[str, tuple[int, int]]:
    found = session.rows("counts_of", (as_json(list(keys)),))
    return {key: (taken, is_waited_for) for key, taken, is_waited_for in found}


def _take_back_freed(session: Session) -> bool:
    """Count slots no longer that were given back, unless rows wait for one: that is for a pass.

    So are rows of no slots: they say where a pass has to look again.
    """
    freed = [row for row in session.rows("freed_slots", {"limit": MOST_EXAMINED}) if row[2]]
    amounts = Counter[str]()
    for _, keys, amount in freed:
        amounts.update(dict.fromkeys(_names(keys), amount))
    counts = _counts_of(session, amounts)
    if not freed or any(is_waited_for for _, is_waited_for in counts.values()):
        return False
    session.insert("add_counts", [(*row, -amount) for *row, amount in count_rows(amounts)])
    session.run("drop_counts", (as_json(list(amounts)),))
    session.run("forget_freed", (as_json([number for number, *_ in freed]),))
    return True


def put_slots(session: Session, won: Sequence[InstanceWrite], room: KnownRoom | None) -> None:
    """Take slots, give some back and ask for others, of writes that went through."""
    taken = [slot for write in won for slot in write.slots_taken]
    if taken:
        session.insert("ask_for_slots", [slot_columns(slot, is_taken=True) for slot in taken])
        session.insert("add_counts", count_rows(wanted_counts(taken)))
    asked = [slot for write in won for slot in write.slots_asked]
    given_back = [key for write in won for key in write.slots_released]
    given_back += [slot.slot_key for slot in asked]
    if given_back:
        session.run("release_slots", (as_json(given_back),))
    session.insert("ask_for_slots", [slot_columns(slot) for slot in asked])
    parked_on = {slot.blocked_on for slot in asked} - {""}
    if parked_on:
        _park(session, parked_on, room)


def _park(session: Session, keys: set[str], room: KnownRoom | None) -> None:
    """Rows are parked on limits: those that are full stay so, at others the next pass looks."""
    known: Mapping[str, int] = {}
    [(_, is_due)] = session.rows("pass_is_due")
    if room is not None and not is_due and session.rows("slots_mark")[0][0] == room.changes:
        known = room.parked_on
    counts = _counts_of(session, keys)
    full = {key for key in keys & known.keys() if counts.get(key, (0, 0))[0] >= known[key]}
    new = sorted(key for key in full if not counts.get(key, (0, 0))[1])
    session.insert("wait_for_limits", [(tenant_of(key), key) for key in new])
    if keys - full:
        session.rows("free_again", {"keys": as_json(sorted(keys - full))})


def pass_due(session: Session, won: Sequence[InstanceWrite]) -> int | None:
    """How many rows a pass for these writes looks at; 0: it has nothing to do; None: not now.

    Slots that are given back while no row waits are counted together, some time later.
    """
    asked = sum(len(write.slots_asked) for write in won)
    released = sum(len(write.slots_released) for write in won)
    if not (asked or released):
        return None
    [(is_waited_for, is_due)] = session.rows("pass_is_due")
    if not is_waited_for:
        return 0 if asked and not is_due else None
    return _LEAST_EXAMINED + released if is_due else 0
