"""Bounds how many names metrics have: whoever watches must not be drowned by what runs."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")

MOST_NAMES = 200
"""So many workflows, and steps, of a tenant have a name of their own in a process; the rest are
`other`."""
MOST_TENANTS = 100
"""So many tenants have names in a process."""
OTHER = "other"


class Named(Struct, frozen=True, gc=False):
    """A workflow of a tenant, or a step of one; without a tenant, all that have no name here."""

    tenant: str
    workflow: str
    step: str = ""


_REST = Named("", OTHER, OTHER)


class Names(Generic[T]):
    """What is counted under each name; the first come of each tenant have one of their own."""

    def __init__(self, make: type[T], most: int = MOST_NAMES) -> None:
        self._make = make
        self._most = most
        self._found: dict[Named, T] = {}
        self._counts: dict[str, int] = {}
        """How many names each tenant has."""

    def __getitem__(self, name: Named) -> T:
        found = self._found.get(name)
        if found is None:
            if not self._has_room_for(name.tenant):
                return self._found.setdefault(_REST, self._make())
            self._counts[name.tenant] = self._counts.get(name.tenant, 0) + 1
            found = self._found[name] = self._make()
        return found

    def _has_room_for(self, tenant: str) -> bool:
        # What one tenant has takes nothing from the others.
        count = self._counts.get(tenant)
        return len(self._counts) < MOST_TENANTS if count is None else count < self._most

    def seen_by(self, tenant: str) -> list[tuple[str, str, T]]:
        """Workflow, step and what was counted; what is not the tenant's own is `other`."""
        return [
            (name.workflow, name.step, each)
            if name.tenant == tenant
            else (OTHER, OTHER if name.step else "", each)
            for name, each in self._found.items()
        ]
