"""Instances that a lane holds in memory, in their newest committed state."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from tenuto.core import InstanceState, Plan
from tenuto.core.searchable import FoundBy
from tenuto.model.test_run import inbox_of

Place: TypeAlias = tuple[str, str, int]
"""Node, iteration, attempt."""

RESTING_KEPT = 1_024
"""The most instances without work here that stay in memory, most recently used."""


class Held:
    """One instance; advances only with an acknowledged commit."""

    __slots__ = (
        "found_by",
        "is_fresh",
        "is_owned",
        "is_projected",
        "is_sealed",
        "jobs",
        "owner_elsewhere",
        "performed",
        "plan",
        "shown_in",
        "snapshot_bytes",
        "state",
        "tail_bytes",
        "tail_entries",
        "tenant",
        "was_left_clean",
    )

    def __init__(self, state: InstanceState, plan: Plan, tenant: str) -> None:
        self.state = state
        self.plan = plan
        self.tenant = tenant
        self.is_owned = False
        """Whether this process owns it."""
        self.owner_elsewhere: str | None = None
        """The other process that does."""
        self.was_left_clean = False
        """Of one that was taken over: whether its former owner stopped in good order."""
        self.jobs: dict[Place, int] = {}
        """Offered attempts, each with the token of its lease."""
        self.is_fresh = False
        """Whether it was just read: its effects may not be under way yet."""
        self.performed: InstanceState | None = None
        """Of one that was read again: the state whose effects this process has performed."""
        self.is_sealed = plan.encrypts
        """Whether its values are stored encrypted: by its definition, or as those of its parent."""
        self.is_projected = True
        """Whether the instance's row shows its newest open steps."""
        self.found_by: FoundBy | None = None
        """Its search terms; None: this process has not written it."""
        self.shown_in = 0
        """The stretch of time in which its row was last updated, or made."""
        self.tail_entries = 0
        self.tail_bytes = 0
        self.snapshot_bytes = 0

    @property
    def inbox(self) -> str:
        """The inbox of its events: its tenant's, or its own in a test run."""
        return self.tenant if self.plan.rehearsal is None else inbox_of(self.state.id)

    def has_jobs(self, places: Iterable[Place]) -> bool:
        """Whether all of these attempts are offered, as far as this process knows."""
        return all(place in self.jobs for place in places)


class Cache:
    """Instances in memory: owned ones always, others as long as there is room."""

    def __init__(self, resting_kept: int = RESTING_KEPT) -> None:
        self._owned: dict[str, Held] = {}
        self._performed: dict[str, InstanceState] = {}
        """Of owned ones that must be read again: the state whose effects are performed."""
        self._resting: OrderedDict[str, Held] = OrderedDict()
        self._known: OrderedDict[str, InstanceState] = OrderedDict()
        """Of instances that others advance too: the state that this process has read."""
        self._room = resting_kept

    def get(self, instance_id: str) -> Held | None:
        found = self._owned.get(instance_id)
        if found is None:
            found = self._resting.get(instance_id)
            if found is not None:
                self._resting.move_to_end(instance_id)
        return found

    def tenant_of(self, instance_id: str) -> str:
        """The tenant of an instance in memory; empty for any other."""
        found = self._owned.get(instance_id) or self._resting.get(instance_id)
        return "" if found is None else found.tenant

    def put(self, instance_id: str, held: Held) -> None:
        if self._performed:
            self._performed.pop(instance_id, None)
        if self._known:
            self._known.pop(instance_id, None)
        if held.is_owned:
            if instance_id not in self._owned:
                self._resting.pop(instance_id, None)
            self._owned[instance_id] = held
            return
        self._owned.pop(instance_id, None)
        if held.state.has_ended:
            self._resting.pop(instance_id, None)
            return
        self._resting[instance_id] = held
        if len(self._resting) > self._room:
            self._resting.popitem(last=False)

    def drop(self, instance_id: str) -> None:
        """Have it read again; its work here continues."""
        held = self._owned.pop(instance_id, None)
        if held is not None:
            self._performed[instance_id] = held.state
        self._resting.pop(instance_id, None)

    def read(self, instance_id: str, state: InstanceState) -> None:
        """Keep the durable state of an instance that others advance, to continue from there."""
        self._known[instance_id] = state
        self._known.move_to_end(instance_id)
        if len(self._known) > self._room:
            self._known.popitem(last=False)

    def known(self, instance_ids: Iterable[str]) -> dict[str, InstanceState]:
        """States of instances that must be read again, from which their logs continue."""
        known: dict[str, InstanceState] = {}
        for instance_id in instance_ids:
            performed, read = self._performed.get(instance_id), self._known.get(instance_id)
            newest = read if performed is None else performed
            if read is not None and newest is not None and read.version > newest.version:
                newest = read
            if newest is not None:
                known[instance_id] = newest
        return known

    def reread(self, instance_id: str, held: Held) -> None:
        """Note on an instance that was read again which effects were performed here."""
        if held.owner_elsewhere is not None:
            # All of its work here is over.
            self._performed.pop(instance_id, None)
        held.performed = self._performed.get(instance_id)
        if held.performed is not None or held.owner_elsewhere is not None:
            self.read(instance_id, held.state)

    def is_at_work_for(self, instance_id: str) -> bool:
        """Whether this process works for an instance that must be read again."""
        return instance_id in self._performed

    def forget(self, instance_id: str) -> None:
        """Forget the work of this process for it."""
        self._owned.pop(instance_id, None)
        self._resting.pop(instance_id, None)
        self._performed.pop(instance_id, None)
        self._known.pop(instance_id, None)

    def items(self) -> Iterator[tuple[str, Held]]:
        yield from self._owned.items()
        yield from self._resting.items()

    def clear(self) -> None:
        self._owned.clear()
        self._resting.clear()
        self._performed.clear()
        self._known.clear()

    def __len__(self) -> int:
        return len(self._owned) + len(self._resting)
