"""Instances that a lane holds in memory, in their newest committed state."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from tenuto.core import InstanceState, Plan

RESTING_KEPT = 1_024
"""So many instances that nothing in this process works for stay in memory, the newest used."""


class Held:
    """One instance; advances only with an acknowledged commit."""

    __slots__ = (
        "is_owned",
        "is_projected",
        "plan",
        "snapshot_bytes",
        "state",
        "tail_bytes",
        "tail_entries",
        "tenant",
    )

    def __init__(self, state: InstanceState, plan: Plan, tenant: str) -> None:
        self.state = state
        self.plan = plan
        self.tenant = tenant
        self.is_owned = False
        self.is_projected = True
        """Whether the instance's row shows its newest open steps."""
        self.tail_entries = 0
        self.tail_bytes = 0
        self.snapshot_bytes = 0


class Cache:
    """Held instances: owned ones as long as they are, others as long as there is room."""

    def __init__(self, resting_kept: int = RESTING_KEPT) -> None:
        self._owned: dict[str, Held] = {}
        self._resting: OrderedDict[str, Held] = OrderedDict()
        self._room = resting_kept

    def get(self, instance_id: str) -> Held | None:
        found = self._owned.get(instance_id)
        if found is None:
            found = self._resting.get(instance_id)
            if found is not None:
                self._resting.move_to_end(instance_id)
        return found

    def put(self, instance_id: str, held: Held) -> None:
        if held.is_owned:
            if instance_id not in self._owned:
                self._resting.pop(instance_id, None)
            self._owned[instance_id] = held
            return
        self._owned.pop(instance_id, None)
        if held.state.status.is_final:
            self._resting.pop(instance_id, None)
            return
        self._resting[instance_id] = held
        if len(self._resting) > self._room:
            self._resting.popitem(last=False)

    def drop(self, instance_id: str) -> None:
        self._owned.pop(instance_id, None)
        self._resting.pop(instance_id, None)

    def owned(self) -> Iterator[tuple[str, Held]]:
        return iter(self._owned.items())

    def __len__(self) -> int:
        return len(self._owned) + len(self._resting)
