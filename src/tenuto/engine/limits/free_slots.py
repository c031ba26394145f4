"""Which limits have room, as this process knows: where a turn takes a slot instead of asking.

An estimate, which the store checks with the turn: too high and a start waits for a pass, too low
and the turn is decided again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tenuto.engine.limits.known_limits import KnownLimits
from tenuto.engine.turns.slot_rows import Counted
from tenuto.model.slots import GLOBAL, kept_of
from tenuto.store.parts.slot_rows import NO_LIMIT, WOKEN, KnownRoom, SlotKey, SlotRow

MOST_KNOWN = 100_000
"""The most limits, and the most slots, that are remembered."""


class FreeSlots:
    """How many slots of limits are taken, about."""

    def __init__(self, limits: KnownLimits) -> None:
        self._limits = limits
        self._taken: dict[str, int] = {}
        self._closed: set[str] = set()
        """Limits that had no room, or that rows wait for, until a pass finds otherwise."""
        self._waited_for: set[str] = set()
        """Limits that rows waited for in the newest pass of this process that counted them."""
        self._held: dict[SlotKey, tuple[str, ...]] = {}
        """Slots that were taken by turns of this process: the limits that they count for."""
        self._kept = 0
        """How many slots of the service are kept for tenants with no rows that wait for it."""
        self._behind: set[str] = set()
        """The limits of the others, and of those that have taken one since."""
        self.taken = 0
        """How many slots instances have taken with turns of this process."""

    @property
    def is_service_full(self) -> bool:
        """Whether the limit of the service has no room and keeps none, as far as is known."""
        limit = self._limits.limits.of(GLOBAL)
        if limit is None or kept_of(limit):
            return False
        is_reached = self._taken.get(GLOBAL, 0) >= limit
        # What is in force of an adaptive limit, a pass alone knows.
        return GLOBAL in self._waited_for or (is_reached and not self._limits.limits.is_adaptive)

    def take(self, slot: Counted | SlotRow) -> bool:
        """Whether there is room, as far as is known; then it counts as taken."""
        taken = self._taken
        is_kept = False
        for key in slot.keys:
            if key in self._closed or taken.get(key, 0) >= self._limit(key, slot):
                if key != GLOBAL or not self._is_kept_for(slot):
                    return False
                is_kept = True
        if is_kept:
            self._kept -= 1
            self._behind.update(key for key in slot.keys if key != GLOBAL)
        for key in slot.keys:
            taken[key] = taken.get(key, 0) + 1
        return True

    def has_room(self, slot: Counted, *, beside: Mapping[str, int]) -> bool:
        """Whether there is room, as far as is known, beside so many that are about to take some."""
        return all(
            key not in self._closed
            and self._taken.get(key, 0) + beside.get(key, 0) < self._limit(key, slot)
            for key in slot.keys
        )

    def _is_kept_for(self, slot: Counted | SlotRow) -> bool:
        return self._kept > 0 and self._behind.isdisjoint(slot.keys)

    def keep(self, kept: int, behind: Iterable[str]) -> None:
        """A pass has kept so many slots of the service for tenants whose limits are not `behind`.

        Each takes one at most, until the next pass.
        """
        self._kept = kept
        self._behind = set(behind)

    def full_for(self, slot: SlotRow) -> str:
        """The limit that a request is parked on; empty: a pass has to look at it.

        A pass ends some starts that find their own limit full, and children that would wait for
        ever.
        """
        if slot.is_held_up or slot.above:
            return ""
        for key in slot.keys:
            limit = self._limit(key, slot)
            if limit < NO_LIMIT and (key in self._closed or self._taken.get(key, 0) >= limit):
                is_ended = key == slot.own_key and slot.on_full != "queue"
                return "" if is_ended and slot.rank_class != WOKEN else key
        return ""

    def room(self, slots: Iterable[SlotRow], parked: Iterable[SlotRow] = ()) -> KnownRoom:
        """The limits of slots that a turn takes, and of those that requests are parked on."""
        limits: dict[str, int] = {}
        for slot in slots:
            for key in slot.keys:
                if key not in limits:
                    limits[key] = self._limit(key, slot)
                elif key == slot.own_key:
                    # The limit of a key may differ between two versions of a definition.
                    limits[key] = min(slot.own_limit, limits[key])
        parked_on: dict[str, int] = {}
        for slot in parked:
            key = slot.blocked_on
            if key != GLOBAL or not self._limits.limits.is_adaptive:
                # The limit of a key may differ between two versions of a definition.
                parked_on[key] = max(self._limit(key, slot), parked_on.get(key, 0))
        is_kept = GLOBAL in limits and GLOBAL in self._closed
        return KnownRoom(self._limits.changes, limits, parked_on, is_kept=is_kept)

    def won(self, slots: Iterable[SlotRow], given_back: Iterable[SlotKey]) -> None:
        """A turn has taken these slots, and given back those."""
        for slot in slots:
            self._held[slot.slot_key] = slot.keys
            self.taken += not slot.node
        for slot_key in given_back:
            self._count_less(self._held.pop(slot_key, ()))

    def not_won(self, slots: Iterable[Counted | SlotRow]) -> None:
        """A turn did not take these slots."""
        for slot in slots:
            self._count_less(slot.keys)

    def refused(self, slots: Iterable[SlotRow]) -> None:
        """There was no room: ask for these, and let a pass find out."""
        self._kept = 0
        for slot in slots:
            self._closed.update(slot.keys)

    def counted(self, counts: Mapping[str, int]) -> None:
        """A pass has counted limits."""
        if max(len(self._taken), len(self._held), len(self._closed)) > MOST_KNOWN:
            self._taken.clear()
            self._held.clear()
            self._closed.clear()
            self._waited_for.clear()
        for key, taken in counts.items():
            if taken == NO_LIMIT:
                self._closed.add(key)
                self._waited_for.add(key)
            else:
                self._closed.discard(key)
                self._waited_for.discard(key)
                self._taken[key] = taken

    def _limit(self, key: str, slot: Counted | SlotRow) -> int:
        if key == slot.own_key:
            return slot.own_limit
        limit = self._limits.limits.of(key)
        return NO_LIMIT if limit is None else limit

    def _count_less(self, keys: Iterable[str]) -> None:
        for key in keys:
            taken = self._taken.get(key, 0) - 1
            if taken > 0:
                self._taken[key] = taken
            else:
                self._taken.pop(key, None)
