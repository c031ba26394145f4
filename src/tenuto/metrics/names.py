"""Bounds the number of label values of metrics, so that series do not grow without limit."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")

MOST_NAMES = 200
"""The most workflows, and steps, of a tenant with a label of their own in a process; the rest are
`other`."""
MOST_TENANTS = 100
"""The most tenants with labels in a process."""
OTHER = "other"


class Named(Struct, frozen=True, gc=False):
    """A workflow of a tenant, or a step of one; without a tenant, all that count as `other`."""

    tenant: str
    workflow: str
    step: str = ""


_REST = Named("", OTHER, OTHER)


class Names(Generic[T]):
    """Counters by label; the first workflows and steps of each tenant have their own."""

    def __init__(self, make: type[T], most: int = MOST_NAMES) -> None:
        self._make = make
        self._most = most
        self._found: dict[Named, T] = {}
        self._counts: dict[str, int] = {}
        """How many labels each tenant has."""

    def __getitem__(self, name: Named) -> T:
        found = self._found.get(name)
        if found is None:
            if not self._has_room_for(name.tenant):
                return self._found.setdefault(_REST, self._make())
            self._counts[name.tenant] = self._counts.get(name.tenant, 0) + 1
            found = self._found[name] = self._make()
        return found

    def get(self, name: Named) -> T | None:
        """The counter of a label that has one of its own."""
        return self._found.get(name)

    def _has_room_for(self, tenant: str) -> bool:
        # The labels of one tenant do not reduce those of the others.
        count = self._counts.get(tenant)
        return len(self._counts) < MOST_TENANTS if count is None else count < self._most

    def seen_by(self, tenant: str) -> list[tuple[str, str, T]]:
        """Workflow, step and count; those of other tenants are `other`."""
        return [
            (name.workflow, name.step, each)
            if name.tenant == tenant
            else (OTHER, OTHER if name.step else "", each)
            for name, each in self._found.items()
        ]
